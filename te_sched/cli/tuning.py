"""te-sched tune: the fastest schedule that a search finds, as Python. `searching` does it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from te_sched import config
from te_sched.cli.options import (
    file_option,
    json_option,
    of_programs,
    output_option,
    sizes_option,
    target_option,
)
from te_sched.codegen.target import Target
from te_sched.story.model import PAGE_MARK

DEFAULT = "default"
PROGRAM_MARK = "\napply_trace(sch)\nlibrary = te_sched.build("  # of the programs that it writes


@click.command("tune")
@of_programs
@click.option(
    "--name",
    metavar="F",
    help="Tune the object with this name in the program: a T.prim_func, or a Python function "
    "without arguments that returns tensors. By default the program of the schedule.",
)
@target_option
@sizes_option
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="The number of candidates to measure.",
)
@click.option("--seed", type=int, metavar="S", help="The seed of random decisions.")
@click.option(
    "--work-dir",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Keep the measurements there; the same command resumes the search.",
)
@click.option(
    "--space",
    metavar="default|F",
    default=DEFAULT,
    show_default=True,
    help="The search space: a function of the program that samples decisions of a schedule.",
)
@output_option("Write the schedule to this file instead of stdout.", PROGRAM_MARK)
@file_option(
    "--page",
    text="Write an HTML report of the search: times, failures, the best program.",
    mark=PAGE_MARK,
)
@json_option
def command(
    program: str,
    arguments: tuple[str, ...],
    schedule: str | None,
    quiet: bool,
    name: str | None,
    target: Target | None,
    sizes: Mapping[str, int],
    trials: int,
    seed: int | None,
    work_dir: str | None,
    space: str,
    output: str | None,
    page: str | None,
    as_json: bool,
) -> int:
    """Search for the fastest schedule of a program that PROGRAM.py declares, and print it as Python
    that makes it. Candidates are built and measured in other processes. What the program does to
    schedule it counts for nothing, only the declaration.
    """
    if config.current().progress:
        click.echo(
            f"te-sched: tuning {program}, {trials} trials; Ctrl-C ends the search early",
            err=True,
        )
    search = import_module("te_sched.cli.searching").search
    code: int = search(
        program,
        arguments,
        schedule,
        quiet,
        name,
        target,
        sizes,
        trials,
        seed,
        work_dir,
        space,
        output,
        page,
        as_json,
    )
    return code
