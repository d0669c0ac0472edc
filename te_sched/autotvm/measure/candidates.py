"""What workers do with a candidate of a template: compile it into a file, and measure it.

The functions are called in worker processes, with what pickle can send. Must not know templates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.autotvm.measure.measure import BuildResult, MeasureErrorNo, MeasureResult
from te_sched.codegen.target import Target
from te_sched.driver import build
from te_sched.errors import CallError
from te_sched.errors import WrongAnswerError as WrongAnswerError
from te_sched.ir.expr import IntImm
from te_sched.runtime.device import check_usable, device
from te_sched.schedule.schedule import Schedule, create_schedule
from te_sched.te.tensor import Tensor
from te_sched.tuning.artifacts import export
from te_sched.tuning.measurement import Candidate, Reference, keep_reference, measure
from te_sched.tuning.reference import WrongResult
from te_sched.tuning.timing import TimingOptions


def build_candidate(
    s: Schedule,
    args: Sequence[Tensor],
    target: Target,
    folder: str,
    fcompile: Callable[..., Any] | None = None,
) -> BuildResult:
    """Compile a schedule into a file, in a folder."""
    start = time.perf_counter()
    path = export(build(s, args, target), folder, fcompile)
    kind = "cuda" if target.kind == "cuda" else "cpu"
    return BuildResult(path, _shapes(args), None, time.perf_counter() - start, kind)


def _shapes(args: Sequence[Tensor]) -> tuple[tuple[tuple[int, ...], str], ...]:
    return tuple((_shape(tensor), tensor.dtype) for tensor in args)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    shape = tuple(size.value for size in tensor.shape if isinstance(size, IntImm))
    if len(shape) < tensor.ndim:
        raise CallError(
            f"cannot measure a program with argument {tensor.name} of shape {list(tensor.shape)}",
            "its size is not constant",
            "let the template declare tensors of constant shapes",
        )
    return shape


def run_reference(args: Sequence[Tensor], path: str, ref_input: Sequence[Any] = ()) -> None:
    """Run the program of arguments without a schedule on the processor, and keep the results."""
    outputs = [tensor.op for tensor in args if tensor.op.input_tensors]
    module = build(create_schedule(outputs), list(args), Target("llvm"))
    keep_reference(module, Candidate("", "cpu", _shapes(args), ref_input), path)


def run_candidate(
    build_result: BuildResult,
    timing: TimingOptions,
    reference: str = "",
    cooldown: float = 0.0,
    ref_input: Sequence[Any] = (),
) -> MeasureResult:
    """Run a candidate, compare its results, and time it.

    Parameters
    ----------
    reference : the file with the results of the reference; "" compares nothing. If there is no
        such file, it is made of these results.
    """
    start = time.perf_counter() - build_result.time_cost
    check_usable(device(build_result.device, 0))  # logs have no place for what a model tells
    candidate = Candidate(
        build_result.filename, build_result.device, build_result.arg_info, ref_input
    )
    expected = Reference(reference, True, _wrong_answer) if reference else None
    costs = measure(candidate, timing, expected, cooldown=cooldown)
    seconds = time.perf_counter() - start
    return MeasureResult(tuple(costs), MeasureErrorNo.NO_ERROR, seconds, time.time())


def _wrong_answer(difference: WrongResult) -> WrongAnswerError:
    return WrongAnswerError(
        f"argument {difference.argument} has wrong values after a call of the candidate",
        "the same program without a schedule has others",
        "check what the template does with this configuration",
    )
