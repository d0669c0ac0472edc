"""Signatures of compiled functions, and sizes that calls evaluate."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from te_sched.codegen.signature import (
    Dimension,
    Signature,
    SignatureBuilder,
    Symbol,
    calls_of,
    describe,
    evaluate,
    symbols_of,
)
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.argument_sizes import ATTRIBUTE, Size
from tests.codegen.programs import buffer, function

N, M = E.Var("n"), E.Var("m", "int64")
NOTHING = S.Evaluate(E.IntImm(0))
SYMBOLS = [Symbol("n", "int32"), Symbol("m", "int64")]
X, Y = ["symbol", 0], ["symbol", 1]


def signature_of(*arguments: Any, body: S.Stmt = NOTHING, **attrs: Any) -> Signature:
    return SignatureBuilder(function(arguments, body, **attrs), "main", "te_sched_main").signature


def truncated(a: int, b: int) -> int:
    return int(a / b)


@pytest.mark.parametrize(
    ("operator", "compute"),
    [
        *[("+", int.__add__), ("-", int.__sub__), ("*", int.__mul__), ("//", int.__floordiv__)],
        *[
            ("%", int.__mod__),
            ("trunc/", truncated),
            ("trunc%", lambda a, b: a - truncated(a, b) * b),
        ],
        *[
            ("min", min),
            ("max", max),
            ("<", int.__lt__),
            ("==", int.__eq__),
            ("and", lambda a, b: a and b),
        ],
    ],
)
def test_operators_are_those_of_expressions(operator: str, compute: Any) -> None:
    for a, b in itertools.product((-7, -1, 0, 1, 7), (-2, 3)):
        assert evaluate([operator, X, b], [a]) == compute(a, b), (a, b)


@pytest.mark.parametrize(
    ("dimension", "text", "symbols", "value"),
    [
        *[(5, "5", [], 5), (Y, "m", [1], 4), (["+", Y, ["*", X, Y]], "(m + (n * m))", [1, 0], 16)],
        *[
            (["//", 9, X], "(9 // n)", [0], 3),
            (["trunc/", 9, ["-", X, 3]], "(9 / (n - 3))", [0], None),
        ],
        (["if", [">", X, 3], 1, ["min", Y, 9]], "(1 if (n > 3) else min(m, 9))", [0, 1], 4),
        (["if", [">=", X, 3], 1, Y], "(1 if (n >= 3) else m)", [0, 1], 1),
    ],
)
def test_dimensions(dimension: Dimension, text: str, symbols: list[int], value: int | None) -> None:
    assert describe(dimension, SYMBOLS) == text
    assert symbols_of(dimension) == symbols
    assert evaluate(dimension, [3, 4]) == value
    assert evaluate(dimension, [None, None]) == (dimension if isinstance(dimension, int) else None)


def test_arguments_and_the_symbols_in_them() -> None:
    a = buffer("A", [N, M * N, E.Cast("int64", N) + 1], strides=(1, E.Min(M, E.IntImm(2)), 1))
    b = buffer("B", [M], "int8", buffer_type="auto_broadcast")
    scalar, pointer = E.Var("s", "float32"), E.Var("p", "handle")
    signature = signature_of(a, N, b, scalar, pointer)
    kinds = [(p.kind, p.dtype, p.symbol, p.broadcast) for p in signature.parameters]
    assert kinds == [
        *[("buffer", "float32", None, False), ("scalar", "int32", 0, False)],
        *[("buffer", "int8", None, True), ("scalar", "float32", 2, False)],
        ("handle", "handle", None, False),
    ]
    assert signature.parameters[0].shape == [X, ["*", Y, X], ["+", X, 1]]
    assert signature.parameters[0].strides == [1, ["min", Y, 2], 1]
    assert [(s.name, s.passed) for s in signature.symbols] == [
        ("n", False),
        ("m", True),
        ("s", False),
    ]


def test_signatures_travel_as_json() -> None:
    size = Size("the extent of i", N - 1, 0, "why", (N,), most=9)
    ret = S.Evaluate(E.Call("int32", "tir.ret", (N,)))
    signature = signature_of(buffer("A", [N, M]), body=ret, **{ATTRIBUTE: (size,)})
    assert [signature.failure(what, "why", "help") for what in "xyx"] == [1, 2, 1]
    signature.memory, signature.device_id = 2, 1
    assert signature.result == "int32"
    (extent,) = signature.extents
    assert (extent.size, extent.least, extent.loops, extent.most) == (["-", X, 1], 0, [X], 9)
    again = Signature.from_json(json.loads(json.dumps(signature.to_json())))
    assert again == signature


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((buffer("A", [N * 2]),), "the value of n cannot be read from any argument"),
        ((buffer("A", [E.Call("int32", "tir.f", (N,))]), N), "a shape or stride contains"),
        ((E.Buffer(N, "int8", (), (), N + 1, "A"),), "the element offset of buffer A is an expres"),
    ],
)
def test_size_that_a_call_cannot_know_is_refused(arguments: tuple[Any, ...], why: str) -> None:
    with pytest.raises(BuildError, match=f"cannot build function 'main'\n(?s:.*){why}"):
        signature_of(*arguments)


def test_size_that_a_call_cannot_check_is_refused() -> None:
    loaded = E.BufferLoad(buffer("A", [4], "int32"), (E.IntImm(0),))
    unneeded = Size("the extent", loaded, 0, "why", (), needed=False)
    assert not signature_of(N, **{ATTRIBUTE: (unneeded,)}).extents
    with pytest.raises(BuildError, match=r"cannot check the extent, which is A\[0\]\n"):
        signature_of(N, **{ATTRIBUTE: (Size("the extent", loaded, 0, "why", (), needed=True),)})


def test_calls_of_an_intrinsic() -> None:
    calls = [E.Call("int32", f"tir.{name}", (N,)) for name in ("f", "g", "f")]
    body = S.SeqStmt(tuple(map(S.Evaluate, calls)))
    assert calls_of(function([N], body), "tir.f") == [calls[0], calls[2]]
