"""Allocations with declared buffers, and realized buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from te_sched.ir import stmt as S
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import statements
from te_sched.lowering.blocks.declarations import (
    declare_buffers,
    drop_declarations,
    has_declarations,
    realize_buffers,
)
from te_sched.script import tir as T


@T.prim_func
def through(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i in range(4):
        B = T.decl_buffer((1, 8), "float32")
        for j in range(8):
            B[0, j] = A[i, j] + T.float32(1)
        for j in range(8):
            C[i, j] = B[0, j] * T.float32(2)


@T.prim_func
def aliased(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    data = T.allocate([8], "int32", "global")
    B = T.decl_buffer((8,), "int32", data=data)
    square = T.decl_buffer((2, 4), "int32", data=data)
    for i in range(8):
        B[i] = A[i] * 3
    for i, j in T.grid(2, 4):
        C[i * 4 + j] = square[i, j] + 1


def kinds(func: Any) -> set[type]:
    return {type(one) for one in statements(func.body)}


def test_one_is_the_reverse_of_the_other() -> None:
    realized = realize_buffers(through)
    assert S.BufferRealize in kinds(realized)
    assert not kinds(realized) & {S.Allocate, DeclBuffer}
    assert structural_equal(declare_buffers(realized), through)


def test_gaps_between_rows() -> None:
    @T.prim_func
    def padded(A: T.Buffer((4, 16), "float32")):
        data = T.allocate([4, 17], "float32", "global")
        B = T.decl_buffer((4, 16), "float32", data=data, strides=(17, 1))
        for i, j in T.grid(4, 16):
            B[i, j] = A[i, j]
        for i, j in T.grid(4, 16):
            A[i, j] = B[i, j] + T.float32(1)

    realized = realize_buffers(padded)
    assert S.Allocate not in kinds(realized)
    assert structural_equal(declare_buffers(realized), padded)
    assert "B = T.allocate([68]" in str(te_sched.lower(padded))
    a = np.arange(64, dtype="float32").reshape(4, 16)
    given = a.copy()
    te_sched.build(padded)(given)
    np.testing.assert_array_equal(given, a + 1)


def test_memory_of_several_buffers_stays() -> None:
    assert structural_equal(realize_buffers(aliased), aliased)
    dropped = drop_declarations(aliased)
    assert not has_declarations(dropped.body)
    assert S.Allocate in kinds(dropped)


def test_they_run() -> None:
    a = np.random.default_rng(0).uniform(size=(4, 8)).astype("float32")
    c = np.zeros_like(a)
    te_sched.build(through)(a, c)
    np.testing.assert_allclose(c, (a + 1) * 2, rtol=1e-6)
    b = np.arange(8, dtype="int32")
    d = np.zeros_like(b)
    te_sched.build(aliased)(b, d)
    np.testing.assert_array_equal(d, b * 3 + 1)
