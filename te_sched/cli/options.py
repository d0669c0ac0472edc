"""Options and arguments that several commands have. Must not know the commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import click

from te_sched import files
from te_sched.cli.problems import CommandError
from te_sched.codegen.target import Target
from te_sched.errors import BuildError

_Command = TypeVar("_Command", bound=Callable[..., Any])
_SCHEDULE = click.option(
    "--schedule",
    "-s",
    metavar="N|NAME",
    help="The schedule with this number or name: see te-sched schedules.",
)
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Suppress the output of the program.")


def _check_arguments(
    context: click.Context, _option: click.Parameter, arguments: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse a second program, unless it is an argument after --."""
    others = [word for word in arguments if word.endswith(".py")]
    if others and "--" not in (context.obj or ()):
        raise CommandError(
            f"{context.command_path} takes one program, and also got {others[0]}",
            "",
            "run it for each program, or pass arguments of the program after --",
        )
    return arguments


_OF_GRAPHS = (
    click.argument("program", metavar="PROGRAM.py", type=click.Path()),
    click.argument(
        "arguments",
        metavar="[-- ARGS...]",
        nargs=-1,
        type=click.UNPROCESSED,
        callback=_check_arguments,
    ),
    _QUIET,
)
_OF_SEVERAL = (
    click.argument("programs", metavar="PROGRAM.py...", nargs=-1, required=True, type=click.Path()),
    _SCHEDULE,
    _QUIET,
)


def of_graphs(command: _Command) -> _Command:
    """PROGRAM.py [ARGS...] and --quiet."""
    for parameter in reversed(_OF_GRAPHS):
        command = parameter(command)
    return command


def of_programs(command: _Command) -> _Command:
    """PROGRAM.py [ARGS...], --schedule and --quiet."""
    command = of_graphs(command)
    return _SCHEDULE(command)


def of_several_programs(command: _Command) -> _Command:
    """PROGRAM.py..., --schedule and --quiet, for a `SeveralPrograms`."""
    for parameter in reversed(_OF_SEVERAL):
        command = parameter(command)
    return command


class SeveralPrograms(click.Command):
    """A command whose words are programs up to --, and then the arguments of each of them, which it
    gets as `arguments`.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments of the programs out of the words."""
        end = args.index("--") if "--" in args else len(args)
        ctx.params["arguments"] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line."""
        return [*super().collect_usage_pieces(ctx), "[-- ARGS...]"]


def output_option(text: str, mark: str = "") -> Callable[[_Command], _Command]:
    """--output with a help text; the path is checked before the program runs."""
    return file_option("--output", "-o", text=text, mark=mark)


def file_option(*names: str, text: str, mark: str = "") -> Callable[[_Command], _Command]:
    """An option for a file to write, whose path is checked before the program runs; an existing one
    has the mark of such files.
    """
    path, check = click.Path(dir_okay=False), partial(_check_output, mark)
    return click.option(*names, metavar="FILE", type=path, callback=check, help=text)


def _check_output(
    mark: str, _context: Any, option: click.Parameter, path: str | None
) -> str | None:
    folder = os.path.dirname(os.path.abspath(path)) if path is not None else "."
    if not os.path.isdir(folder):
        raise CommandError(
            f"cannot write {path}: there is no folder {folder}",
            "",
            f"make it, or name another: {option.opts[-1]} FILE",
        )
    if path is not None:
        files.check_replaceable(path, "write", mark, error=CommandError)
    return path


def _read_target(_context: Any, _option: Any, spec: str | None) -> Target | None:
    try:
        return None if spec is None else Target(spec)
    except BuildError as error:
        raise CommandError(f"--target: {error.fault}", error.why, error.help) from None


def _read_sizes(_context: Any, _option: Any, entries: tuple[str, ...]) -> Mapping[str, int]:
    sizes = {}
    for text in entries:
        name, equals, number = text.partition("=")
        if not equals or not number.strip().isdecimal():
            raise CommandError(
                f"--size must be NAME=NUMBER, got {text}", "", "write for example --size n=1024"
            )
        sizes[name.strip()] = int(number)
    return sizes


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
target_option = click.option(
    "--target",
    "-t",
    metavar="TARGET",
    callback=_read_target,
    help='The target, such as "llvm -mcpu=znver4" or "cuda -arch=sm_90". By default that of the '
    "program, or cuda for a schedule with GPU threads, else llvm.",
)
sizes_option = click.option(
    "--size",
    "sizes",
    metavar="NAME=N",
    multiple=True,
    callback=_read_sizes,
    help="The value of a symbolic size; 100 by default.",
)
