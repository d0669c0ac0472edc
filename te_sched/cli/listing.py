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
    records = ran.chosen(schedule) if schedule else ran.found
    rows = [describe(record) for record in records]
    if as_json:
        show_json(ran.as_data(rows))
    else:
        lines = [_cells(record, row) for record, row in zip(records, rows, strict=True)]
        head = ["", "name", "made at", "primitives", "arguments", "state", "target"]
        click.echo(table(head, lines, right=[0, 3]))
    return ran.code


def describe(record: Found) -> dict[str, Any]:
    """A schedule, as data."""
    state = "lowered" if record.is_lowered else "created"
    return {
        "number": record.number,
        "name": record.name,
        "file": record.place.file,
        "line": record.place.line,
        "primitives": _primitives(record.inputs),
        "arguments": [parameter.name for parameter in record.parameters],
        "state": state if record.target is None else "built",
        "target": str(record.target_of()),
    }


def _primitives(inputs: Any) -> int | None:
    if not isinstance(inputs, Schedule | BlockSchedule):
        return None
    return sum(not entry.primitive.is_naming for entry in inputs.trace)


def _cells(record: Found, row: dict[str, Any]) -> list[str]:
    count = "" if row["primitives"] is None else str(row["primitives"])
    names = ", ".join(row["arguments"])
    return [
        *(str(row["number"]), row["name"], short(record.place), count, names),
        *(row["state"], row["target"]),
    ]
