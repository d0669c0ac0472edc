"""What the corpus has no program for: the text is the peer's."""

from __future__ import annotations

from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

import te_sched  # noqa: E402
from tests.peer.differential.outcome import normal  # noqa: E402


def scan_of_two_states(T: Any) -> Any:
    te, m, n = T.te, T.te.var("m"), T.te.var("n")
    X = te.placeholder((m, n), name="X")
    states = [te.placeholder((m, n), name=name) for name in ("s1", "s2")]
    first = [te.compute((1, n), lambda _, i: X[0, i], name=name) for name in ("i1", "i2")]
    mid = te.compute((m, n), lambda t, i: states[0][t - 1, i] * 2, name="mid")
    up = te.compute((m, n), lambda t, i: mid[t, i] + X[t, i], name="up")
    other = te.compute((m, n), lambda t, i: states[1][t - 1, i] * states[0][t - 1, i], name="other")
    made = te.scan(first, [up, other], states, inputs=[X])
    s = te.create_schedule(made[0].op)
    outer, _ = s[up].split(up.op.axis[1], 4)
    s[mid].compute_at(s[up], outer)
    return s, [X, *made]


def extern_in_a_loop(T: Any) -> Any:
    te = T.te

    def body(ins: Any, outs: Any) -> Any:
        ib = T.tir.ir_builder.create()
        a, x, y = (ib.buffer_ptr(one) for one in (*ins, *outs))
        with ib.for_range(0, 8, name="i") as i:
            x[i] = a[7 - i]
            with ib.if_scope(i < 4):
                y[i] = a[i] * 2.0
            with ib.else_scope():
                y[i] = 0.0
        return ib.get()

    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 3, name="B")
    E = te.extern([(8,), (8,)], [B], body, dtype=["float32"] * 2, name="E")
    D = te.compute((4, 8), lambda i, j: E[0][j] + E[1][j] + i, name="D")
    s = te.create_schedule(D.op)
    s[E[0]].compute_at(s[D], D.op.axis[0])
    s[B].compute_at(s[D], D.op.axis[0])
    return s, [A, D]


