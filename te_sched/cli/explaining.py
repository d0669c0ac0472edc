"""te-sched explain: an explain report of a schedule as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import te_sched
from te_sched import config
from te_sched.cli.options import json_option, of_programs, output_option, target_option
from te_sched.cli.problems import CommandError
from te_sched.cli.programs import UserProgram, execute
from te_sched.cli.recording import Found
from te_sched.cli.showing import show_json
from te_sched.codegen.target import Target
from te_sched.errors import CallError
from te_sched.story.model import PAGE_MARK
from te_sched.story.timing import BUDGET


@click.command("explain")
@of_programs
@target_option
@output_option(
    "Write the page to this file. By default PROGRAM.html in the current folder.", PAGE_MARK
)
@click.option("--text", is_flag=True, help="Print the steps as text and write no page.")
@click.option("--measure/--no-measure", default=True, show_default=True, help="Time each step.")
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    default=BUDGET,
    show_default=True,
    metavar="SECONDS",
    help="The time for measuring all steps, the last first; those that take longer have no time.",
)
@click.option(
    "--max-steps",
    type=click.IntRange(2),
    metavar="N",
    help="The most steps; several primitives share one if there are more.",
)
@json_option
def command(
    program: str,
    arguments: tuple[str, ...],
    schedule: str | None,
    quiet: bool,
    target: Target | None,
    output: str | None,
    text: bool,
    measure: bool,
    budget: float,
    max_steps: int | None,
    as_json: bool,
) -> int:
    """Write a page that shows a schedule of PROGRAM.py step by step: its loops, the lowered
    program, the generated code, working sets and run times. If the program fails, the report ends
    with the error.
    """
    ran = execute(program, arguments, quiet)
    record = _choose(ran, schedule)
    story = _story(ran, record, target, measure, budget, max_steps)
    if as_json:
        show_json(story.to_json())
    elif text:
        click.echo(story.text())
    else:
        path = output or f"{Path(program).stem}.html"
        try:
            story.save(path)
        except CallError as error:
            raise CommandError(error.fault, error.why, f"{error.help}: -o FILE") from None
        click.echo(f"{record.title}: {path}")
    return ran.code


def _choose(ran: UserProgram, schedule: str | None) -> Found:
    """The requested schedule, or for a program that failed the one that it was working on."""
    if schedule is None and ran.error is not None and ran.found:
        return ran.found[-1]
    return ran.one(schedule, "explain")


def _story(
    ran: UserProgram,
    record: Found,
    target: Target | None,
    measure: bool,
    budget: float,
    max_steps: int | None,
) -> Any:
    with config.scoped(lowering=record.choices):
        return te_sched.explain(
            record.inputs,
            record.arguments,
            name=record.function,
            target=record.target_of(target),
            title=f"{Path(ran.path).name}: {record.name}",
            source=ran.path,
            measure=measure,
            budget=budget,
            max_steps=max_steps,
            error=ran.error if record is ran.found[-1] else None,
        )
