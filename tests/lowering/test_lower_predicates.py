"""Accesses under predicates become accesses of lanes under conditions."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import BuildError, LoweringError
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.lower_predicates import lower_predicates
from te_sched.script import from_source

TAIL = """
@T.prim_func
def f(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for i in range(4):
        B.vstore(
            [T.Ramp(i * 4, 1, 4)],
            A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.get_active_lane_mask("uint1x4", i * 4, N))
            * T.Broadcast(T.float32(2), 4),
            predicate=T.get_active_lane_mask("uint1x4", i * 4, N),
        )
"""
CHOSEN = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), M: T.Buffer((8,), "bool"), B: T.Buffer((8,), "int32")):
    B.vstore(
        [T.Ramp(7, -1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=M[0:8]) + T.Broadcast(1, 8),
        predicate=A[0:8] > T.Broadcast(3, 8),
    )
"""


def function(text: str) -> PrimFunc:
    made = from_source(text)
    assert isinstance(made, PrimFunc)
    return made


def run(func: PrimFunc, *arrays: np.ndarray) -> np.ndarray:
    """The last array, after a call."""
    given = [te_sched.nd.array(one) for one in arrays]
    te_sched.build(func, target="llvm")(*given)
    return given[-1].numpy()


def test_a_program_without_predicates_stays() -> None:
    func = function("@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n    A[0:4] = A[4:8]")
    assert lower_predicates(func) is func


def test_lanes_beyond_the_limit_are_neither_read_nor_written() -> None:
    found = run(
        function(TAIL.replace("N", "14")), np.arange(14, dtype="float32"), np.zeros(14, "f")
    )
    assert (found == 2 * np.arange(14)).all()


def test_lanes_that_are_not_read_are_zero() -> None:
    values = np.arange(8, dtype="int32")
    mask = np.array([1, 0, 1, 1, 0, 1, 0, 1], bool)
    found = run(function(CHOSEN), values, mask, np.full(8, -1, "int32"))
    expected = np.full(8, -1)
    for lane in range(4, 8):
        expected[7 - lane] = values[lane] * mask[lane] + 1
    assert (found == expected).all()


def test_a_scalar_predicate_is_a_condition() -> None:
    text = (
        "@T.prim_func\ndef f(n: T.int32, A: T.Buffer((4,), 'int32')):\n"
        "    A.vstore([1], A.vload([2], predicate=n > 1) + 5, predicate=n > 0)"
    )
    for n, expected in ((0, 2), (1, 5), (2, 8)):
        data = te_sched.nd.array(np.array([1, 2, 3, 4], "int32"))
        te_sched.build(function(text), target="llvm")(n, data)
        assert data.numpy().tolist() == [1, expected, 3, 4]


def test_an_access_beyond_the_buffer_is_refused() -> None:
    with pytest.raises(BuildError, match="reads A at 14 in dimension 0, which is out of bounds"):
        te_sched.build(function(TAIL.replace("N", "15")), target="llvm")


def test_scalable_vectors_do_not_run() -> None:
    func = function(
        "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n"
        "    A[0 : T.vscale() * 4] = T.Broadcast(1, T.vscale() * 4)"
    )
    with pytest.raises(LoweringError, match="cannot run a program with scalable vectors"):
        te_sched.build(func, target="llvm")
