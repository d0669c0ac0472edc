"""What a worker does to measure a candidate: allocate, compare with the reference, time."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from te_sched.errors import CallError
from te_sched.meta_schedule.arg_info import ArgInfo, TensorInfo
from te_sched.meta_schedule.runner.base import LONGEST, EvaluatorConfig
from te_sched.meta_schedule.runner.emulated import is_modeled, modeled_seconds
from te_sched.meta_schedule.utils import get_global_func_with_default_on_worker
from te_sched.runtime.device import device as device_of
from te_sched.runtime.device import emulated_cuda
from te_sched.runtime.loading import load_module
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.trials import agree, random_arrays

_FLUSH = np.empty(1 << 26, "uint8")  # larger than caches; touched when they are to be emptied

_references: dict[str, list[np.ndarray[Any, Any]]] = {}  # results by the path of the program


def measured(
    artifact_path: str,
    device_type: str,
    args_info: Sequence[Any],
    reference_path: str | None,
    config: EvaluatorConfig,
    alloc_repeat: int,
    cooldown: float,
    functions: tuple[Any, Any, Any],
) -> list[float]:
    """The seconds that a built candidate takes.

    Raises
    ------
    CallError if it computes something else than the reference.
    """
    alloc, run, cleanup = functions
    allocate = get_global_func_with_default_on_worker(alloc, default_alloc_argument)
    evaluate = get_global_func_with_default_on_worker(run, default_run_evaluator)
    clean = get_global_func_with_default_on_worker(cleanup, _nothing)
    device = device_of("cpu" if device_type == "llvm" else device_type, 0)
    if is_modeled(device_type):
        device, evaluate = emulated_cuda(0), modeled_seconds if run is None else evaluate
    try:
        module = load_module(artifact_path)
        infos = [ArgInfo.from_json(one) for one in args_info]
        if reference_path is not None:
            seconds = compare(module, reference_path, device, infos)
            if evaluate is default_run_evaluator and 0 < limit_of(config) <= seconds:
                return [seconds]
        found = evaluate(module, device, config, allocate(device, args_info, alloc_repeat))
    finally:
        clean()
        time.sleep(cooldown)
    return [float(one) for one in found]


def _nothing() -> None:
    """The default of what is called after a measurement."""


def default_alloc_argument(device: Any, args_info: Any, alloc_repeat: int) -> list[list[Any]]:
    """Sets of random arguments: see `random_arguments`."""
    from_json = ArgInfo.from_json
    infos = [one if isinstance(one, ArgInfo) else from_json(one) for one in args_info]
    return [random_arguments(device, infos, number) for number in range(alloc_repeat)]


def random_arguments(device: Any, infos: Sequence[ArgInfo], seed: int) -> list[NDArray]:
    """An array for each argument: floats from -1 to 1, integers from 0 to 7."""
    tensors = [info for info in infos if isinstance(info, TensorInfo)]
    return random_arrays([(info.shape, info.dtype) for info in tensors], device, seed)


def default_run_evaluator(
    module: Any, device: Any, config: EvaluatorConfig, repeated_args: Sequence[Sequence[Any]]
) -> list[float]:
    """The seconds of the entry function of a module with each set of arguments."""
    flushes = config.enable_cpu_cache_flush
    rounds, repeat = (config.repeat * config.number, 1) if flushes else (1, config.repeat)
    limit = limit_of(config)
    found: list[Sequence[float]] = []
    for arguments in repeated_args:
        began = time.perf_counter()
        module[module.entry_name](*arguments)
        device.sync()
        seconds = time.perf_counter() - began
        if seconds >= limit > 0:
            found.append([seconds])
            continue
        is_slow = seconds * 1e3 >= config.min_repeat_ms > 0
        evaluator = module.time_evaluator(
            module.entry_name,
            device,
            number=1 if is_slow or flushes else config.number,
            repeat=min(repeat, math.ceil(limit / seconds)) if limit else repeat,
            min_repeat_ms=0 if flushes else config.min_repeat_ms,
        )
        for _ in range(rounds):
            if flushes:
                _FLUSH.fill(1)
            found.append(evaluator(*arguments).results)
    return list(itertools.chain.from_iterable(found))


def limit_of(config: EvaluatorConfig) -> float:
    """The seconds after which a function is not measured any more; 0 if there is no limit."""
    flushes = config.enable_cpu_cache_flush
    return 0 if flushes else config.min_repeat_ms * config.repeat * LONGEST / 1e3


def save_reference(path: str, args_info: Sequence[Any]) -> float:
    """Run an unscheduled program on random arguments, and keep the results beside it.

    Returns the seconds that it took.
    """
    infos = [ArgInfo.from_json(one) for one in args_info]
    found, seconds = _results(load_module(path), device_of("cpu", 0), infos)
    target = _results_path(path)
    unfinished = target.with_suffix(".unfinished.npz")
    np.savez(unfinished, *found)
    unfinished.replace(target)
    return seconds


def compare(module: Any, reference_path: str, device: Any, infos: Sequence[ArgInfo]) -> float:
    """Compare results of a module with those that `save_reference` kept, if there are any.

    Returns the seconds that it took, 0 if it did not run.

    Raises
    ------
    CallError if a result differs by more than the order of sums explains.
    """
    path = _results_path(reference_path)
    if not path.exists():
        return 0.0
    expected = _references.get(reference_path)
    if expected is None:
        _references.clear()
        with np.load(path) as file:
            expected = _references[reference_path] = [file[name] for name in file.files]
    results, seconds = _results(module, device, infos)
    for number, (given, wanted) in enumerate(zip(results, expected, strict=True)):
        wanted = wanted.view(given.dtype)  # files know no bfloat16
        if not agree(given, wanted):
            raise CallError(
                f"the candidate computes something else than the program in argument {number}",
                f"{np.sum(~np.isclose(given, wanted))} of {wanted.size} elements differ",
                "this is a bug of te_sched, of a rule or of a postprocessor: report its trace",
            )
    return seconds


def _results_path(reference_path: str) -> Path:
    return Path(reference_path).with_name("results.npz")


def _results(
    module: Any, device: Any, infos: Sequence[ArgInfo]
) -> tuple[list[np.ndarray[Any, Any]], float]:
    arguments = random_arguments(device, infos, 0)
    began = time.perf_counter()
    module[module.entry_name](*arguments)
    device.sync()
    seconds = time.perf_counter() - began
    return [one.numpy() for one in arguments], seconds
