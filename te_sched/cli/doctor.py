"""te-sched doctor: required and optional dependencies on this computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from te_sched.cli.options import json_option
from te_sched.cli.probes import BROKEN, PROBES, ProbeRow, probe
from te_sched.cli.problems import ExitCode
from te_sched.cli.showing import has_color, show_json

_COLORS = {"ok": "green", "absent": "yellow", "broken": "red"}


@click.command("doctor")
@json_option
def command(as_json: bool) -> int:
    """List required and optional dependencies: whether each is installed, what it enables, and
    how to install it. Exits with 1 only if a required dependency is broken.
    """
    rows = [probe(check) for check in PROBES]
    failed = any(row.needed and row.state != "ok" for row in rows)
    if as_json:
        show_json({"ok": not failed, "rows": [asdict(row) for row in rows]})
    else:
        _show(rows)
        click.echo(_verdict(rows, failed))
    return ExitCode.FOUND if failed else ExitCode.FINE


def _show(rows: Sequence[ProbeRow]) -> None:
    width = max(len(row.name) for row in rows)
    for row in rows:
        state = f"{row.state:6}"
        shown = click.style(state, fg=_COLORS[row.state]) if has_color() else state
        click.echo(f"{shown}  {row.name:{width}}  {row.found}".rstrip())
        for text in (f"for: {row.enables}", row.help and f"do: {row.help}"):
            if text and (row.state != "ok" or text.startswith("for")):
                click.echo(" " * (width + 10) + text)


def _verdict(rows: Sequence[ProbeRow], failed: bool) -> str:
    if failed:
        return "\nSomething that te_sched needs does not work: see above."
    broken = [row.name for row in rows if row.state == BROKEN]
    if broken:
        return f"\nte_sched works here; broken, and not needed for it: {', '.join(broken)}."
    return "\nte_sched works here."
