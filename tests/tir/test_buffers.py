"""The offsets of elements of buffers."""

from __future__ import annotations

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError


def texts(offsets: list[tir.PrimExpr]) -> list[str]:
    return [str(one) for one in offsets]


def test_offset_is_simplified() -> None:
    m, n = te.size_var("m"), te.size_var("n")
    A = tir.decl_buffer((m, n), elem_offset=100)
    assert texts(A.offset_of([2, 3])) == ["n * 2 + 103"]
    strided = tir.decl_buffer((m, n), strides=(n + 1, 2))
    assert texts(strided.offset_of([1, 3])) == ["n + 7"]


def test_offset_joins_quotients_and_remainders() -> None:
    m, n, i, j = te.size_var("m"), te.size_var("n"), te.size_var("i"), te.size_var("j")
    A = tir.decl_buffer((m, n))
    assert texts(A.offset_of([i // n + j // n, i % n + j % n])) == ["i + j"]
    B = tir.decl_buffer((1, 14, 14, 1024))
    x = i * 49 + j * 28
    places = [x // 14 // 14, x // 14 % 14, (i * 7) % 14, j % 1024]
    assert texts(B.offset_of(places)) == ["i * 50176 + j * 28672 + j % 1024"]


def test_offset_has_an_index_for_each_physical_dimension() -> None:
    i, j = te.var("i"), te.var("j")
    A = tir.decl_buffer((4, 16, 32), axis_separators=[2])
    assert texts(A.offset_of([i, j, 3])) == ["i * 16 + j", "3"]
    flat = A.get_flattened_buffer()
    tir_shape = [extent.value for extent in flat.shape]
    assert (tir_shape, flat.axis_separators) == ([64, 32], (1,))
    assert flat.get_flattened_buffer().shape == flat.shape


def test_a_flat_buffer_is_itself() -> None:
    flat = tir.decl_buffer((16,))
    assert flat.get_flattened_buffer() is flat


def test_offset_rejects_other_numbers_of_indices() -> None:
    with pytest.raises(DeclarationError, match="2 dimensions but 1 index"):
        tir.decl_buffer((4, 4)).offset_of([1])
