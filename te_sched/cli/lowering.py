"""te-sched lower: the loops that schedules become, after each primitive or each pass."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import click

from te_sched import config
from te_sched.cli.listing import describe
from te_sched.cli.options import json_option, of_programs
from te_sched.cli.problems import CommandError, ExitCode, say
from te_sched.cli.programs import execute
from te_sched.cli.recording import Found, short
from te_sched.cli.showing import show, show_json, show_title
from te_sched.errors import SourceLocation, TeSchedError, did_you_mean
from te_sched.ir.stmt import IRModule
from te_sched.lowering.pipeline import lower, pass_names
from te_sched.schedule.schedule import Schedule
from te_sched.story.steps import TraceReplay, undone
from te_sched.tensorir.schedule import BlockSchedule

_DIALECTS = ("script", "primfn")


@dataclass(frozen=True, slots=True)
class _Asked:
    """How programs are printed."""

    dialect: str
    after: str | None
    simple: bool | None

    def lowered(self, record: Found, inputs: Any, **more: Any) -> IRModule:
        """A schedule, lowered with the options of the recorded one."""
        simple = (self.simple, record.simple, True)  # it is easier to read
        return lower(
            inputs,
            record.arguments,
            name=record.function,
            binds=record.binds,
            simple_mode=next(mode for mode in simple if mode is not None),
            **more,
        )

    def text_of(self, record: Found, inputs: Any) -> str:
        """The lowered program of a schedule, as text."""
        module = self.lowered(record, inputs, stop_after=self.after)
        return module.script() if self.dialect == "script" else module.astext()


@dataclass(frozen=True, slots=True)
class _PrimitiveStep:
    """A schedule after one more primitive: its lines in the trace, and the lowered program."""

    code: str
    place: SourceLocation
    text: str
    error: TeSchedError | None = None
    language: str = "python"


def _check_pass(_context: Any, _option: Any, name: str | None) -> str | None:
    names = pass_names()
    if name is not None and name not in names:
        raise CommandError(
            f"no pass named {name} for --after",
            "",
            f"use one of {', '.join(names)}{did_you_mean(name, names)}",
        )
    return name


@click.command("lower")
@of_programs
@click.option(
    "--dialect",
    type=click.Choice(_DIALECTS),
    default="script",
    show_default=True,
    help="The syntax: TVMScript, or the one of older versions of TVM.",
)
@click.option(
    "--after",
    metavar="PASS",
    callback=_check_pass,
    shell_complete=lambda _context, _option, begun: [
        name for name in pass_names() if name.startswith(begun)
    ],
    help="Print the program after this pass; an unknown name lists the passes.",
)
@click.option(
    "--step", is_flag=True, help="Print the program after each primitive of the schedule."
)
@click.option("--diff", is_flag=True, help="Print what each primitive changed (implies --step).")
@click.option("--passes", is_flag=True, help="Print what each pass changed.")
@click.option(
    "--simple/--no-simple",
    default=None,
    help="Keep loops with guards whole (simple_mode), or partition them. By default as the "
    "program lowers the schedule, else --simple.",
)
@json_option
def command(
    program: str,
    arguments: tuple[str, ...],
    schedule: str | None,
    quiet: bool,
    dialect: str,
    after: str | None,
    step: bool,
    diff: bool,
    passes: bool,
    simple: bool | None,
    as_json: bool,
) -> int:
    """Print the program of loops of each schedule that PROGRAM.py lowers or builds, or makes if it
    does neither.
    """
    if passes and (step or diff or after or dialect != "script"):
        raise CommandError(
            "lower --passes excludes --step, --diff, --after and --dialect",
            "it shows all passes of the finished schedule, as TVMScript",
            "ask for one of them",
        )
    ran = execute(program, arguments, quiet)
    chosen, asked = ran.chosen(schedule), _Asked(dialect, after, simple)
    code, rows = ran.code, []
    for record in chosen:
        with config.scoped(lowering=record.choices):
            steps = list(_steps(record, asked, step or diff, passes))
        failed = steps[-1].error
        code = ExitCode.FOUND if failed is not None else code
        if as_json:
            rows.append({**describe(record), **_as_data(steps, step or diff)})
        else:
            _show(record, steps, diff, len(chosen) > 1 or step or diff)
        if failed is not None:
            say(failed)
    if as_json:
        show_json(ran.as_data(rows))
    return code


def _steps(record: Found, asked: _Asked, each: bool, passes: bool) -> Iterator[_PrimitiveStep]:
    """The texts to show for a schedule."""
    if each and isinstance(record.inputs, Schedule | BlockSchedule):
        yield from _after_each_primitive(record, record.inputs, asked)
        return
    if passes:
        yield _pass_by_pass(record, asked)
    else:
        yield _lowered("", record.place, record, record.program, asked)


def _after_each_primitive(
    record: Found, schedule: Schedule | BlockSchedule, asked: _Asked
) -> Iterator[_PrimitiveStep]:
    beginning = "sch = tir.Schedule(module)"
    if isinstance(schedule, Schedule):
        beginning = str(undone(schedule).trace).splitlines()[-1]
    for snapshot in TraceReplay(schedule).snapshots():
        state = snapshot.schedule
        program = state.mod if isinstance(state, BlockSchedule) else state
        code = "\n".join(snapshot.code) if snapshot.number else beginning
        location = snapshot.place if snapshot.number else record.place
        if snapshot.error is not None:
            yield _PrimitiveStep(code, location, "", snapshot.error)
        else:
            yield _lowered(code, location, record, program, asked)


def _lowered(
    code: str, location: SourceLocation, record: Found, schedule: Any, asked: _Asked
) -> _PrimitiveStep:
    try:
        return _PrimitiveStep(code, location, asked.text_of(record, schedule))
    except TeSchedError as error:  # an unfinished schedule may not be valid
        return _PrimitiveStep(code, location, "", error)


def _pass_by_pass(record: Found, asked: _Asked) -> _PrimitiveStep:
    printed, failed = StringIO(), None
    with redirect_stdout(printed):
        try:
            asked.lowered(record, record.program, show="passes")
        except TeSchedError as error:
            failed = error
    return _PrimitiveStep("", record.place, printed.getvalue(), failed, "diff")


def _show(record: Found, steps: list[_PrimitiveStep], diff: bool, titled: bool) -> None:
    if titled:
        show_title(record.title, "python")
    before: str | None = None
    for step in steps:
        for line in step.code.splitlines():
            where = f"  # {short(step.place)}" if step.place.file else ""
            show(f">>> {line}{where}", "python")
        if step.error is not None and step is not steps[-1]:
            show_title(f"not lowered: {step.error.summary}", "python")
        elif diff and before is not None and step.text:
            show(_difference(before, step.text), "diff")
        elif step.text:
            show(step.text, step.language)
        before = step.text or before
        if titled:
            click.echo()


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=3)
    return "\n".join(list(lines)[2:]) or "(the program stays as it is)"


def _as_data(steps: list[_PrimitiveStep], each: bool) -> dict[str, Any]:
    if not each:
        return {"program": steps[0].text, "error": _error(steps[0])}
    before, rows = "", []
    for step in steps:
        difference = _difference(before, step.text) if before and step.text else ""
        rows.append(
            {
                "code": step.code,
                "file": step.place.file,
                "line": step.place.line,
                "program": step.text,
                "diff": difference,
                "error": _error(step),
            }
        )
        before = step.text or before
    return {"steps": rows}


def _error(step: _PrimitiveStep) -> str | None:
    return None if step.error is None else str(step.error)
