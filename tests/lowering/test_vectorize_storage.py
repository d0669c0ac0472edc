"""Memory of vectors, where it is only touched in whole vectors."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Ramp
from te_sched.ir.stmt import BufferStore
from te_sched.lowering.vectorize_storage import vectorize_storage
from tests.lowering.build import allocate, expected, function, loop, read, temporary, text, var

i = var("i")
A = decl_buffer((64,), "float32", "A")


def vector(base: Any, stride: int = 1) -> Ramp:
    return Ramp(base, IntImm(stride), 4)


def copies(*indices: Any, extent: int = 32) -> Any:
    """Memory t, written at one index and read at the others."""
    t = temporary("t", extent)
    first, *others = indices
    parts = [BufferStore(t, read(A, vector(i * 4)), (first,))]
    parts += [BufferStore(A, read(t, index), (vector(i * 4),)) for index in others]
    return function(loop(i, 8, allocate(t, *parts)), A)


def test_aligned_vectors_become_elements() -> None:
    func = vectorize_storage(copies(vector(i * 4), vector(i * 4)))
    assert text(func) == expected("""
        for i in range(8):
            t = T.allocate([8], "float32x4", "global")
            t_1 = T.Buffer((8,), "float32x4", data=t)
            t_1[T.Div(i * 4, 4)] = A[i * 4:i * 4 + 4]
            A[i * 4:i * 4 + 4] = t_1[T.Div(i * 4, 4)]
    """)


@pytest.mark.parametrize(
    "index", [vector(i * 4 + 1), vector(i * 2), vector(i * 4, stride=2), vector(i)], ids=str
)
def test_what_is_not_aligned_stays(index: Any) -> None:
    func = copies(vector(i * 4), index)
    assert vectorize_storage(func) is func


def test_memory_of_a_part_of_a_vector_stays() -> None:
    func = copies(vector(i * 4), vector(i * 4), extent=30)
    assert vectorize_storage(func) is func


def test_parameters_keep_their_types() -> None:
    func = function(loop(i, 8, BufferStore(A, read(A, vector(i * 4)), (vector(i * 4),))), A)
    assert vectorize_storage(func) is func
