"""What `check` and `build` find in functions of blocks."""

from __future__ import annotations

import pytest

import te_sched
from te_sched.analysis import check
from te_sched.errors import BuildError
from te_sched.script import from_source
from te_sched.script import tir as T


@T.prim_func
def product(
    A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")
):
    Y = T.alloc_buffer((8, 8))
    for i, ko, j, ki in T.grid(8, 2, 8, 4):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            vk = T.axis.reduce(8, ko * 4 + ki)
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@T.prim_func
def without_first_iteration(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    Y = T.alloc_buffer((8,))
    for i, k in T.grid(8, 7):
        with T.block("Y"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(8, k + 1)
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + A[vi, vk]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = Y[vi]


@T.prim_func
def racy(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.parallel(8):
        with T.block("B"):
            vi = T.axis.reduce(8, i)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vi]


@T.prim_func
def out_of_bounds(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi + 1]


@T.prim_func
def other_iterations(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    """Only the first iteration of i has the element that it needs."""
    for i in range(8):
        with T.block("row"):
            Y = T.alloc_buffer((8,))
            for k in range(8):
                with T.block("Y"):
                    if i == 0:
                        Y[k] = A[i, k]
                    C[i] = Y[k]


def test_reductions_are_proved_to_begin_with_their_initialization() -> None:
    found = check(product)
    assert not found.refuted
    assert not found.unproved
    assert len(found.proved) == 3


def test_initializations_that_no_iteration_executes() -> None:
    (found,) = check(without_first_iteration).refuted
    assert found.message == "buffer Y is read before it is written"
    with pytest.raises(BuildError, match="buffer Y is read before it is written"):
        te_sched.build(without_first_iteration)


def test_races_and_bounds() -> None:
    (found,) = check(racy).refuted
    assert "data race on B between iterations of parallel loop i" in found.message
    (found,) = check(out_of_bounds).refuted
    assert "program reads A at 8 in dimension 0" in found.message
    with pytest.raises(BuildError, match="data race on B"):
        te_sched.build(racy)


def test_memory_of_one_iteration_is_not_that_of_the_next() -> None:
    assert [one.stage for one in check(other_iterations).refuted] == ["Y"]


LATE = """
@T.prim_func
def main(A: T.Buffer(({n}, {m}), "float32"), B: T.Buffer(({n}, {m}), "float32")):
    Y = T.alloc_buffer(({n}, {m}))
    for t in range(2):
        for i, j in T.grid({first}, {m}):
            with T.block("early"):
                vi = T.axis.spatial({n}, i)
                vj = T.axis.spatial({m}, j)
                T.where({condition})
                Y[vi, vj] = A[vi, vj]
        for i, j in T.grid({n}, {m}):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = Y[vi, vj]
        for i, j, k in T.grid({n}, {m}, 3):
            with T.block("late"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vj]
"""


@pytest.mark.parametrize(
    ("n", "m", "first", "condition"),
    [
        ("4", "8", "2", "True"),
        ("4", "8", "4", "j < 7"),
        ("120", "210", "119", "True"),
        ("120", "210", "120", "i + j != 0"),
        ("4096", "8192", "0", "True"),
        ("4096", "8192", "4095", "True"),
        ("4096", "8192", "4096", "j != 8191"),
    ],
)
def test_elements_that_only_a_later_nest_writes(n: str, m: str, first: str, condition: str) -> None:
    func = from_source(LATE.format(n=n, m=m, first=first, condition=condition))
    assert [one.message for one in check(func).refuted] == ["buffer Y is read before it is written"]
    with pytest.raises(BuildError, match="buffer Y is read before it is written"):
        te_sched.build(func)
    te_sched.build(from_source(LATE.format(n=n, m=m, first=n, condition="True")))
