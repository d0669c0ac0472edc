"""placeholder, compute and axes: what they make and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import DeclarationError, TruthError


def test_placeholder_defaults():
    made = te.placeholder((4, te.var("n")))
    assert (made.name, made.dtype, made.ndim) == ("placeholder", "float32", 2)
    assert made.op.output(0) is made


def test_compute_names_axes_after_parameters(A):
    def names(f, shape=(4, 5), **more):
        return [axis.var.name for axis in te.compute(shape, f, **more).op.axis]

    assert names(lambda y, x: A[y, x]) == ["y", "x"]
    assert names(lambda *i: A(*i)) == ["i0", "i1"]
    assert names(lambda y, *i: A(y, *i)) == ["y", "i0"]
    assert names(lambda *i: A(*i), varargs_names=["p", "q"]) == ["p", "q"]
    assert names(lambda: A[0, 0], shape=()) == []


def test_compute_of_several_values(A):
    total, double = te.compute((4,), lambda i: (A[i, 0], A[i, 1] * 2), name="B")
    assert (total.name, double.name) == ("B.v0", "B.v1")
    assert total.op is double.op


def test_compute_of_a_constant_has_its_type():
    assert te.compute((2,), lambda i: 3).dtype == "int32"
    assert te.compute((2,), lambda i: 3.0).dtype == "float32"


@pytest.mark.parametrize("extent", [0, 1, 2**31 - 1])
def test_extreme_extents(extent):
    assert te.compute((extent,), lambda i: i).op.axis[0].dom.extent.value == extent


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ((-1,), "an extent of "),
        ((2.5,), "an extent of "),
        (("n",), "integer"),
        ("n", "tuple"),
    ],
)
def test_placeholder_rejects_shape(shape, match):
    with pytest.raises(DeclarationError, match=match):
        te.placeholder(shape)


@pytest.mark.parametrize("dtype", ["float33", "int4096", "", "A"])
def test_placeholder_rejects_dtype(dtype):
    with pytest.raises(DeclarationError, match="unknown data type"):
        te.placeholder((4,), dtype)


@pytest.mark.parametrize(
    ("shape", "function", "match"),
    [
        ((4, 5), lambda i: i, "the shape of te.compute has 2 dimensions but its function t"),
        ((4,), lambda i: None, "the function of te.compute returns None, expected an expres"),
        (
            (4,),
            lambda i: "text",
            "the function of te.compute returns a str, expected a numeri",
        ),
        ((4,), lambda i: [], "the function of te.compute returns an empty tuple"),
        ((4,), lambda i: {}, "a dict cannot be used in an expression"),
        ((4,), lambda i: 1 if i == 0 else 2, "known only when the program runs"),
        ((4,), 3, "the function of te.compute is 3, expected a function of the"),
    ],
)
def test_compute_rejects(shape, function, match):
    with pytest.raises(DeclarationError, match=match):
        te.compute(shape, function)


def test_errors_name_the_users_line(A):
    with pytest.raises(DeclarationError, match=r"where: .*test_declare\.py:\d+"):
        te.compute((4,), lambda i: A[i])


def test_comparing_axes_in_a_function_is_no_truth_value():
    k, r = te.reduce_axis((0, 2)), te.reduce_axis((0, 2))
    with pytest.raises(DeclarationError, match="known only when the program runs"):
        te.compute((4,), lambda i: 1 if k == r else 0)


def test_reduce_axis_and_thread_axis():
    k = te.reduce_axis((2, te.var("n", "int64")), name="k")
    assert (k.kind, k.dom.min.value, k.var.dtype) == ("CommReduce", 2, "int64")
    t = te.thread_axis((0, 4), "vthread", name="v")
    assert (t.kind, t.var.name, t.dom.extent.value) == ("ThreadIndex", "v", 4)
    assert te.thread_axis("threadIdx.x").dom is None


@pytest.mark.parametrize("dom", [5, (1, 2, 3), (3, 1), (0, 2.5), ("a", 1)])
def test_reduce_axis_rejects(dom):
    with pytest.raises(DeclarationError, match=r"(domain|bound) of reduce_axis k"):
        te.reduce_axis(dom, "k")


def test_thread_axis_rejects_no_tag():
    with pytest.raises(DeclarationError, match="a thread axis needs a tag"):
        te.thread_axis(name="x")


def test_parts_of_shapes_and_axes_are_added_to_lists():
    A = te.placeholder((2, 3, 4), name="A")
    B = te.compute(A.shape[:-1] + [6], lambda *i: A(*i[:2], i[2] // 2))  # noqa: RUF005
    assert [int(extent) for extent in [9] + B.shape[1:]] == [9, 3, 6]  # noqa: RUF005
    assert B.op.axis[:1] + [B.op.axis[2]] == [*B.op.axis[::2]]  # noqa: RUF005
    assert isinstance(B.shape[1:] + (A.shape[0],), tuple)  # noqa: RUF005


@pytest.mark.parametrize(
    "declare",
    [
        lambda n: te.compute((n,), lambda i: i, name="B"),
        lambda n: te.placeholder((4, n * 2), name="B"),
        lambda n: te.extern((n,), [], lambda ins, outs: None, name="B", dtype="int32"),
        lambda n: te.thread_axis((0, n), "threadIdx.x"),
    ],
)
def test_extents_reject_data(declare):
    counts = te.placeholder((1,), "int32", name="N")
    with pytest.raises(DeclarationError, match="an extent of "):
        declare(counts[0])


HALF = "a\ud800b"


@pytest.mark.parametrize(
    "declare",
    [
        lambda: te.placeholder((8,), name=HALF),
        lambda: te.compute((8,), lambda i: i, name=HALF),
        lambda: te.compute((8,), lambda i: i, tag=HALF),
        lambda: te.compute((8,), lambda *i: i[0], varargs_names=[HALF]),
        lambda: te.reduce_axis((0, 8), name=HALF),
        lambda: te.thread_axis(HALF),
        lambda: te.thread_axis((0, 8), HALF, "name"),
        lambda: te.var(HALF),
        lambda: tir.decl_buffer((8,), name=HALF),
        lambda: tir.Var(HALF, "int32"),
        lambda: tir.call_extern("int32", HALF),
        lambda: tir.call_packed(HALF),
        lambda: tir.StringImm(HALF),
    ],
)
def test_names_reject_halves_of_characters(declare) -> None:
    with pytest.raises(DeclarationError, match=r"a\\ud800b(.|\n)*a lone surrogate"):
        declare()


def test_call_packed_rejects_what_is_no_name() -> None:
    with pytest.raises(DeclarationError, match="is b'name', expected a str"):
        tir.call_packed(b"name")


@pytest.mark.parametrize(
    ("declare", "fault"),
    [
        (lambda: te.placeholder((-1,)), "an extent of te.placeholder must not be negative"),
        (lambda: te.placeholder((-1,), name="A"), "an extent of placeholder A must not be"),
        (lambda: te.extern((4,), [], lambda ins, outs: 3), "te.extern needs a dtype"),
        (lambda: te.reduce_axis((0, -4)), "the domain of te.reduce_axis ends before"),
        (lambda: te.reduce_axis((0, -4), "k"), "the domain of reduce_axis k ends before"),
    ],
)
def test_declarations_without_names_are_those_of_the_function(declare, fault):
    with pytest.raises(DeclarationError, match=f"^{fault}"):
        declare()


def test_a_shape_rejects_a_tensor() -> None:
    A = te.placeholder((4, 4), name="A")
    with pytest.raises(DeclarationError, match=r"is a tensor, .*(.|\n)*give its shape: A.shape"):
        te.compute(A, lambda i, j: A[i, j])


def test_a_condition_is_refused_with_the_scope_of_a_builder() -> None:
    ib = tir.ir_builder.create()
    with ib.for_range(0, 8, name="i") as i, pytest.raises(TruthError, match=r"ib.if_scope\("):
        bool(i < 4)


def test_numpy_data_types_and_shapes_are_taken() -> None:
    for dtype in (np.float32, np.dtype("float32"), "float32"):
        assert te.placeholder(np.array([2, 3]), dtype=dtype).dtype == "float32"
        assert te.const(1, dtype).dtype == "float32"
    assert te.placeholder((2,), dtype=bool).dtype == te.placeholder((2,), "uint1").dtype == "bool"
    assert te.reduce_axis(te_sched.Range(te.const(0), te.const(3))).dom.extent.value == 3
    assert te.reduce_axis(te_sched.Range(0, 3)).dom.extent.value == 3  # type: ignore[arg-type]
