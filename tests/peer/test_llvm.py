"""TVM's lowered programs compiled by our LLVM back end and by TVM's: the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm

from te_sched.runtime import registry
from te_sched.runtime.build import build_functions
from tests.golden import execution
from tests.golden.corpus import programs
from tests.peer.bridge import from_tvm

# The programs that do little arithmetic, and some of the random ones.
PROGRAMS = {
    one.name: one
    for k, one in enumerate(programs())
    if one.family == "programs" or (one.family == "random" and k % 10 == 4)
}
_REDUCTION, _PARALLEL = 2, 7  # TVM's numbers of kinds of axes


def constant_shapes(args: list[Any]) -> bool:
    return all(isinstance(extent, tvm.tir.IntImm) for arg in args for extent in arg.shape)


def values_of(args: list[Any]) -> list[np.ndarray]:
    inputs, _ = execution.inputs_and_outputs(args)
    generator = np.random.default_rng(0)
    return [
        execution.random_array(arg, generator)
        if any(arg is tensor for tensor in inputs)
        else execution.untouched_array(arg)
        for arg in args
    ]


def runs_by_itself(schedule: Any, args: list[Any], script: str) -> bool:
    """Whether a program needs nothing but arrays, and gives the same however threads run."""
    races = any(
        axis.iter_type == _REDUCTION and attribute.iter_type == _PARALLEL
        for stage in schedule.stages
        for axis, attribute in stage.iter_var_attrs.items()
    )
    devices_and_calls = ("launch_thread", "env_thread", "call_extern", "call_packed", "= T.int32()")
    return not races and constant_shapes(args) and not any(w in script for w in devices_and_calls)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_tvm_gives(name: str) -> None:
    for schedule, args in PROGRAMS[name].steps(tvm):
        lowered = tvm.lower(schedule, args, simple_mode=True)
        if not runs_by_itself(schedule, args, str(lowered)):
            continue
        try:
            peer = tvm.build(schedule, args, "llvm")
        except tvm.TVMError:  # TVM refuses an unusual pragma
            continue
        ours = values_of(args)
        theirs = [tvm.nd.array(value) for value in ours]
        build_functions({"main": from_tvm(lowered["main"])})(*ours)
        peer(*theirs)
        for mine, other in zip(ours, theirs, strict=True):
            tolerance = 1e-2 if mine.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(mine, other.numpy(), tolerance, tolerance)


def test_symbolic_program_gives_what_tvm_gives() -> None:
    for schedule, args in PROGRAMS["symbolic_vector_add"].steps(tvm):
        lowered = tvm.lower(schedule, args, simple_mode=True)
        if "launch_thread" in str(lowered):
            continue
        module = build_functions({"main": from_tvm(lowered["main"])})
        for n in (0, 1, 3, 4, 101):
            a, b, c = np.arange(n, dtype="float32"), np.ones(n, "float32"), np.zeros(n, "float32")
            module(a, b, c)
            np.testing.assert_array_equal(c, a + b)


def test_extern_program_calls_a_registered_function() -> None:
    def gemv_update(c: Any, a: Any, b: Any, m: int, length: int, stride: int) -> int:
        rows = np.ctypeslib.as_array(b, (m * stride,)).reshape(m, stride)[:, :length]
        np.ctypeslib.as_array(c, (m,))[:] = rows @ np.ctypeslib.as_array(a, (length,))
        return 0

    registry.register_extern("gemv_update", gemv_update)
    program = next(one for one in programs("primitives") if one.name == "18_tensorize")
    *_, (schedule, args) = program.steps(tvm)
    module = build_functions(
        {"main": from_tvm(tvm.lower(schedule, args, simple_mode=True)["main"])}
    )
    values = values_of(args)
    module(*values)
    registry.remove_extern("gemv_update")
    execution.difference(values[2], values[0] @ values[1].T)
