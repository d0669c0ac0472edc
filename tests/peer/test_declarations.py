"""Declarations and the folding of operators, against live TVM."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from te_sched import te, tir  # noqa: E402
from te_sched.ir import ops  # noqa: E402
from te_sched.ir.reals import as_reals  # noqa: E402
from te_sched.ir.structural import structural_difference  # noqa: E402
from tests.peer.bridge import from_tvm  # noqa: E402

OURS, PEER = SimpleNamespace(te=te, tir=tir), SimpleNamespace(te=tvm.te, tir=tvm.tir)
DTYPES = (
    "bool", "int8", "int32", "int64", "uint8", "uint32", "uint64",
    "float16", "float32", "float64", "bfloat16", "int32x4", "float32x4",
)  # fmt: skip
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{n: getattr(operator, n) for n in ("add", "sub", "mul", "floordiv", "mod", "lt", "ge", "eq")},
    **{n: getattr(operator, n) for n in ("and_", "or_", "xor", "lshift", "rshift")},
}
NUMBERS = (0, 1, 3, -1, True, 2.5, 0.1, 300, 1 << 40)


def same(make: Callable[[Any], Any]) -> None:
    """Both build the same expression. Where one refuses, there is nothing to compare."""
    try:
        theirs = make(PEER)
        theirs = theirs.asobject() if hasattr(theirs, "asobject") else theirs
    except Exception:
        return
    difference = structural_difference(from_tvm(theirs), as_reals(ops.convert(make(OURS))), True)
    assert difference is None, difference


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_on_all_types(name: str) -> None:
    for a, b in itertools.product(DTYPES, DTYPES):
        same(lambda m, a=a, b=b: OPERATORS[name](m.te.var("a", a), m.te.var("b", b)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_with_python_numbers(dtype: str) -> None:
    for name, number in itertools.product(OPERATORS, NUMBERS):
        if name == "mod" and number == 0:
            continue  # TVM checks the divisor of index types only
        for left, right in (("v", number), (number, "v")):

            def make(m: Any, left: Any = left, right: Any = right, name: str = name) -> Any:
                v = m.te.var("v", dtype)
                sides = [v if side == "v" else side for side in (left, right)]
                return OPERATORS[name](*sides)

            if not (name in ("and_", "or_", "xor", "lshift", "rshift") and number == 1 << 40):
                same(make)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float32", "float64"])
def test_folding_of_constants(dtype: str) -> None:
    functions = ("truncdiv", "floordiv", "indexmod", "div")
    for a, b in itertools.product((-7, 0, 1, 2, 100), (-2, 1, 2, 3)):
        pair = [lambda m, n=n: m.tir.const(n, dtype) for n in (a, b)]
        for function in OPERATORS.values():
            same(lambda m, f=function, p=pair: f(p[0](m), p[1](m)))
        for name in functions:
            same(lambda m, n=name, p=pair: getattr(m.tir, n)(p[0](m), p[1](m)))
        same(lambda m, p=pair: m.te.min(p[0](m), p[1](m)))


def test_functions_of_floats() -> None:
    names = ("exp", "sqrt", "sigmoid", "erf", "floor", "round", "abs", "isnan", "isinf", "isfinite")
    for name, dtype in itertools.product(names, ("float16", "float32", "float64")):
        same(lambda m, n=name, d=dtype: getattr(m.tir, n)(m.te.var("x", d)))
        same(lambda m, n=name, d=dtype: getattr(m.tir, n)(m.tir.const(-2.5, d)))


def statements(m: Any) -> Iterator[Any]:
    """Statements of the builder."""
    n, wide = m.te.var("n"), m.te.var("m", "int64")
    matrix = m.tir.decl_buffer((4, 5), name="B", strides=[m.te.var("s"), 1], offset_factor=4)

    ib = m.tir.ir_builder.create()
    p = ib.buffer_ptr(matrix)
    with ib.for_range(0, n, name="q", kind="parallel") as i, ib.for_range(2, 10) as j:
        p[i, j] = p[i * 5 + j] + 1
    yield ib.get()

    ib = m.tir.ir_builder.create()
    room = ib.allocate("float32", (n, 3), name="room", scope="local")
    x = ib.let("x", n + 1)
    with ib.if_scope(x > 3):
        room[0] = room[n] * 2
    with ib.else_scope(), ib.while_loop(x < 3):
        room[2] = 3.0
    ib.scope_attr(n, "pragma_foo", "s")
    with ib.for_range(0, wide) as i:
        ib.emit(m.tir.call_extern("int32", "f", matrix.access_ptr("rw", offset=n), i))
    yield ib.get()


def test_builder() -> None:
    for theirs, ours in zip(statements(PEER), statements(OURS), strict=True):
        assert structural_difference(from_tvm(theirs), ours, True) is None


def test_buffers_and_pointers() -> None:
    arguments: list[dict[str, Any]] = [
        {"shape": (4, 5)},
        {"shape": (4, 5), "dtype": "float16", "offset_factor": 1, "strides": [8, 1]},
        {"shape": (), "dtype": "int8"},
        {"shape": (6,), "dtype": "bool", "scope": "shared", "data_alignment": 16},
    ]
    for given, mask, more in itertools.product(arguments, ("r", "rw"), ({}, {"offset": 3})):
        same(lambda m, g=given, k=mask, o=more: m.tir.decl_buffer(**g).access_ptr(k, **o))
