"""Loops cut at their guards: what remains in the main part, and that each iteration runs once."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import LoweringError
from te_sched.ir.stmt import For
from te_sched.ir.visitor import walk
from te_sched.lowering.partition_loops import partition_loops
from te_sched.script import tir as T
from te_sched.tir.transform import LoopPartition
from te_sched.transform import PassContext
from tests.sampling import sampled

CONSTANT = {"tir.LoopPartition": {"partition_const_loop": True}}
NEVER = {"tir.LoopPartition": {"partition_const_loop": False}}


def row(n: Any, factor: int, vectorize: bool = False, pragma: bool = False) -> Any:
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor)
    if vectorize:
        s[C].vectorize(inner)
    if pragma:
        s[C].pragma(outer, "loop_partition_hint")
    return s, [A, C]


def text(program: Any, config: Any = None, **options: Any) -> str:
    with PassContext(config=config or {}):
        return te_sched.lower(*program, **options).script().partition("noalias")[2]


def test_symbolic_loops_are_cut_before_the_last_tile():
    lowered = text(row(te.var("n"), 32))
    assert "T.grid(n // 32, 32)" in lowered
    assert lowered.count("if ") == 1
    assert "likely" not in lowered


def test_simple_mode_leaves_guards():
    assert "if T.likely(i_outer * 32 + i_inner < n)" in text(row(te.var("n"), 32), simple_mode=True)


def test_constant_loops_are_whole_unless_asked():
    assert "T.grid(32, 32)" in text(row(1000, 32))
    cut = text(row(1000, 32), CONSTANT)
    assert "T.grid(31, 32)" in cut
    assert "range(8)" in cut
    assert "if " not in cut


def test_loops_of_one_iteration_may_stay():
    keep = {"partition_const_loop": True, "no_unroll_loop_with_extent_one": True}
    assert "T.grid(1, 8)" in text(row(1000, 32), {"tir.LoopPartition": keep})


def test_vectors_of_uneven_rows_are_vectors():
    lowered = text(row(1000, 32, vectorize=True), CONSTANT)
    assert "T.Broadcast(T.float32(1), 32)" in lowered
    assert "C[992:1000]" in lowered


def test_vectors_of_symbolic_rows_are_vectors_before_the_last():
    assert "T.Broadcast(T.float32(1), 32)" in text(row(te.var("n"), 32, vectorize=True))


def test_the_pragma_makes_guards_of_comparisons():
    A = te.placeholder((100,), name="A")
    padded = lambda i: te.if_then_else(te.all(i >= 1, i < 101), A[i - 1], 0.0)  # noqa: E731
    C = te.compute((102,), padded, name="C")
    s = te.create_schedule(C.op)
    assert "if_then_else" in text((s, [A, C]), CONSTANT)
    s[C].pragma(C.op.axis[0], "loop_partition_hint")
    assert "if_then_else" not in text((s, [A, C]), CONSTANT)


@pytest.mark.parametrize(
    ("condition", "is_unrolled"),
    [
        (lambda i, j: i // 2 + j < 3, True),  # bounds i, for no i whatever j is
        (lambda i, j: i % 3 < 1, False),
        (lambda i, j: i + j < 100, False),
    ],
)
def test_a_hinted_loop_without_cut_is_unrolled_where_asked(condition, is_unrolled):
    A = te.placeholder((6, 8), name="A")
    C = te.compute((6, 8), lambda i, j: te.if_then_else(condition(i, j), A[i, j], 0.0), name="C")
    s = te.create_schedule(C.op)
    s[C].pragma(C.op.axis[0], "loop_partition_hint")
    asked = {"unroll_loop_with_partition_hint_no_interval": True, "partition_const_loop": True}
    assert ("for i" not in text((s, [A, C]), {"tir.LoopPartition": asked})) == is_unrolled


def test_a_hinted_loop_is_unrolled_before_its_cut():
    """Before the cut at 3 the guard depends on j; behind it nothing is read."""
    A = te.placeholder((6, 8), name="A")
    C = te.compute((6, 8), lambda i, j: te.if_then_else(i + j < 3, A[i, j], 0.0), name="C")
    s = te.create_schedule(C.op)
    s[C].pragma(C.op.axis[0], "loop_partition_hint")
    asked = {"unroll_loop_with_partition_hint_no_interval": True, "partition_const_loop": True}
    found = text((s, [A, C]), {"tir.LoopPartition": asked})
    assert found.count("for j") == 3
    assert "for i, j in T.grid(3, 8):" in found


def test_the_option_is_a_mapping():
    with pytest.raises(LoweringError, match="must be a mapping, got True"):
        PassContext(config={"tir.LoopPartition": True})


def test_a_program_without_guards_is_the_same_object():
    func = te_sched.lower(*row(64, 32), simple_mode=True)["main"]
    assert partition_loops(func) is func


def test_the_pass_stands_alone():
    before = te_sched.lower(*row(te.var("n"), 32), simple_mode=True, stop_after="simplify")
    after = LoopPartition()(before)["main"]
    assert sum(isinstance(node, For) for node in walk(after.body)) == 4


def stages(rng: random.Random, n: int, m: int) -> Any:
    """A product of matrices or a sum of two, in random uneven tiles."""
    rows = rng.choice([te.var("rows"), n])
    A = te.placeholder((rows, m), name="A")
    B = te.placeholder((m, m), name="B")
    k = te.reduce_axis((0, m), "k")
    if rng.random() < 0.5:
        C = te.compute((rows, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        reference = lambda a, b: a @ b  # noqa: E731
    else:
        C = te.compute((rows, m), lambda i, j: A[i, j] + B[0, j], name="C")
        reference = lambda a, b: a + b[0]  # noqa: E731
    s = te.create_schedule(C.op)
    factors = [2, 3, 4, 5, 7, 8, 16]
    axes = list(C.op.axis)
    if rng.random() < 0.5:
        axes = [s[C].fuse(*axes)]
    leaves = []
    for axis in axes:
        outer, inner = s[C].split(axis, rng.choice(factors))
        if rng.random() < 0.5:
            outer, middle = s[C].split(outer, rng.choice(factors))
            leaves.append([outer, middle, inner])
        else:
            leaves.append([outer, inner])
    summed = []
    if C.op.reduce_axis:
        summed = list(s[C].split(C.op.reduce_axis[0], rng.choice(factors)))
    inner = [axis[-1] for axis in leaves]
    s[C].reorder(*[axis for part in leaves for axis in part[:-1]], *summed, *inner)
    if rng.random() < 0.5:
        s[C].vectorize(inner[-1])
    if len(inner) > 1 and rng.random() < 0.5:
        s[C].unroll(inner[0])
    if rng.random() < 0.5:
        s[C].parallel(leaves[0][0])
    return s, [A, B, C], reference


@pytest.mark.parametrize("config", [{}, CONSTANT, NEVER], ids=["default", "constant", "never"])
@pytest.mark.parametrize("seed", sampled(range(60), 8))
def test_uneven_tiles_compute_what_numpy_does(config: Any, seed: int) -> None:
    rng = random.Random(seed)
    n, m = rng.randint(0, 40), rng.randint(1, 40)
    s, args, reference = stages(rng, n, m)
    with PassContext(config=config):
        run = te_sched.build(s, args, "llvm")
    data = np.random.default_rng(seed)
    a, b = data.random((n, m)).astype("float32"), data.random((m, m)).astype("float32")
    c = np.full((n, m), np.nan, "float32")
    run(a, b, c)
    np.testing.assert_allclose(c, reference(a, b), rtol=1e-4)


@T.prim_func
def join(A: T.Buffer((12,), "int32")):
    for i in T.serial(12, annotations={"pragma_loop_partition_hint": 1}):
        if i >= 9:
            A[i] = i * 3
        if i >= 6 and i < 9:
            A[i] = i * 2
        if i < 6:
            A[i] = i


@T.prim_func
def point(A: T.Buffer((12,), "int32")):
    for i in T.serial(12, annotations={"pragma_loop_partition_hint": 1}):
        if i == 7:
            A[i] = 100
        else:
            A[i] = i


@pytest.mark.parametrize(
    ("func", "extents", "values"),
    [
        (join, [6, 3, 3], [0, 1, 2, 3, 4, 5, 12, 14, 16, 27, 30, 33]),
        (point, [7, 4], [0, 1, 2, 3, 4, 5, 6, 100, 8, 9, 10, 11]),
    ],
)
def test_loops_with_hints_are_cut_where_guards_exclude_each_other(func, extents, values):
    options = {"partition_const_loop": True, "unroll_loop_with_partition_hint_no_interval": True}
    module = te_sched.IRModule({"main": func})
    with PassContext(config={"tir.LoopPartition": options}):
        for one in ("LowerOpaqueBlock", "FlattenBuffer", "LoopPartition", "Simplify"):
            module = getattr(te_sched.tir.transform, one)()(module)
    loops = [node for node in module["main"].body.seq if isinstance(node, te_sched.tir.For)]
    assert [loop.extent.value for loop in loops] == extents
    assert "if" not in str(module)
    assert {loop.kind for loop in loops} == {"serial"}
    out = te_sched.nd.array(np.zeros(12, "int32"))
    te_sched.build(module["main"])(out)
    assert out.numpy().tolist() == values
