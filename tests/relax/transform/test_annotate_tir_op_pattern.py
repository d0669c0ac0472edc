"""The pattern kinds of functions of blocks; the expected ones are those of TVM."""

import pytest

from te_sched import IRModule, relax, te, topi
from te_sched.ir import ops
from te_sched.relax.transform.annotate_tir_op_pattern import OpPatternKind as Kind
from te_sched.relax.transform.annotate_tir_op_pattern import (
    annotate_patterns,
    annotated_kind,
    pattern_kind,
)
from te_sched.script import tir as T

MATRIX, VECTOR = ((8, 8), "float32"), ((8,), "float32")


def kind_of(compute, *placeholders):
    tensors = [
        te.placeholder(shape, dtype, f"a{n}") for n, (shape, dtype) in enumerate(placeholders)
    ]
    found = compute(*tensors)
    return pattern_kind(
        te.create_prim_func([*tensors, *(found if isinstance(found, list) else [found])])
    )


def summed(shape, of):
    """of(*indices, k), summed over k < 4."""
    k = te.reduce_axis((0, 4), "k")
    return te.compute(shape, lambda *indices: te.sum(of(*indices, k), axis=k))


CASES = [
    ("add", Kind.ELEMENT_WISE, topi.add, MATRIX, MATRIX),
    ("add of a bias", Kind.ELEMENT_WISE, topi.add, MATRIX, VECTOR),
    ("outer sum", Kind.BROADCAST, topi.add, ((8, 1), "float32"), ((1, 8), "float32")),
    ("squeeze", Kind.BROADCAST, topi.squeeze, ((8, 1, 8), "float32")),
    ("diagonal", Kind.BROADCAST, lambda a: te.compute((8,), lambda i: a[i, i]), MATRIX),
    ("constant", Kind.ELEMENT_WISE, lambda: topi.full((8,), "float32", 0.0)),
    ("transpose", Kind.INJECTIVE, topi.transpose, MATRIX),
    ("first element", Kind.INJECTIVE, lambda a: te.compute((8,), lambda i: a[0]), VECTOR),
    ("a + a.T", Kind.INJECTIVE, lambda a: topi.add(a, topi.transpose(a)), MATRIX),
    ("split", Kind.INJECTIVE, lambda a: topi.split(a, 2, 1), MATRIX),
    ("sum", Kind.REDUCTION, lambda a: topi.sum(a, 1), MATRIX),
    ("sum of exp", Kind.REDUCTION, lambda a: topi.sum(topi.exp(a), 1), MATRIX),
    (
        "matrix by vector",
        Kind.REDUCTION,
        lambda a, b: summed((8,), lambda i, k: a[i, k] * b[k]),
        MATRIX,
        VECTOR,
    ),
    (
        "product of three",
        Kind.REDUCTION,
        lambda a: summed((8, 8), lambda i, j, k: a[i, k] * a[k, j] * a[j, k]),
        MATRIX,
    ),
    ("mean", Kind.OUT_ELEMENT_WISE_FUSABLE, lambda a: topi.divide(topi.sum(a, 1), 8.0), MATRIX),
    ("softmax", Kind.OUT_ELEMENT_WISE_FUSABLE, topi.nn.softmax, MATRIX),
    (
        "window",
        Kind.OUT_ELEMENT_WISE_FUSABLE,
        lambda a: summed((4,), lambda i, k: a[i + k]),
        VECTOR,
    ),
    ("matmul", Kind.OUT_ELEMENT_WISE_FUSABLE, topi.matmul, MATRIX, MATRIX),
    (
        "matmul with a cast",
        Kind.OUT_ELEMENT_WISE_FUSABLE,
        lambda a: summed((8, 8), lambda i, j, k: ops.cast("float64", a[i, k] * a[k, j])),
        MATRIX,
    ),
    ("take", Kind.OPAQUE, lambda a, i: topi.take(a, i, 0), MATRIX, ((5,), "int32")),
]


@pytest.mark.parametrize(
    ("expected", "compute", "placeholders"),
    [pytest.param(kind, compute, places, id=name) for name, kind, compute, *places in CASES],
)
def test_kind_of_an_operator(expected, compute, placeholders):
    assert kind_of(compute, *placeholders) is expected


@T.prim_func(private=True)
def two_stores(A: T.Buffer((8, 8)), B: T.Buffer((8, 8)), C: T.Buffer((8, 8))):
    for i, j in T.grid(8, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
            C[vj, vi] = A[vi, vj]


@T.prim_func(private=True)
def without_iterators(A: T.Buffer((8,)), B: T.Buffer((8,))):
    for i in range(8):
        B[i] = A[7 - i]


@T.prim_func(private=True)
def nothing(A: T.Buffer((8,))):
    T.evaluate(0)


@T.prim_func(private=True)
def external(A: T.Buffer((8,))):
    with T.block("b"):
        T.evaluate(T.call_extern("int32", "f", A.data))


def test_kind_of_written_functions():
    kinds = [pattern_kind(one) for one in (two_stores, without_iterators, nothing, external)]
    assert kinds == [Kind.OPAQUE, Kind.INJECTIVE, Kind.ELEMENT_WISE, Kind.OPAQUE]


def test_known_kinds_are_kept():
    known = two_stores.with_attr("op_pattern", 2)
    module = relax.transform.AnnotateTIROpPattern()(IRModule({"f": known, "g": nothing}))
    assert [module[name].attrs["op_pattern"] for name in "fg"] == [2, 0]


def test_annotated_kinds_are_those_of_functions_of_blocks() -> None:
    a = te.placeholder((4,), name="A")
    func = te.create_prim_func([a, topi.exp(a)])
    plain = IRModule({"f": func})
    module = annotate_patterns(plain)
    assert annotated_kind(module.get_global_var("f"), module) is Kind.ELEMENT_WISE
    assert annotated_kind(plain.get_global_var("f"), plain) is Kind.OPAQUE
    assert annotated_kind("f", module) is Kind.OPAQUE  # a function of the environment
