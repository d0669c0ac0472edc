"""Options and arguments that several commands have. Must not know the commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from te_sched.cli.problems import CommandError
from te_sched.codegen.target import Target
from te_sched.errors import BuildError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def of_programs(command: _Command) -> _Command:
    """PROGRAM.py [ARGS...], --schedule and --quiet."""
    command = click.option(
        "--quiet", "-q", is_flag=True, help="Leave out what the program prints."
    )(command)
    command = click.option(
        "--schedule", "-s", metavar="N|NAME", help="One of its schedules; te-sched schedules lists."
    )(command)
    command = click.argument("arguments", metavar="[-- ARGS...]", nargs=-1, type=click.UNPROCESSED)(
        command
    )
    return click.argument("program", metavar="PROGRAM.py", type=click.Path())(command)


def target_option(command: _Command) -> _Command:
    """--target."""
    return click.option(
        "--target",
        "-t",
        metavar="TARGET",
        callback=lambda _context, _option, given: _read_target(given),
        help='Such as "llvm -mcpu=znver4" or "cuda -arch=sm_90"; by default what the program '
        "builds for, or what the schedule's threads need.",
    )(command)


def json_option(command: _Command) -> _Command:
    """--json."""
    return click.option("--json", "as_json", is_flag=True, help="For programs: JSON on stdout.")(
        command
    )


def sizes_option(command: _Command) -> _Command:
    """--size, for extents that are symbols."""
    return click.option(
        "--size",
        "sizes",
        metavar="NAME=N",
        multiple=True,
        callback=lambda _context, _option, given: _read_sizes(given),
        help="What a symbolic extent is; 100 by default.",
    )(command)


def _read_target(given: str | None) -> Target | None:
    try:
        return None if given is None else Target(given)
    except BuildError as error:
        raise CommandError(f"--target {given!r}", error.why, error.cure) from None


def _read_sizes(given: tuple[str, ...]) -> Mapping[str, int]:
    sizes = {}
    for text in given:
        name, equals, number = text.partition("=")
        if not equals or not number.strip().isdecimal():
            raise CommandError(
                f"--size {text}", "it is no name with a number", "write for example --size n=1024"
            )
        sizes[name.strip()] = int(number)
    return sizes
