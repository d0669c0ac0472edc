"""Double buffers: the first fetch, the fetches ahead, the last iteration."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import LoweringError
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.lowering.inject_double_buffer import inject_double_buffer
from te_sched.lowering.simplify import simplify
from te_sched.script import tir as T
from tests.lowering.build import (
    allocate,
    attribute,
    expected,
    function,
    loop,
    read,
    store,
    temporary,
    text,
    var,
)

A = decl_buffer((32,), name="A")
C = decl_buffer((32,), name="C")
B = temporary("B", 4, scope="local")
i, j, k = var("i"), var("j"), var("k")


def buffered() -> PrimFunc:
    fill = attribute(B.data, "double_buffer_scope", 1, loop(j, 4, store(B, read(A, i * 4 + j), j)))
    use = loop(k, 4, store(C, read(B, k), i * 4 + k))
    return function(loop(i, 8, allocate(B, fill, use)), A, C)


def test_next_iteration_is_fetched_while_this_one_runs() -> None:
    assert text(simplify(inject_double_buffer(buffered()))) == expected("""
        B = T.allocate([8], "float32", "local")
        B_1 = T.Buffer((8,), data=B, scope="local")
        for j in range(4):
            B_1[j] = A[j]
        for i_outer in range(7):
            with T.attr(B, "double_buffer_write", 1):
                for j in range(4):
                    B_1[(i_outer + 1) % 2 * 4 + j] = A[i_outer * 4 + j + 4]
            for k in range(4):
                C[i_outer * 4 + k] = B_1[i_outer % 2 * 4 + k]
        for k in range(4):
            C[k + 28] = B_1[k + 4]
    """)


def test_copies_define_variables_of_their_own() -> None:
    found = inject_double_buffer(buffered())
    loops = [node.loop_var for node in statements(found.body) if hasattr(node, "loop_var")]
    assert len(loops) == len(set(loops))


def test_buffer_that_no_loop_fills_is_rejected() -> None:
    fill = attribute(B.data, "double_buffer_scope", 1, store(B, 0.0, 0))
    with pytest.raises(LoweringError, match=r"(?s)double-buffer B: it is not filled.*compute_at"):
        inject_double_buffer(function(allocate(B, fill)))


def test_nothing_to_buffer_is_the_same_function() -> None:
    func = function(loop(i, 8, store(A, 0.0, i)), A)
    assert inject_double_buffer(func) is func


def test_refuses_to_fetch_ahead_what_the_iteration_computes() -> None:
    A = te.placeholder((8, 4), name="A")
    B = te.compute((8, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 4), lambda i, j: B[i, j] * 2.0, name="C")
    D = te.compute((8, 4), lambda i, j: C[i, j] - 1.0, name="D")
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    s[C].double_buffer()
    s[B].compute_at(s[D], D.op.axis[0])
    with pytest.raises(LoweringError, match="it reads B, which is computed in the same iteration"):
        te_sched.lower(s, [A, D])


@pytest.mark.parametrize("extent", [0, 1, 2, 8, 20])
def test_loops_that_turn_out_to_be_empty_do_nothing(extent: int) -> None:
    n = te.var("n")
    A = te.placeholder((2, n), name="A")
    k = te.reduce_axis((0, 2), "k")
    B = te.compute((n,), lambda i: te.sum(A[k, i], axis=k), name="B")
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], nparts=7)[1])
    s[B].double_buffer()
    a, c = np.ones((2, extent), "float32"), np.zeros(extent + 2, "float32")
    te_sched.build(s, [A, C])(a, c[1:-1])
    np.testing.assert_array_equal(c, [0, *[4] * extent, 0])


def run(s: te.Schedule, B: te.Tensor, A: te.Tensor) -> np.ndarray:
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    te_sched.build(s, [A, B])(a, b)
    return b


def test_all_outputs_of_a_stage_are_buffered_together() -> None:
    A = te.placeholder((8,), name="A")
    T0, T1 = te.compute((8,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="T")
    B = te.compute((8,), lambda i: T0[i] - T1[i], name="B")
    s = te.create_schedule(B.op)
    s[T0].compute_at(s[B], s[B].split(B.op.axis[0], factor=2)[0])
    s[T0].double_buffer()
    np.testing.assert_array_equal(run(s, B, A), 1 - np.arange(8))


def test_buffer_may_be_filled_from_another_one() -> None:
    A = te.placeholder((8,), name="A")
    C = te.compute((8,), lambda i: A[i] + 1.0, name="C")
    D = te.compute((8,), lambda i: C[i] * 2.0, name="D")
    B = te.compute((8,), lambda i: D[i] - 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, rest = s[B].split(B.op.axis[0], factor=4)
    middle, _ = s[B].split(rest, factor=2)
    for stage, axis in ((C, outer), (D, middle)):
        s[stage].compute_at(s[B], axis)
        s[stage].double_buffer()
    np.testing.assert_array_equal(run(s, B, A), np.arange(8) * 2 + 1)


def test_loop_that_is_always_empty_stays_empty() -> None:
    A = te.placeholder((0,), name="A")
    C = te.compute((0,), lambda i: A[i] + 1.0, name="C")
    B = te.compute((0,), lambda i: C[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[C].compute_at(s[B], s[B].split(B.op.axis[0], factor=1)[0])
    s[C].double_buffer()
    nodes = statements(te_sched.lower(s, [A, B])["main"].body)
    assert not any(isinstance(node, BufferStore) for node in nodes)


def test_halves_of_changing_size_are_not_built() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    D = te.compute((n,), lambda i: C[i] * 2.0, name="D")
    B = te.compute((n,), lambda i: C[i] + D[n - 1 - i], name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], factor=4)
    s[C].compute_at(s[B], outer)
    s[D].compute_at(s[B], outer)
    s[C].double_buffer()
    te_sched.lower(s, [A, B])
    with pytest.raises(LoweringError, match=r"double-buffer C: its size depends on loop i\.outer"):
        te_sched.build(s, [A, B])


def test_a_buffer_of_64_bit_size_has_two_halves() -> None:
    a, b = te.placeholder((2,), name="A"), te.placeholder((2,), name="B")
    x = te.placeholder((4,), name="X", dtype="uint32")
    c = te.compute((2,), lambda i: a[i] + b[i], name="C")

    def at(i: te.Var) -> te.Expr:
        most = te.max(x[i].astype("int64"), (2 - i * i).astype("int64"))
        return te.min(te.max(most, te.const(0, "int64")), te.const(2, "int64"))

    d = te.compute((4,), lambda i: c[at(i)], name="D")
    s = te.create_schedule(d.op)
    cached = s.cache_read(b, "shared", [c])
    s[c].compute_at(s[d], d.op.axis[0])
    outer, _ = s[c].split(c.op.axis[0], nparts=16)
    s[cached].compute_at(s[c], outer)
    s[cached].double_buffer()
    with te_sched.config.scoped(verify_passes=True, cache=False):
        built = te_sched.build(s, [a, b, x, d])
    with pytest.raises(te_sched.AccessError, match="read C at 2"):  # x[0] is at most 1
        built(*np.ones((2, 2), "float32"), np.zeros(4, "uint32"), np.zeros(4, "float32"))


def test_declared_buffer_has_both_halves() -> None:
    @T.prim_func
    def copy(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")) -> None:
        for i in range(16):
            row = T.decl_buffer((32,), "float32")
            T.attr(row.data, "double_buffer_scope", 1)
            for j in range(32):
                row[j] = A[i, j]
            for j in range(32):
                B[i, j] = row[j]

    lines = str(inject_double_buffer(copy)).splitlines()
    assert [line.strip() for line in lines if "decl_buffer" in line] == [
        "row = T.decl_buffer((64,))"
    ]
