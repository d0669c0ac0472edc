"""What a hostile or clumsy user may write: every mistake is a te_sched error in four parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, te, tir
from te_sched.errors import InternalError, TeSchedError

A = te.placeholder((8, 8), name="A")
B = te.placeholder((8,), name="B")
K = te.reduce_axis((0, 8), name="k")
C = te.compute((8,), lambda i: B[i] + 1, name="C")


def refused(action: Callable[[], Any], match: str) -> None:
    """The action fails with a four-part error that points here."""
    with pytest.raises(TeSchedError, match=match) as caught:
        action()
    error = caught.value
    assert not isinstance(error, InternalError)
    assert all((error.what, error.why, error.cure))
    assert "test_bad_input.py:" in error.where


def element(body: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: te.compute((8,), body, name="D")


def reduction(combine: Any, identity: Any, value: Any = None) -> Callable[[], Any]:
    def declare() -> Any:
        reducer = te.comm_reducer(combine, identity)
        source = (lambda i: A[i, K]) if value is None else value
        return te.compute((8,), lambda i: reducer(source(i), axis=K))

    return declare


DECLARATIONS: dict[str, tuple[Callable[[], Any], str]] = {
    "shape bytes": (lambda: te.placeholder(b"ab"), "a shape is a tuple"),  # type: ignore[arg-type]
    "shape axis": (lambda: te.placeholder((K,)), r"use k\.dom\.extent"),
    "dtype class": (lambda: te.placeholder((4,), dtype=float), "unknown data type"),  # type: ignore[arg-type]
    "dtype int": (lambda: te.const(1, 1), "unknown data type 1"),  # type: ignore[arg-type]
    "dtype no lanes": (lambda: te.placeholder((4,), "float32x0"), "unknown data type"),
    "tag": (lambda: te.compute((8,), lambda i: B[i], tag=3), "a tag is a string"),  # type: ignore[arg-type]
    "attrs": (lambda: te.compute((8,), lambda i: B[i], attrs=3), "known by names"),  # type: ignore[arg-type]
    "varargs_names": (
        lambda: te.compute((8,), lambda *i: B[i], varargs_names=3),  # type: ignore[arg-type]
        "axes have names",
    ),
    "keyword-only": (element(lambda i, *, q: B[i]), "keyword argument q"),
    "power": (element(lambda i: i**2), r"use te\.power"),
    "reflected power": (element(lambda i: 2**i), r"use te\.power"),
    "abs": (element(lambda i: abs(B[i])), r"use te\.abs"),
    "round": (element(lambda i: round(B[i])), r"use te\.round"),
    "int": (element(int), "cast it"),
    "float": (element(lambda i: float(B[i])), "cast it"),
    "max": (element(max), "iteration over the Var i"),
    "len": (element(lambda i: len(B)), "tensor.shape"),
    "iterate tensor": (element(lambda i: list(B)), "iteration over the Tensor B"),
    "sum of tensor": (element(lambda i: sum(B)), r"te\.sum"),
    "iterate slice": (element(lambda i: list(A[i])), "iteration"),
    "iterate buffer": (lambda: list(tir.decl_buffer((4,))), "iteration over the buffer"),
    "range of ints": (lambda: te.thread_axis((0, 4), ["threadIdx.x"]), "the tag"),  # type: ignore[arg-type]
    "thread array": (lambda: te.thread_axis(None, np.array([2, 3])), "the tag says"),  # type: ignore[arg-type]
    "thread name": (lambda: te.thread_axis((0, 4), "threadIdx.x", name=3), "a name is"),  # type: ignore[arg-type]
    "output": (lambda: C.op.output(1), "it has 1 outputs"),
    "reducer type": (
        reduction(lambda x, y: x > y, lambda t: te.const(0, t)),
        "its combiner gives a bool",
    ),
    "reducer identity": (reduction(lambda x, y: x + y, lambda t: 0), "its identity gives an int32"),
    "reducer arity": (
        reduction(
            lambda x, y: (x[0] + y[0], x[1] + y[1]),
            lambda t, u: (te.const(0, t), te.const(0, u)),
        ),
        "its combiner fails",
    ),
    "reducer init": (lambda: te.sum(A[0, K], K, init="x"), "the initial value gives a handle"),
    "extern function": (lambda: te.extern((8,), [A], None), "not a function"),  # type: ignore[arg-type]
    "extern arity": (lambda: te.extern((8,), [A], lambda i: 1), "does not take 2"),
    "extern dtype": (
        lambda: te.extern((8,), [A], lambda i, o: 1, dtype=3),  # type: ignore[arg-type]
        "unknown data type 3",
    ),
    "extern buffers": (
        lambda: te.extern((8,), [A], lambda i, o: 1, out_buffers=3),  # type: ignore[arg-type]
        "they are no buffers",
    ),
    "scan of nothing": (lambda: te.scan([], [], []), "same length"),
    "scan inputs": (lambda: te.scan(C, C, B, inputs=3), "states are tensors"),  # type: ignore[arg-type]
    "intrinsic arity": (lambda: te.decl_tensor_intrin(C.op, lambda i: 1), "does not take 2"),
    "intrinsic binds": (
        lambda: te.decl_tensor_intrin(C.op, lambda i, o: 1, binds={C: 3}),  # type: ignore[dict-item]
        "it is not a buffer",
    ),
    "intrinsic scalars": (
        lambda: te.decl_tensor_intrin(C.op, lambda i, o: 1, scalar_params=[3]),  # type: ignore[list-item]
        "they are variables",
    ),
    "intrinsic defaults": (
        lambda: te.decl_tensor_intrin(C.op, lambda i, o: 1, default_buffer_params={"x": 3}),
        "keyword arguments of decl_buffer",
    ),
    "buffer strides": (lambda: tir.decl_buffer((4,), strides=3), "strides of decl_buffer is 3"),  # type: ignore[arg-type]
    "buffer data": (lambda: tir.decl_buffer((4,), data=3), "what it points to"),  # type: ignore[arg-type]
    "buffer factor": (lambda: tir.decl_buffer((4,), offset_factor="x"), "expected an int"),  # type: ignore[arg-type]
    "buffer name": (lambda: tir.decl_buffer((4,), "float32", 3), "expected a str"),  # type: ignore[arg-type]
    "buffer separators": (
        lambda: tir.decl_buffer((4,), axis_separators=[9]),
        "places between its dimensions",
    ),
}


@pytest.mark.parametrize("case", DECLARATIONS)
def test_declaration_rejects(case: str) -> None:
    refused(*DECLARATIONS[case])


def test_numpy_data_types_and_shapes_are_taken() -> None:
    for dtype in (np.float32, np.dtype("float32"), "float32"):
        assert te.placeholder(np.array([2, 3]), dtype=dtype).dtype == "float32"
        assert te.const(1, dtype).dtype == "float32"
    assert te.placeholder((2,), dtype=bool).dtype == te.placeholder((2,), "uint1").dtype == "bool"
    assert te.reduce_axis(te_sched.Range(te.const(0), te.const(3))).dom.extent.value == 3
    assert te.reduce_axis(te_sched.Range(0, 3)).dom.extent.value == 3  # type: ignore[arg-type]


def lowered(**options: Any) -> Callable[[], Any]:
    return lambda: te_sched.lower(te.create_schedule(C.op), [B, C], **options)


def built(args: Any, target: Any = None, **options: Any) -> Callable[[], Any]:
    return lambda: te_sched.build(te.create_schedule(C.op), args, target, **options)


def huge() -> Any:
    big = te.placeholder((2**16, 2**16), "int8", name="big")
    copy = te.compute((2**16, 2**16), lambda i, j: big[i, j], name="copy")
    return te_sched.build(te.create_schedule(copy.op), [big, copy])


def padded(factor: int) -> Callable[[], Any]:
    def action() -> Any:
        total = te.compute((8,), lambda i: C[i] * 2, name="E")
        s = te.create_schedule(total.op)
        s[C].storage_align(C.op.axis[0], factor, 0)
        return te_sched.build(s, [B, total])

    return action


OTHER = te.compute((8,), lambda i: B[i] * 2, name="OTHER")
WRONG = tir.decl_buffer((8,), "int32")

LOWERING: dict[str, tuple[Callable[[], Any], str]] = {
    "args tensor": (built(B), "no list of arguments"),
    "args int": (built(3), "no list of arguments"),
    "args mapping": (built({B: C}), "no list of arguments"),
    "variable twice": (built([B, C, K.var, K.var]), "given twice"),
    "lost output": (built([B]), "build without the output C"),
    "foreign tensor": (built([B, C, OTHER]), "the schedule does not compute it"),
    "binds": (lowered(binds=3), "it is no mapping"),
    "binds key": (lowered(binds={"A": 3}), "it is no tensor"),
    "binds value": (lowered(binds={B: 3}), "it is not a buffer"),
    "binds dtype": (lowered(binds={B: WRONG}), "the buffer of int32"),
    "binds shape": (lowered(binds={B: tir.decl_buffer((4,))}), "different shapes"),
    "name": (lowered(name=3), "name of lower is 3"),
    "no name": (lowered(name=""), "no name of a function"),
    "target": (built([B, C], ""), "no kind of target"),
    "target quote": (built([B, C], "llvm 'x"), "close all quotes"),
    "mcpu": (built([B, C], "llvm -mcpu=skylak"), "use one like skylake"),
    "mcpu missing": (built([B, C], "llvm -mcpu"), "LLVM knows no such name"),
    "mattr": (built([B, C], "llvm -mattr=avx2"), r"write \+avx2 or -avx2"),
    "mattr unknown": (built([B, C], "llvm -mattr=+foo"), "the feature foo"),
    "more elements than int32": (huge, "4294967296 elements"),
    "padding that wraps to 0": (padded(2**30), "8589934600 elements"),
    "padding that wraps below 0": (padded(2**31 - 1), "elements"),
}


@pytest.mark.parametrize("case", LOWERING)
def test_lowering_and_building_reject(case: str) -> None:
    refused(*LOWERING[case])


def test_bound_buffers_are_arguments() -> None:
    buffer = tir.decl_buffer((8,), name="buffer")
    module = te_sched.build(te.create_schedule(C.op), iter([B, buffer]), binds={C: buffer})
    out = np.zeros(8, "float32")
    module(np.ones(8, "float32"), out)
    np.testing.assert_array_equal(out, 2)


S = te.create_schedule(C.op)

PRIMITIVES: dict[str, tuple[Callable[[], Any], str]] = {
    "factor nan": (lambda: S[C].split(C.op.axis[0], float("nan")), "factor is an integer"),
    "scope axis": (lambda: S[C].set_scope(C.op.axis[0]), "there is no such memory"),  # type: ignore[arg-type]
    "replay": (lambda: S.trace.replay(3), "it is not a schedule"),  # type: ignore[arg-type]
    "align huge": (lambda: S[C].storage_align(C.op.axis[0], 2**70, 0), "factor lies between"),
}


@pytest.mark.parametrize("case", PRIMITIVES)
def test_primitive_rejects(case: str) -> None:
    before = str(S.trace)
    refused(*PRIMITIVES[case])
    assert str(S.trace) == before


def evaluator(**options: Any) -> Callable[[], Any]:
    return lambda: built([B, C])().time_evaluator("main", te_sched.cpu(), **options)


RUNNING: dict[str, tuple[Callable[[], Any], str]] = {
    "device": (lambda: nd.empty((4,), device=3), "3 is no device"),  # type: ignore[arg-type]
    "shape": (lambda: nd.empty("x"), "an extent is an int"),
    "float extent": (lambda: nd.empty((1.5,)), "an extent is an int"),
    "no shape": (lambda: nd.empty(None), "an extent is an int"),
    "ragged": (lambda: nd.array([[1], [1, 2]]), "rows of the same length"),
    "copyto": (lambda: nd.array([1]).copyto(3), "no te_sched array"),  # type: ignore[arg-type]
    "register name": (lambda: te_sched.register_func(3), "it is no name"),
    "register value": (lambda: te_sched.register_func("f", 3), "is no function"),  # type: ignore[arg-type]
    "evaluator": (evaluator(number="x"), "expected at least 1"),
    "path": (lambda: te_sched.runtime.load_module(3), "it is no path"),  # type: ignore[arg-type]
    "export": (lambda: built([B, C])().export_library(3), "it is no path"),
}


@pytest.mark.parametrize("case", RUNNING)
def test_runtime_rejects(case: str) -> None:
    refused(*RUNNING[case])


def test_intrinsic_rejects_wrong_number_of_arguments() -> None:
    bad = te.compute((8,), lambda i: tir.call_intrin("float32", "tir.exp"), name="D")
    refused(lambda: te_sched.build(te.create_schedule(bad.op), [bad]), "it takes 1")


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (1, 1)])
def test_fused_axes_may_be_empty(shape: tuple[int, int]) -> None:
    source = te.placeholder(shape, name="source")
    twice = te.compute(shape, lambda i, j: source[i, j] * 2, name="twice")
    s = te.create_schedule(twice.op)
    outer, _ = s[twice].split(s[twice].fuse(*twice.op.axis), 5)
    s[twice].parallel(outer)
    out = np.zeros(shape, "float32")
    te_sched.build(s, [source, twice])(np.ones(shape, "float32"), out)
    np.testing.assert_array_equal(out, 2)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_numbers_are_divided_as_such(dtype: str) -> None:
    high = np.iinfo(dtype).max
    values = np.array([high, high - 1, 200, 7], dtype)
    divisors = np.array([2, high, 130, 3], dtype)
    a, b = te.placeholder((4,), dtype, name="a"), te.placeholder((4,), dtype, name="b")
    for function, expected in ((te.floordiv, values // divisors), (te.floormod, values % divisors)):
        c = te.compute((4,), lambda i, f=function: f(a[i], b[i]), name="c")
        out = np.zeros(4, dtype)
        te_sched.build(te.create_schedule(c.op), [a, b, c])(values, divisors, out)
        np.testing.assert_array_equal(out, expected)


def test_error_points_at_the_user_through_the_standard_library() -> None:
    source = te.placeholder((16,), name="source")
    first = te.compute((16,), lambda i: source[i] + 1, name="first")
    last = te.compute((16,), lambda i: first[i] * 2, name="last")
    s = te.create_schedule(last.op)
    s[first].bind(first.op.axis[0], te.thread_axis((0, 16), "threadIdx.x"))
    s[last].bind(last.op.axis[0], te.thread_axis("blockIdx.x"))
    s[first].compute_at(s[last], last.op.axis[0])
    refused(lambda: te_sched.lower(s, [source, last]), "is bound to threadIdx.x but starts at")
