"""What a hostile or clumsy user may write: every mistake is a te_sched error in four parts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import InternalError, TeSchedError

PACKAGE = Path(te_sched.__file__).parent
ERRORS = {
    "TeSchedError",
    "DeclarationError",
    "OperandError",
    "ScheduleError",
    "LoweringError",
    "BuildError",
    "CallError",
}

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
    "thread name": (lambda: te.thread_axis((0, 4), "threadIdx.x", name=3), "a name is"),  # type: ignore[arg-type]
    "output": (lambda: C.op.output(1), "it has 1 outputs"),
    "reducer type": (
        reduction(lambda x, y: x > y, lambda t: te.const(0, t)),
        "its combiner gives a bool",
    ),
    "reducer identity": (reduction(lambda x, y: x + y, lambda t: 0), "its identity gives a int32"),
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
    "buffer strides": (lambda: tir.decl_buffer((4,), strides=3), "with 3"),  # type: ignore[arg-type]
    "buffer data": (lambda: tir.decl_buffer((4,), data=3), "what it points to"),  # type: ignore[arg-type]
    "buffer factor": (lambda: tir.decl_buffer((4,), offset_factor="x"), "no offset_factor"),  # type: ignore[arg-type]
    "buffer name": (lambda: tir.decl_buffer((4,), "float32", 3), "no name"),  # type: ignore[arg-type]
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


def test_every_error_of_the_package_names_a_cure() -> None:
    missing = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id not in ERRORS or any(isinstance(a, ast.Starred) for a in node.args):
                continue
            cure = [k.value for k in node.keywords if k.arg == "cure"] or node.args[2:3]
            if not cure or (isinstance(cure[0], ast.Constant) and not cure[0].value):
                missing.append(f"{path.name}:{node.lineno}")
    assert not missing
