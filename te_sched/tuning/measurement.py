"""A candidate from its file to its seconds, in a worker process: load, run, compare, time.

Kernels for CUDA without a GPU run on the emulated device, and the seconds are those of a model.
Must not know what made the candidate, and what its seconds are for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from te_sched.runtime.device import Device, device, emulated_cuda
from te_sched.runtime.loading import load_module
from te_sched.tuning import reference
from te_sched.tuning.arguments import Shapes, arrays_of, random_arrays
from te_sched.tuning.gpu_model import is_modeled, modeled_seconds
from te_sched.tuning.timing import TimingOptions, seconds_of

ArgumentSets = Sequence[Sequence[Any]]  # of what `allocate` of the user returns


class Candidate(NamedTuple):
    """A built program.

    path : its file.
    device_type : the kind of device that runs it: "cpu", "cuda".
    shapes : shapes and dtypes of its arguments.
    inputs : the arguments, by default random ones.
    """

    path: str
    device_type: str
    shapes: Shapes
    inputs: Sequence[Any] = ()

    def arguments(self, on: Device, seed: int = 0) -> list[Any]:
        """Arguments on a device."""
        if self.inputs:
            return list(arrays_of(self.inputs, on))
        return list(random_arrays(self.shapes, on, seed))


class Reference(NamedTuple):
    """The results that a candidate must have.

    path : their file.
    is_begun : whether a candidate makes them, if there is no file.
    refusal : makes the error of a difference.
    """

    path: str
    is_begun: bool
    refusal: Callable[[reference.WrongResult], Exception]


class Steps(NamedTuple):
    """What the user replaces: how arguments are allocated, how programs are timed, and what is
    called at the end.

    allocate : the sets of arguments on a device.
    evaluate : the seconds of a module on a device with sets of arguments.
    """

    allocate: Callable[[Device], ArgumentSets] | None = None
    evaluate: Callable[[Any, Device, ArgumentSets], Sequence[float]] | None = None
    clean: Callable[[], object] | None = None


def measure(
    candidate: Candidate,
    timing: TimingOptions,
    expected: Reference | None = None,
    *,
    repeated_sets: int = 1,
    cooldown: float = 0.0,
    steps: Steps = Steps(),  # noqa: B008 (it is immutable)
) -> list[float]:
    """The seconds of a candidate: those of each repetition, with each of `repeated_sets` sets of
    arguments.

    The run that is compared is the only one of programs that are slower than the limit of `timing`.

    Raises
    ------
    What `expected.refusal` makes, if the candidate computes something else.
    """
    is_model = is_modeled(candidate.device_type)
    target = emulated_cuda(0) if is_model else device(candidate.device_type, 0)
    try:
        module = load_module(candidate.path)
        is_timed = steps.evaluate is None and not is_model
        if expected is not None:
            seconds = compare(module, candidate, target, expected)
            if is_timed and 0 < timing.limit <= seconds:
                return [seconds]
        if steps.allocate is not None:
            sets = steps.allocate(target)
        else:
            sets = [candidate.arguments(target, seed) for seed in range(repeated_sets)]
        if steps.evaluate is not None:
            return [float(seconds) for seconds in steps.evaluate(module, target, sets)]
        if is_model:
            return [modeled_seconds(module, sets[0])]
        return [
            seconds
            for arguments in sets
            for seconds in seconds_of(module, target, arguments, timing)
        ]
    finally:
        if steps.clean is not None:
            steps.clean()
        time.sleep(cooldown)


def compare(module: Any, candidate: Candidate, on: Device, expected: Reference) -> float:
    """Compare the results of a module with those that it must have; the seconds of the run, 0 if it
    did not run, as there are none.

    Raises
    ------
    What `expected.refusal` makes, if results differ.
    """
    wanted = reference.kept(expected.path)
    if wanted is None and not expected.is_begun:
        return 0.0
    results, seconds = reference.run(module, on, candidate.arguments(on))
    if wanted is None:
        reference.keep(results, expected.path)
        return seconds
    difference = reference.difference(results, wanted)
    if difference is not None:
        raise expected.refusal(difference)
    return seconds


def keep_reference(module: Any, candidate: Candidate, path: str) -> float:
    """Run a program on the processor, and keep its results for `compare`; its seconds."""
    processor = device("cpu", 0)
    results, seconds = reference.run(module, processor, candidate.arguments(processor))
    reference.keep(results, path)
    return seconds
