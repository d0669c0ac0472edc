"""What te-sched tune does: the program of a file, the search, and what is shown of its result.

`tuning` has the command and its options, and says that it begins before this is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

import te_sched
from te_sched import files, tir
from te_sched.cli.inputs import Sizes, check_sizes
from te_sched.cli.problems import CommandError, ExitCode
from te_sched.cli.programs import UserProgram, execute, show_failure
from te_sched.cli.recording import Found
from te_sched.cli.showing import show, show_json
from te_sched.cli.tuning import DEFAULT, PROGRAM_MARK
from te_sched.codegen.target import Target
from te_sched.errors import SourceLocation, TeSchedError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.tuning import Tuned, program_of
from te_sched.progress import in_lines
from te_sched.story.tuning import tuning_report
from te_sched.tensorir.schedule import BlockSchedule


def search(
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
    """Run the program, search, and show the result; see `tuning.command`."""
    ran = execute(program, arguments, quiet, needs_schedules=name is None)
    searched = "post-order-apply" if space == DEFAULT else ran.value(space, "--space")
    if not isinstance(searched, str) and not callable(searched):
        raise CommandError(
            f"--space names {space}, which is not a function", "", "name a function of a schedule"
        )
    try:
        func, shown, wanted = _what(ran, schedule, name, target, sizes)
        with in_lines():
            result = te_sched.tune(
                func,
                target=wanted,
                trials=trials,
                seed=seed,
                work_dir=work_dir,
                space=searched,
                name=shown,
            )
    except TeSchedError:
        raise
    except Exception as failure:  # of functions of the program
        show_failure(failure, program)
        return ExitCode.FOUND
    if page is not None:
        tuning_report(result).save(page)
    _show(result, output, as_json)
    return ran.code


def _what(
    ran: UserProgram,
    schedule: str | None,
    name: str | None,
    target: Target | None,
    sizes: Mapping[str, int],
) -> tuple[PrimFunc, str, Target]:
    """The function to tune, without symbolic sizes, its name, and its target."""
    if name is not None:
        module, _ = program_of(ran.value(name, "--name"))
        record = Found(_only(module), SourceLocation(), function=name)
    else:
        record = ran.one(schedule, "tune")
    func = Found(_unscheduled(record), SourceLocation())
    check_sizes([func], sizes)
    return _specialized(func, Sizes(func, sizes)), record.name, record.target_of(target)


def _only(module: IRModule) -> PrimFunc:
    """The function of a module of one."""
    (func,) = module.functions.values()
    assert isinstance(func, PrimFunc)
    return func


def _unscheduled(record: Found) -> PrimFunc:
    """The program of a schedule, without its primitives."""
    inputs = record.inputs
    if isinstance(inputs, BlockSchedule):
        return _only(IRModule({"main": inputs.declared[record.function]}))
    return (
        inputs if isinstance(inputs, PrimFunc) else _only(program_of(inputs, record.arguments)[0])
    )


def _specialized(record: Found, sizes: Sizes) -> PrimFunc:
    """A function of blocks with numbers for its symbolic extents."""
    func = record.func
    assert func is not None
    values: dict[Any, Any] = {}
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            values.update({param: sizes.values[param]} if param in sizes.values else {})
        else:
            values[param] = tir.decl_buffer(sizes.shape_of(buffer), buffer.dtype, buffer.name)
    return func.specialize(values) if sizes.values else func


def _show(result: Tuned, output: str | None, as_json: bool) -> None:
    text = result.as_python()
    if output is not None:
        files.write(output, text, "write", error=CommandError, mark=PROGRAM_MARK)
    click.echo(str(result), err=True)
    if as_json:
        show_json(
            {
                "name": result.name,
                "target": str(result.target),
                "seconds": result.latency,
                "unscheduled_seconds": result.unscheduled_latency,
                "trials": len(result.trials.candidates),
                "failures": result.failures,
                "schedule": text,
            }
        )
    elif output is None:
        show(text, "python")
