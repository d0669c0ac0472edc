import pytest

from te_sched import relax, te, tir
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import BufferLoad, FloatImm, IntImm
from te_sched.views.notation import Notation, shortened, value_type

i, j = te.var("i"), te.var("j")
A = te.placeholder((8,), name="A")
text = Notation().text


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (i * (j + 1) - (i - j), "i * (j + 1) - (i - j)"),
        (E.Sub(E.Add(i, IntImm(3)), IntImm(1)), "i + 2"),
        (E.Sub(E.Add(i, IntImm(1)), IntImm(1)), "i"),
        (E.Add(E.Sub(i, IntImm(3)), IntImm(1)), "i - 2"),
        (E.Sub(E.Add(i, j * 8), j * 8), "i"),
        (E.Sub(E.Add(i, j * 8), j * 4), "i + j * 8 - j * 4"),
        (te.floordiv(i, 4) % 3, "i // 4 % 3"),
        (te.all(i < 4, te.any(j > 2, i == j)), "i < 4 and (j > 2 or i == j)"),
        (E.Not(i < 4), "not i < 4"),
        (te.if_then_else(i < 4, A[i], 0.5), "A[i] if i < 4 else 0.5"),
        (tir.Select(i < 4, A[i], FloatImm(2.0)), "A[i] if i < 4 else 2.0"),
        (tir.likely(i < 4), "i < 4"),
        (te.exp(A[i]), "exp(A[i])"),
        (te.max(A[i], 0.0), "max(A[i], 0.0)"),
        (A[i].astype("int8"), "int8(A[i])"),
        ((i & 3) + (j << 2), "(i & 3) + (j << 2)"),
        (~i, "~i"),
        (E.Ramp(i, IntImm(2), 4), "ramp(i, 2, 4)"),
        (E.Broadcast(FloatImm(1.0), 4), "1.0"),
        (tir.call_extern("float32", "f", i), "f(i)"),
        (tir.const(True, "bool"), "True"),
        (E.Let(i, j + 1, i * 2), "let(i = j + 1, i * 2)"),
    ],
)
def test_expressions_are_short(expr, wanted):
    assert text(expr) == wanted


def test_reductions_name_their_axes():
    k, m = te.reduce_axis((0, 4), name="k"), te.reduce_axis((0, 4), name="m")
    B = te.placeholder((4, 4), name="B")
    one = te.compute((1,), lambda x: te.max(B[k, m], axis=[k, m]), name="C").op.body[0]
    assert text(one) == "max(B[k, m], axis=[k, m])"
    where = te.sum(B[k, 0], axis=k, where=k.var < 2)
    assert text(where) == "sum(B[k, 0], axis=k, where=k < 2)"
    first = te.comm_reducer(lambda x, y: x, lambda t: tir.const(0, t), name="first")
    assert text(first(B[k, 0], axis=k)) == "reduce(B[k, 0], axis=k)"


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda old: old + 1.0, "C[i] += 1.0"),
        (lambda old: A[i] + old, "C[i] += A[i]"),
        (lambda old: old * 2.0, "C[i] *= 2.0"),
        (lambda old: old - 2.0, "C[i] = C[i] - 2.0"),
    ],
)
def test_updates_are_written_as_such(make, wanted):
    C = decl_buffer((8,), name="C")
    assert Notation().store(S.BufferStore(C, make(BufferLoad(C, (i,))), (i,))) == wanted


def test_vectors_of_elements_are_slices():
    C = decl_buffer((64,), name="C")
    load = BufferLoad(C, (E.Ramp(i * 8, IntImm(1), 8),))
    assert text(load) == "C[i * 8:i * 8 + 8]"
    assert text(BufferLoad(C, (E.Ramp(i, IntImm(3), 4),))) == "C[i:i + 12:3]"


def test_long_texts_are_cut():
    assert shortened("x" * 10, 10) == "x" * 10
    assert shortened("x" * 11, 10) == "x" * 9 + "…"
    total = A[i]
    for _ in range(60):
        total = total + A[i]
    assert text(total).startswith("A[i] + A[i] + ")
    assert len(text(total)) <= 120


def test_shared_parts_take_no_time():
    value = A[i]
    for _ in range(100):
        value = value * value
    assert "…" in text(value)


n = tir.Var("n", "int64")


@pytest.mark.parametrize(
    ("info", "wanted"),
    [
        (relax.TensorStructInfo((4, n * 2)), "float32[4, n * 2]"),
        (relax.TensorStructInfo((), "int8"), "int8[]"),
        (relax.TensorStructInfo(dtype="float16", ndim=2), "float16[?, ?]"),
        (relax.TensorStructInfo(dtype="float16"), "float16[...]"),
        (relax.TensorStructInfo((4,), ""), "?[4]"),
        (
            relax.TupleStructInfo([relax.TensorStructInfo((4,)), relax.PrimStructInfo("int64")]),
            "(float32[4], int64)",
        ),
        (relax.ShapeStructInfo([4, n]), "shape (4, n)"),
        (relax.ShapeStructInfo(ndim=2), "shape (?, ?)"),
        (relax.FuncStructInfo.opaque_func(), "function"),
        (relax.ObjectStructInfo(), "object"),
    ],
)
def test_types_of_values_of_graphs(info, wanted):
    assert value_type(info) == wanted