def tensorize_without_reset(T: Any) -> Any:
    te = T.te
    a, b = te.placeholder((6,), name="a"), te.placeholder((4, 6), name="b")
    k = te.reduce_axis((0, 6), name="k")
    c = te.compute((4,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    view = T.tir.decl_buffer(b.shape, b.dtype, "b", strides=[te.var("s"), 1], offset_factor=1)

    def calls(ins: Any, outs: Any) -> Any:
        pointers = [outs[0].access_ptr("rw"), *[one.access_ptr("r") for one in ins]]
        named = [
            T.tir.call_extern("int32", name, *pointers, ins[1].strides[0]) for name in ("f", "g")
        ]
        return named[0], None, named[1]

    options = {"offset_factor": 1}
    intrin = te.decl_tensor_intrin(c.op, calls, binds={b: view}, default_buffer_params=options)
    A, B = te.placeholder((3, 24), name="A"), te.placeholder((8, 24), name="B")
    k = te.reduce_axis((0, 24), name="k")
    C = te.compute((3, 8), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    (i, _), (jo, ji) = C.op.axis, s[C].split(C.op.axis[1], 4)
    ko, ki = s[C].split(k, 6)
    outer, inner = s[C].split(ko, 2)
    s[C].reorder(i, outer, jo, inner, ji, ki)
    s[C].tensorize(ji, intrin)
    return s, [A, B, C]


def calls_of_an_intrinsic(T: Any) -> Any:
    te, tir = T.te, T.tir
    w, x = te.placeholder((8, 16), name="w"), te.placeholder((16,), name="x")
    k = te.reduce_axis((0, 16), "k")
    z = te.compute((8,), lambda i: te.sum(w[i, k] * x[k], axis=k), name="z")

    def calls(ins: Any, outs: Any) -> Any:
        *inputs, output = [one.access_ptr("rw") for one in (*ins, *outs)]
        whole, update = [tir.call_packed(name, output, *inputs) for name in ("gemv", "add")]
        return whole, tir.call_packed("clear", output), update

    gemv = te.decl_tensor_intrin(z.op, calls, default_buffer_params={"offset_factor": 8})
    A, B = te.placeholder((4, 3, 8, 16), name="A"), te.placeholder((30, 48), name="B")
    r = te.reduce_axis((0, 3), "r")
    doubled = te.compute((30, 48), lambda i, j: B[i, j] * 2, name="doubled")
    C = te.compute(
        (4, 30, 8),
        lambda i, j: gemv(A[i, r, 0:8, 0:16], doubled[j, r * 16 : r * 16 + 16], reduce_axis=r),
        name="C",
    )
    s = te.create_schedule(C.op)
    local = s.cache_write(C, "global")
    i, j, _ = s[C].op.axis
    outer, inner = s[C].split(j, 7)
    s[C].reorder(outer, i, inner)
    s[local].compute_at(s[C], i)
    s[doubled].compute_at(s[local], local.op.reduce_axis[0])
    return s, [A, B, C]


def sparse_rows(T: Any) -> Any:
    te = T.te
    rows, values, columns = (te.size_var(name) for name in ("rows", "values", "columns"))
    D, I = te.placeholder((values,), name="D"), te.placeholder((values,), "int32", name="I")  # noqa: E741
    P, X = te.placeholder((rows + 1,), "int32", name="P"), te.placeholder((columns,), name="X")

    def row(i: Any) -> Any:
        k = te.reduce_axis((0, P[i + 1] - P[i]), "k")
        return te.sum(D[P[i] + k] * X[I[P[i] + k]], axis=k)

    Y = te.compute((rows,), row, name="Y")
    s = te.create_schedule(Y.op)
    s[Y].parallel(Y.op.axis[0])
    return s, [D, I, P, X, Y]


def ragged_extents_computed_in_tiles(T: Any) -> Any:
    te = T.te
    A, L = te.placeholder((6, 10), name="A"), te.placeholder((6,), "int32", name="L")
    half = te.compute((6,), lambda i: L[i] // 2, name="half")
    Y = te.compute((6,), lambda i: te.max(A[i, 0], te.reduce_axis((0, half[i]), "k")), name="Y")
    s = te.create_schedule(Y.op)
    s[half].compute_at(s[Y], s[Y].split(Y.op.axis[0], 4)[0])
    return s, [A, L, Y]


def rearranged(T: Any) -> Any:
    te = T.te
    A = te.placeholder((16, 64), name="A")
    B = te.compute((16, 64), lambda i, j: A[i, j] * 2, name="B")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute((16, 8), lambda i, j: te.sum(B[i, k] * j, axis=k), name="C")
    s = te.create_schedule(C.op)
    *_, inner = s[B].transform_layout(lambda i, j: [j // 4, i, j % 4])
    s[B].vectorize(inner)
    s[C].transform_layout(lambda i, j: [j, i])
    s[A].transform_layout(lambda i, j: [i // 2, te.AXIS_SEPARATOR, j, i % 2])
    return s, [A, C]


def rolling(T: Any) -> Any:
    te = T.te
    A = te.placeholder((12, 14), name="A")
    B = te.compute((10, 14), lambda i, j: A[i, j] + A[i + 2, j], name="B")
    C = te.compute((8, 14), lambda i, j: B[i, j] + B[i + 2, j], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], 4)[0])
    s[B].rolling_buffer()
    return s, [A, C]


def factored_twice(T: Any) -> Any:
    te = T.te
    A = te.placeholder((6, 96), name="A")
    k = te.reduce_axis((0, 96), "k")
    B = te.compute((6,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(k, 8)
    once = s.rfactor(B, inner)
    _, inner = s[once].split(s[once].op.reduce_axis[0], 5)
    s.rfactor(once, inner, 2)
    return s, [A, B]


def conditions_on_memory(T: Any) -> Any:
    te, tir = T.te, T.tir
    A, B = (te.placeholder((8,), "int32", name=name) for name in "AB")
    X, Y = (te.placeholder((8,), name=name) for name in "XY")
    n, ite = te.var("n"), te.if_then_else
    forms = [
        lambda i: ite(X[i] <= Y[i], 1, ite(X[i] > Y[i], 2, 3)),
        lambda i: ite(X[i] < Y[i], ite(Y[i] > X[i], 2, 3), 4),
        lambda i: ite(A[i] <= B[i], 1, ite(A[i] > B[i], 2, 3)),
        lambda i: ite(A[i] < B[i], ite(A[i] <= B[i], 2, 3), 4),
        lambda i: ite(A[i] < n, ite(A[i] < n, 2, 3), 4),
        lambda i: ite(A[i] < 5, ite(A[i] < 7, 2, 3), 4),
        lambda i: ite(n < i, ite(n < i, 2, 3), 4),
        lambda i: tir.Select(A[i] < B[i], tir.Select(A[i] < B[i], 2 + i, i), 4 + i),
        lambda i: X[i] * 0.0 + Y[i] - Y[i] + ite(X[i] + 0.0 < 1.0 + Y[i] * 0.0, X[i], X[i] - Y[i]),
    ]
    outputs = [te.compute((8,), form, name=f"R{number}") for number, form in enumerate(forms)]
    return te.create_schedule([one.op for one in outputs]), [A, B, X, Y, n, *outputs]


PROGRAMS = [
    conditions_on_memory,
    scan_of_two_states,
    extern_in_a_loop,
    tensorize_without_reset,
    calls_of_an_intrinsic,
    sparse_rows,
    ragged_extents_computed_in_tiles,
    rearranged,
    rolling,
    factored_twice,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_the_text_is_that_of_the_peer(program: Any) -> None:
    texts = [one.lower(*program(one), simple_mode=True).script() for one in (te_sched, tvm)]
    assert normal(texts[0]) == normal(texts[1])
