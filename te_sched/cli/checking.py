"""te-sched check: mistakes of schedules, found before they run and while they run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from te_sched import config
from te_sched.analysis.findings import Findings
from te_sched.analysis.judge import check
from te_sched.cli.building import build_found
from te_sched.cli.inputs import Sizes, check_sizes, iterations, random_arguments
from te_sched.cli.options import (
    SeveralPrograms,
    json_option,
    of_several_programs,
    sizes_option,
    target_option,
)
from te_sched.cli.problems import CommandError, ExitCode, flush_output
from te_sched.cli.programs import execute, read
from te_sched.cli.recording import Found
from te_sched.cli.showing import show_json, show_title
from te_sched.codegen.target import Target
from te_sched.errors import TeSchedError
from te_sched.runtime.ndarray import array

_MOST_ITERATIONS = 2_000_000_000  # that are watched unless --run raises the limit: about 20 s
_PER_SECOND = 100_000_000
_BLOCKS = 64


@dataclass(slots=True)
class _Result:
    """The findings of one schedule; `watched` describes the run, or why there was none."""

    found: Found
    target: str
    judged: Findings = field(default_factory=Findings)
    error: TeSchedError | None = None
    report: Any = None
    watched: str = ""

    def is_wrong(self, strict: bool) -> bool:
        """Whether there are findings; with `strict`, also if something is not proved."""
        is_reported = self.report is not None and not self.report.ok
        doubts = strict and bool(self.judged.unproved)
        return bool(self.judged.refuted) or self.error is not None or is_reported or doubts


@click.command("check", cls=SeveralPrograms)
@of_several_programs
@target_option
@sizes_option
@click.option(
    "--run/--no-run",
    default=None,
    help="Also run it, with all accesses checked, on random inputs. By default, unless that "
    "would take long.",
)
@click.option(
    "--blocks",
    type=click.IntRange(0),
    default=_BLOCKS,
    show_default=True,
    help="The number of thread blocks of a kernel to check, evenly spread; 0 for all.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 also if something could not be proved.")
@json_option
def command(
    programs: tuple[str, ...],
    arguments: tuple[str, ...],
    schedule: str | None,
    quiet: bool,
    target: Target | None,
    sizes: Mapping[str, int],
    run: bool | None,
    blocks: int,
    strict: bool,
    as_json: bool,
) -> int:
    """Check each schedule that a PROGRAM.py builds, lowers or makes: races, elements that are not
    written or are read before they are written, accesses outside of tensors. Then run it with all
    accesses checked: on the processor with build(..., sanitize=True), kernels of a GPU in the
    checked mode.

    Exits with 1 if something is wrong. Of several programs, each is run in a process of its own.
    """
    if len(programs) > 1:
        options = _words(schedule, quiet, target, sizes, run, blocks, strict)
        return _check_each(programs, options, arguments, as_json)
    ran = execute(programs[0], arguments, quiet)
    chosen = ran.chosen(schedule)
    check_sizes(chosen, sizes)
    results = [_check(record, target, sizes, run, blocks or None) for record in chosen]
    wrong = any(outcome.is_wrong(strict) for outcome in results)
    if as_json:
        rows = [_as_data(outcome, strict) for outcome in results]
        show_json(ran.as_data(rows))
    else:
        for result in results:
            _show(result)
    return ExitCode.FOUND if wrong else ran.code


def _words(
    schedule: str | None,
    quiet: bool,
    target: Target | None,
    sizes: Mapping[str, int],
    run: bool | None,
    blocks: int,
    strict: bool,
) -> list[str]:
    """The options as words of a command line."""
    words = [f"--blocks={blocks}", *(f"--size={name}={size}" for name, size in sizes.items())]
    words += [] if schedule is None else [f"--schedule={schedule}"]
    words += [] if target is None else [f"--target={target}"]
    words += [] if run is None else ["--run" if run else "--no-run"]
    return [*words, *["--quiet"] * quiet, *["--strict"] * strict]


def _check_each(
    programs: Sequence[str], options: Sequence[str], arguments: Sequence[str], as_json: bool
) -> int:
    """Check each program in a process of its own, without the functions and modules of the others;
    the exit code is the largest of theirs.
    """
    for program in programs:
        read(program)  # a wrong path is found before a program runs
    codes, data = [], []
    for program in programs:
        words = ["-m", "te_sched", "check", *options, *["--json"] * as_json, program]
        if not as_json:
            show_title(program)
        flush_output()
        done = subprocess.run(
            [sys.executable, *words, "--", *arguments],
            stdout=subprocess.PIPE if as_json else None,
            check=False,
        )
        codes.append(done.returncode)
        if done.returncode not in (ExitCode.FINE, ExitCode.FOUND, ExitCode.MISUSED):
            break  # stopped by Ctrl-C, or by a signal
        if as_json:
            nothing = {"program": program, "error": "not checked", "schedules": []}
            data.append(json.loads(done.stdout) if done.stdout else nothing)
    if as_json:
        show_json(data)
    wrong = [program for program, code in zip(programs, codes, strict=False) if code]
    result = f"see {', '.join(wrong)}" if wrong else "nothing found"
    click.echo(f"{len(codes)} programs checked: {result}", err=as_json)
    return max(codes) if min(codes) >= 0 else ExitCode.FOUND


def _check(
    record: Found,
    target: Target | None,
    size_options: Mapping[str, int],
    run: bool | None,
    blocks: int | None,
) -> _Result:
    wanted = record.target_of(target)
    sizes = Sizes(record, size_options)
    result = _Result(record, str(wanted))
    try:
        with config.scoped(lowering=record.choices):
            result.judged = check(record.program, record.arguments)
    except TeSchedError as error:
        result.error, result.watched = error, "not run: it cannot be lowered"
        return result
    if result.judged.refuted and record.verify:
        result.watched = "not run: what is refuted comes first"
        return result
    reason = _why_not_run(record, sizes, run, wanted.kind == "cuda")
    if reason:
        result.watched = reason
        return result
    _say_cost(record, sizes, wanted)
    try:
        _watch(result, sizes, wanted, blocks)
    except CommandError as error:
        result.watched = f"not run: {error.summary}"
    except TeSchedError as error:
        result.error = error
    return result


def _why_not_run(record: Found, sizes: Sizes, run: bool | None, is_gpu: bool) -> str:
    if run is False:
        return "not run, as asked"
    work = iterations(record.inputs, sizes)
    if run or is_gpu or work is None or work <= _MOST_ITERATIONS:
        return ""
    return (
        f"not run: {work:,} iterations take long when they are watched; pass --run to run it anyway"
    )


def _say_cost(record: Found, sizes: Sizes, target: Target) -> None:
    """Say how long a run will take, on the error stream, before it begins."""
    work = iterations(record.inputs, sizes) if target.kind != "cuda" else None
    if work is not None and work > _PER_SECOND:
        seconds = work / _PER_SECOND
        click.echo(f"{record.title}: watching {work:,} iterations, about {seconds:.0f} s", err=True)


def _watch(result: _Result, sizes: Sizes, target: Any, blocks: int | None) -> None:
    """Run a schedule while each of its accesses is watched."""
    record = result.found
    values = random_arguments(record, sizes)
    with_sizes = f" with {sizes}" if sizes.values else ""
    if target.kind != "cuda":
        module = build_found(record, target, sanitize=True)
        module(*[array(value) if hasattr(value, "shape") else value for value in values])
        result.watched = f"watched with random inputs{with_sizes}: nothing found"
        return
    module = build_found(record, target)
    result.report = module.check(*values, max_blocks=blocks)
    some = f" (at most {blocks} blocks of a kernel)" if blocks else ""
    result.watched = f"checked mode{some}, random inputs{with_sizes}"


def _show(result: _Result) -> None:
    show_title(f"{result.found.title}, {result.target}")
    click.echo(result.judged)
    if result.error is not None:
        click.echo(f"wrong: {result.error}")
    if result.watched:
        click.echo(result.watched)
    if result.report is not None:
        click.echo(result.report)
    click.echo()


def _as_data(result: _Result, strict: bool) -> dict[str, Any]:
    record, judged = result.found, result.judged
    return {
        "number": record.number,
        "name": record.name,
        "target": result.target,
        "ok": not result.is_wrong(strict),
        "findings": Findings([*judged.refuted, *judged.unproved, *judged.hints]).records(),
        "proved": len(judged.proved),
        "error": None if result.error is None else str(result.error),
        "watched": result.watched,
        "report": None if result.report is None else result.report.to_dict(),
    }
