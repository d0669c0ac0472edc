"""The parameters whose memory a function writes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.written_parameters import written_parameters
from te_sched.script import tir as T


@T.prim_func
def stores(a: T.handle, b: T.handle, n: T.int32):
    A, B = T.match_buffer(a, (8,), "float32"), T.match_buffer(b, (8,), "float32")
    for i in range(8):
        B[i] = A[i] + T.float32(1)


@T.prim_func
def through_a_view(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi])
            T.writes(A[vi, 0:8])
            row = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)
            for j in range(8):
                row[j] = B[vi]


@T.prim_func
def by_a_pointer(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.evaluate(T.call_extern("int32", "f", A.access_ptr("w"), B.access_ptr("r")))


@T.prim_func
def given_away(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.evaluate(T.call_extern("int32", "f", A.data, B.data))


def _written(func: Any) -> list[str]:
    return sorted(func.buffer_map[one].name for one in written_parameters(func))


def test_stores_write_parameters() -> None:
    assert _written(stores) == ["B"]


def test_stores_to_views_write_parameters() -> None:
    assert _written(through_a_view) == ["A"]


@pytest.mark.parametrize(("func", "expected"), [(by_a_pointer, ["A"]), (given_away, [])])
def test_external_functions_write_what_they_declare(func: Any, expected: list[str]) -> None:
    assert _written(func) == expected
