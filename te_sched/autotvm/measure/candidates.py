"""What workers do with a candidate: compile it into a file, run it, compare and time it.

The functions are called in worker processes, with what pickle can send. Must not know templates.
"""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from te_sched import config, nd
from te_sched.autotvm.measure.measure import BuildResult, MeasureErrorNo, MeasureResult
from te_sched.codegen.target import Target
from te_sched.driver import build
from te_sched.errors import CallError
from te_sched.errors import WrongAnswerError as WrongAnswerError
from te_sched.ir.expr import IntImm
from te_sched.runtime import load_module
from te_sched.runtime.device import Device, device
from te_sched.runtime.trials import agree, random_arrays
from te_sched.schedule.schedule import Schedule, create_schedule
from te_sched.te.tensor import Tensor

_FLUSHED = 64 << 20  # bytes, more than caches have


class TimingOptions(NamedTuple):
    """How a candidate is timed: see LocalRunner."""

    number: int
    repeat: int
    min_repeat_ms: float
    cooldown_interval: float
    flush: bool


def build_candidate(
    s: Schedule,
    args: Sequence[Tensor],
    target: Target,
    path: str,
    switches: Mapping[str, Any],
    fcompile: Callable[..., Any] | None = None,
) -> BuildResult:
    """Compile a schedule into a file."""
    start = time.perf_counter()
    with config.scoped(**switches):
        module = build(s, args, target)
    module.export_library(path, fcompile)
    shapes = tuple((_shape(tensor), tensor.dtype) for tensor in args)
    kind = "cuda" if target.kind == "cuda" else "cpu"
    return BuildResult(path, shapes, None, time.perf_counter() - start, kind)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    shape = tuple(one.value for one in tensor.shape if isinstance(one, IntImm))
    if len(shape) < tensor.ndim:
        raise CallError(
            f"cannot measure a program with argument {tensor.name} of shape {list(tensor.shape)}",
            "its size is not constant",
            "let the template declare tensors of constant shapes",
        )
    return shape


def run_reference(
    args: Sequence[Tensor], path: str, switches: Mapping[str, Any], ref_input: Sequence[Any] = ()
) -> None:
    """Run the program of arguments without a schedule on the processor, and keep the results."""
    outputs = [tensor.op for tensor in args if tensor.op.input_tensors]
    with config.scoped(**switches):
        module = build(create_schedule(outputs), list(args), Target("llvm"))
    dev = device("cpu", 0)
    shapes = [(_shape(tensor), tensor.dtype) for tensor in args]
    _keep(_results(module, _arrays(shapes, dev, ref_input)), path)


def run_candidate(
    build_result: BuildResult,
    timing: TimingOptions,
    reference: str,
    switches: Mapping[str, Any],
    ref_input: Sequence[Any] = (),
) -> MeasureResult:
    """Run a candidate, compare its results, and time it.

    Parameters
    ----------
    reference : the file with the results of the reference; "" compares nothing. If there is no
        such file, it is made of these results.
    """
    start = time.perf_counter() - build_result.time_cost
    time.sleep(timing.cooldown_interval)
    with config.scoped(**switches):
        module = load_module(build_result.filename)
        dev = device(build_result.device, 0)
        arrays = _arrays(build_result.arg_info, dev, ref_input)
        results = _results(module, arrays)
        if reference and os.path.exists(reference):
            _compare(results, reference)
        elif reference:
            _keep(results, reference)
        flush = timing.flush and build_result.device == "cpu"
        times = (_flushed_times if flush else _times)(module, arrays, timing, dev)
    seconds = time.perf_counter() - start
    return MeasureResult(tuple(times), MeasureErrorNo.NO_ERROR, seconds, time.time())


def _times(module: Any, arrays: Sequence[Any], timing: TimingOptions, dev: Device) -> list[float]:
    """Seconds of a run, for each repetition."""
    evaluator = module.time_evaluator(
        module.entry_name,
        dev,
        number=timing.number,
        repeat=timing.repeat,
        min_repeat_ms=timing.min_repeat_ms,
    )
    return list(evaluator(*arrays).results)


def _flushed_times(
    module: Any, arrays: Sequence[Any], timing: TimingOptions, dev: Device
) -> list[float]:
    """Seconds of single runs, before each of which the caches are emptied."""
    evict, times = np.zeros(_FLUSHED, "uint8"), list[float]()
    for _ in range(timing.repeat):
        total = 0.0
        for _ in range(timing.number):
            evict += 1
            total += module.entry_func.measure(dev, 1, *arrays)
        times.append(total / timing.number)
    return times


def _arrays(
    shapes: Sequence[tuple[Sequence[int], str]], dev: Device, ref_input: Sequence[Any]
) -> list[Any]:
    """The given arguments, or random ones: the same for all candidates."""
    if ref_input:
        return [nd.array(np.asarray(one), dev) for one in ref_input]
    return list(random_arrays(shapes, dev))


def _results(module: Any, arrays: Sequence[Any]) -> list[Any]:
    """The arguments after a call, as numpy arrays."""
    module(*arrays)
    return [one.numpy().copy() for one in arrays]


def _keep(results: Sequence[Any], path: str) -> None:
    writing = f"{path}.{os.getpid()}"
    with open(writing, "wb") as file:
        pickle.dump(results, file)
    os.replace(writing, path)


def _compare(results: Sequence[Any], path: str) -> None:
    """Compare with the reference, unless the configuration changes the shapes of arguments."""
    with open(path, "rb") as file:
        expected = pickle.load(file)
    if [one.shape for one in results] != [one.shape for one in expected]:
        return
    for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        if not agree(result, wanted):
            raise WrongAnswerError(
                f"argument {number} has wrong values after a call of the candidate",
                "the same program without a schedule has others",
                "check what the template does with this configuration",
            )
