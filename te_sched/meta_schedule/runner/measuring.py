"""What a worker measures for a runner: the arguments, configuration and functions of the user, as
`te_sched.tuning.measurement` takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from te_sched.errors import WrongAnswerError
from te_sched.meta_schedule.arg_info import ArgInfo, TensorInfo
from te_sched.meta_schedule.runner.base import LONGEST, EvaluatorConfig
from te_sched.meta_schedule.utils import get_global_func_with_default_on_worker
from te_sched.runtime.loading import load_module
from te_sched.tuning.arguments import Shapes, random_arrays
from te_sched.tuning.measurement import Candidate, Reference, Steps, keep_reference, measure
from te_sched.tuning.reference import WrongResult
from te_sched.tuning.timing import TimingOptions, seconds_of


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
    WrongAnswerError if it computes something else than the reference.
    """
    alloc, run, clean = [
        get_global_func_with_default_on_worker(function, None) for function in functions
    ]
    steps = Steps(
        alloc and (lambda device: alloc(device, args_info, alloc_repeat)),
        run and (lambda module, device, sets: run(module, device, config, sets)),
        clean,
    )
    kind = "cpu" if device_type == "llvm" else device_type
    expected = None
    if reference_path is not None:
        expected = Reference(_results_of(reference_path), False, _wrong_answer)
    return measure(
        Candidate(artifact_path, kind, shapes_of(args_info)),
        timing_of(config),
        expected,
        repeated_sets=alloc_repeat,
        cooldown=cooldown,
        steps=steps,
    )


def default_alloc_argument(device: Any, args_info: Any, alloc_repeat: int) -> list[list[Any]]:
    """Sets of random arguments: floats from -1 to 1, integers from 0 to 7."""
    shapes = shapes_of(args_info)
    return [random_arrays(shapes, device, number) for number in range(alloc_repeat)]


def default_run_evaluator(
    module: Any, device: Any, config: EvaluatorConfig, repeated_args: Sequence[Sequence[Any]]
) -> list[float]:
    """The seconds of the entry function of a module with each set of arguments."""
    seconds = partial(seconds_of, module, device, timing=timing_of(config))
    return [result for arguments in repeated_args for result in seconds(arguments)]


def timing_of(config: EvaluatorConfig) -> TimingOptions:
    """A configuration with the seconds after which a function is not measured any more."""
    number, repeat, min_repeat_ms, flushes = config
    limit = 0 if flushes else min_repeat_ms * repeat * LONGEST / 1e3
    return TimingOptions(number, repeat, min_repeat_ms, flushes, limit)


def save_reference(path: str, args_info: Sequence[Any]) -> float:
    """Run an unscheduled program on random arguments, and keep the results beside it.

    Returns the seconds that it took.
    """
    candidate = Candidate(path, "cpu", shapes_of(args_info))
    return keep_reference(load_module(path), candidate, _results_of(path))


def _results_of(reference_path: str) -> str:
    return str(Path(reference_path).with_name("results.npz"))


def shapes_of(args_info: Sequence[Any]) -> Shapes:
    """The shapes and dtypes of arguments, given as `ArgInfo` or as its JSON."""
    infos = [info if isinstance(info, ArgInfo) else ArgInfo.from_json(info) for info in args_info]
    return [(info.shape, info.dtype) for info in infos if isinstance(info, TensorInfo)]


def _wrong_answer(difference: WrongResult) -> WrongAnswerError:
    return WrongAnswerError(
        f"the candidate computes something else than the program in argument {difference.argument}",
        f"{difference.elements} of {difference.size} elements differ",
        "this is a bug of te_sched, of a rule or of a postprocessor: report its trace",
    )
