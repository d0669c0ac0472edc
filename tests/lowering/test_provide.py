"""What a compute stage does inside of its loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from te_sched import te
from te_sched.ir import ops
from te_sched.ir.expr import BufferLoad, CommReducer, FloatImm, IntImm, Var
from te_sched.ir.stmt import LetStmt
from te_sched.ir.visitor import statements
from te_sched.lowering.provide import combine_into, first_reduction_level
from tests.lowering.build import temporary
from tests.lowering.structure import structure
from tests.schedule.programs import product

A, B = temporary("A", 8), temporary("B", 8)
ZERO = FloatImm(0.0, "float32")


def reducer(*results: str) -> CommReducer:
    """A reducer whose results are named: "sum" and "other" (of the other component)."""
    left = tuple(Var(f"l{k}", "float32") for k in range(len(results)))
    right = tuple(Var(f"r{k}", "float32") for k in range(len(results)))
    values = tuple(
        left[k] + right[k] if result == "sum" else ops.maximum(left[1 - k], right[k])
        for k, result in enumerate(results)
    )
    return CommReducer(left, right, values, (ZERO,) * len(results))


def stored(combiner: CommReducer) -> list[str]:
    places = [BufferLoad(buffer, (IntImm(0),)) for buffer in (A, B)][: len(combiner.lhs)]
    made = combine_into(combiner, places, [FloatImm(2.0, "float32")] * len(places))
    return [
        f"let {node.var.name}" if isinstance(node, LetStmt) else node.buffer.name
        for node in statements(made)
        if isinstance(node, LetStmt) or hasattr(node, "buffer")
    ]


def test_components_are_stored_in_order() -> None:
    assert stored(reducer("sum")) == ["A"]
    assert stored(reducer("sum", "sum")) == ["A", "B"]


def test_old_value_is_kept_where_the_next_component_needs_it() -> None:
    assert stored(reducer("sum", "other")) == ["let B.next", "A", "B"]


def test_loops_outside_of_the_reduction() -> None:
    p = product()
    stage, op = p.s[p.C], p.C.op
    assert first_reduction_level(stage, op) == (2, frozenset([p.k]))
    outer, inner = stage.split(p.k, factor=4)
    stage.reorder(outer, *op.axis, inner)
    assert first_reduction_level(stage, op) == (0, frozenset([p.k, outer, inner]))


def test_fused_axis_is_not_of_the_reduction_alone() -> None:
    p = product()
    fused = p.s[p.C].fuse(p.C.op.axis[1], p.k)
    level, pure = first_reduction_level(p.s[p.C], p.C.op)
    assert level == 1
    assert fused not in pure


def test_reduction_starts_inside_of_the_loops_that_it_shares() -> None:
    p = product()
    stage = p.s[p.C]
    stage.reorder(p.C.op.axis[0], p.k, p.C.op.axis[1])
    assert structure(p.s, [p.A, p.B, p.D]).startswith("[i*16 [j.init*8 C; k*32 j*8 C]; ")


def test_threads_combine_their_parts() -> None:
    p = product()
    s = te.create_schedule(p.C.op)
    s[p.C].bind(p.k, te.thread_axis("threadIdx.x"))
    text = str(te_sched.lower(s, [p.A, p.B, p.C], stop_after="schedule_ops"))
    assert "T.tvm_thread_allreduce(T.uint32(1), A[i, threadIdx_x] * B[threadIdx_x, j], " in text
    assert "if threadIdx_x == 0:" in text


def test_a_cached_reduction_combines_by_its_own_axes() -> None:
    X = te.placeholder((10,), name="X")

    def row(n: Any) -> Any:
        k = te.reduce_axis((0, n), name="k")
        total = te.comm_reducer(
            lambda x, y: te.max(x + y, n.astype("float32")), lambda dtype: te.const(0, dtype)
        )
        return total(X[k], axis=k)

    Y = te.compute((10,), row, name="Y")
    s = te.create_schedule(Y.op)
    s.cache_write(Y, "local")
    values, out = np.linspace(-3, 3, 10, dtype="float32"), np.zeros(10, "float32")
    te_sched.build(s, [X, Y])(values, out)
    expected = []
    for n in range(10):
        so_far = np.float32(0)
        for value in values[:n]:
            so_far = max(so_far + value, np.float32(n))
        expected.append(so_far)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
