"""Buffers that are read in iterations of a loop in which no block writes them."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.config import TO_RUN
from te_sched.ir.stmt import For
from te_sched.ir.visitor import statements
from te_sched.lowering.blocks.conditional_writes import ConditionalWrites
from te_sched.lowering.blocks.place_allocations import place_allocations
from te_sched.script import from_source


@pytest.mark.parametrize(
    ("written", "read", "is_inside"),
    [
        ("i < 3", "i < 2", True),
        ("i < 2", "i < 3", False),
        ("i < 3", "i < 3 and j < 4", True),
        ("i * 8 + j < 24", "i < 4", True),
    ],
)
def test_conditions_of_readers_and_writers(written: str, read: str, is_inside: bool) -> None:
    source = f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(4):
        for j in range(8):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                T.where({written})
                C[vj] = A[vj] + T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where({read})
                B[vi, vj] = C[vj]
"""
    text = str(place_allocations(from_source(source), TO_RUN))
    assert (text.index("C = T.alloc_buffer") > text.index("for i in")) == is_inside


def test_buffers_without_conditions_stay() -> None:
    body = from_source(
        "@T.prim_func\ndef main(A: T.Buffer((8,))):\n    for i in range(8):\n        A[i] = 0.0"
    )
    path = tuple(one for one in statements(body.body) if type(one) is For)
    (buffer,) = body.buffer_map.values()
    writes = ConditionalWrites(TO_RUN)
    writes.note(buffer, writes=True)
    writes.note(buffer, writes=False)
    assert writes.outside(buffer, path) is path


def test_buffers_stay_in_loops_of_threads() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
    C = T.alloc_buffer((8,), scope="local")
    for i in T.thread_binding(4, thread="threadIdx.x"):
        for j in range(8):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                T.where(i < 1)
                C[vj] = A[vj] + T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vj]
"""
    text = str(place_allocations(from_source(source), TO_RUN))
    assert text.index("C = T.alloc_buffer") > text.index("for i in")


def test_a_statement_that_writes_once_is_enough() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(4):
        if i < 1:
            for j in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, j)
                    C[vj] = A[vj] + T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vj]
"""
    a, b = np.arange(8, dtype="float32"), np.zeros((4, 8), "float32")
    te_sched.build(from_source(source))(a, b)
    np.testing.assert_array_equal(b, np.tile(a + 1, (4, 1)))
