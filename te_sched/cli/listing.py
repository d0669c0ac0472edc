"""te-sched schedules: the schedules that a program makes, and their uses."""

from __future__ import annotations

from typing import Any

import click

from te_sched.cli.options import json_option, of_programs
from te_sched.cli.programs import execute
from te_sched.cli.recording import Found, short
from te_sched.cli.showing import show_json
from te_sched.schedule.schedule import Schedule
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.tools.table import table


@click.command("schedules")
@of_programs
@json_option
def command(
    program: str, arguments: tuple[str, ...], schedule: str | None, quiet: bool, as_json: bool
) -> int:
    """List the schedules that PROGRAM.py makes: each with the number and the name that --schedule
    of the other commands takes.
    """
    ran = execute(program, arguments, quiet)
    found = ran.chosen(schedule) if schedule else ran.found
    rows = [describe(one) for one in found]
    if as_json:
        show_json(ran.as_data(rows))
    else:
        lines = [_cells(one, row) for one, row in zip(found, rows, strict=True)]
        head = ["", "name", "made at", "primitives", "arguments", "state", "target"]
        click.echo(table(head, lines, right=[0, 3]))
    return ran.code


def describe(found: Found) -> dict[str, Any]:
    """A schedule, as data."""
    state = "lowered" if found.is_lowered else "created"
    return {
        "number": found.number,
        "name": found.name,
        "file": found.place.file,
        "line": found.place.line,
        "primitives": _primitives(found.inputs),
        "arguments": [one.name for one in found.parameters],
        "state": state if found.target is None else "built",
        "target": str(found.target_of()),
    }


def _primitives(inputs: Any) -> int | None:
    if not isinstance(inputs, Schedule | BlockSchedule):
        return None
    return sum(not one.primitive.is_naming for one in inputs.trace)


def _cells(found: Found, row: dict[str, Any]) -> list[str]:
    count = "" if row["primitives"] is None else str(row["primitives"])
    names = ", ".join(row["arguments"])
    return [
        *(str(row["number"]), row["name"], short(found.place), count, names),
        *(row["state"], row["target"]),
    ]
