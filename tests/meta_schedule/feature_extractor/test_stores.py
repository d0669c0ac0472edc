"""What stores of a program read and compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import tir
from te_sched.ir.stmt import BufferStore, PrimFunc
from te_sched.meta_schedule.feature_extractor import stores
from tests.meta_schedule.feature_extractor.rows import (
    features,
    picked,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A[i, 0] / T.exp(C[i])", {"float_divmod": 64, "float_mathfunc": 64}),
        ('T.call_extern("float32", "f", A[i, 0])', {"float_otherfunc": 64}),
        ("T.max(A[i, 0], C[i])", {"float_cmp": 64}),
        ("T.Select(I[i] < 3 and I[i] > 1, A[i, 0], C[i])", {"int_cmp": 128, "bool_op": 64}),
        ("T.if_then_else(i < 64, A[i, 0], C[i])", {"int_cmp": 0, "float_mathfunc": 64}),
        ("T.if_then_else(i * 2 < 64, A[i, 0], C[i])", {"int_cmp": 64, "int_mul": 64}),
        ("A[i // 8 * 8 + i % 8, 0]", {"int_divmod": 128, "int_mul": 64, "int_addsub": 64}),
        ("A[(i * 8 + 3) // 8, 0]", {"int_divmod": 0, "int_mul": 0}),
        ("A[(i * 8 + 3) % 8, 0]", {"int_divmod": 0, "B1.unique_bytes": 4}),
        ("A[T.min(i, 3), 0]", {"B0.unique_bytes": 16}),
        ("A[T.max(i, 60), 0]", {"B0.unique_bytes": 16}),
        ("A[i * i, 0]", {"B0.unique_bytes": 64 * 4}),
        ("A[I[i] * 2, 0]", {"int_mul": 64, "B0.unique_bytes": 64 * 4}),
        ("C[i] + C[63 - i]", {"float_addsub": 64, "B0.unique_bytes": 64 * 4}),
        ('T.Cast("float32", I[i] * I[i])', {"int_mul": 64}),
        ("T.Let(x + x, where={x: A[i, 0]})", {"float_addsub": 64}),
    ],
)
def test_values_have_operations_and_regions(value: str, expected: dict[str, float]) -> None:
    (row,) = features(f"x = T.float32()\nfor i in range(64):\n    B[0, i] = {value}")
    assert {name: row[name] for name in expected} == expected


def test_statements_around_a_store_are_read() -> None:
    (row,) = features("""
        with T.LetStmt(5) as n:
            for i in range(2, 10):
                for j in range(T.min(i, 7)):
                    while C[0] < T.float32(1):
                        if i < 5:
                            B[i + n, j] = A[i, j]
    """)
    assert picked(row, "outer_prod", "num_loops") == (8 * 7, 2)
    assert picked(row, "B0.unique_bytes", "B1.unique_bytes") == (8 * 7 * 4,) * 2


def test_a_view_is_the_buffer_it_is_of() -> None:
    (row,) = features("""
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                T.reads(A[v * 16:v * 16 + 16, 0:64])
                T.writes(B[v, 0:64])
                S = T.match_buffer(A[v * 16:v * 16 + 16, 0:64], (16, 64), offset_factor=1)
                for j in range(16):
                    B[v, j] = S[j, 0]
    """)
    assert picked(row, "B0.unique_bytes", "B0.stride", "B0.none") == (64 * 4, 64, 1)


def test_a_value_that_is_nested_deeply_is_read() -> None:
    (store,) = _of_value(lambda e: _plus_ones(e, 20_000))
    assert store.operations[stores.FLOATS + 1] == 20_000


def _plus_ones(e: Any, count: int) -> Any:
    for _ in range(count):
        e = e + 1.0
    return e


def _of_value(value: Callable[[Any], Any]) -> Any:
    """The features of one store of a value of a loop variable and a buffer's element."""
    i, A = tir.Var("i", "int32"), tir.decl_buffer((64,), "float32", name="A")
    store = BufferStore(A, value(A[i * 3 + 1]), (i,))
    loop = tir.For(i, 0, 16, "serial", store)
    handle = tir.Var("a", "handle")
    return stores.read(PrimFunc((handle,), loop, {handle: A})).stores


def test_shared_expressions_are_counted_as_often_as_they_are_written() -> None:
    def doubled(e: Any) -> Any:
        e = e * 2.0
        return e + e

    (shared,) = _of_value(lambda e: doubled(doubled(e)))
    (written,) = _of_value(lambda e: _unshared(doubled(doubled(e))))
    assert shared.operations == written.operations


def _unshared(e: Any) -> Any:
    if type(e) in (tir.Add, tir.Mul):
        return type(e)(_unshared(e.a), _unshared(e.b))
    return type(e)(e.buffer, e.indices) if type(e) is tir.BufferLoad else e


def test_expressions_that_share_one_many_times_take_linear_time() -> None:
    def shared(e: Any) -> Any:
        for _ in range(60):
            e = e + e
        return e

    (store,) = _of_value(shared)
    assert store.operations[stores.FLOATS + 1] == 2**60 - 1
