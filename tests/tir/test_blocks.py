"""Constructors of blocks and functions."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError


def test_errors_of_constructors() -> None:
    A = tir.decl_buffer((8, 8), name="A")
    with pytest.raises(DeclarationError, match="a region of buffer A has 1 ranges, expected 2"):
        tir.BufferRegion(A, [tir.Range(0, 4)])
    with pytest.raises(DeclarationError, match=r"a region is \[3, 4\], expected a range for each"):
        tir.BufferRegion(A, [3, 4])
    block = tir.Block([tir.IterVar((0, 8), "i", 0)], [], [], "B", tir.Evaluate(0))
    with pytest.raises(DeclarationError, match="block B has 1 iterators, got 0 values"):
        tir.BlockRealize([], True, block)
    with pytest.raises(DeclarationError, match=r"a parameter of a function is an? int"):
        tir.PrimFunc([3], tir.Evaluate(0))
    with pytest.raises(DeclarationError, match=r"tir_prefix is '2T', expected an identifier"):
        tir.Evaluate(0).script(tir_prefix="2T")


def test_blocks_take_lists_and_numbers() -> None:
    A = tir.decl_buffer((8,), name="A")
    i = tir.IterVar((0, 8), "i", 0)
    write = tir.BufferRegion(A, [tir.Range(0, 8)])
    block = tir.Block([i], [], [write], "B", tir.BufferStore(A, 1.0, [i.var]))
    realize = tir.BlockRealize([3], True, block)
    assert realize.iter_values[0].value == 3
    assert (block.reads, block.writes) == ((), (write,))


def test_a_function_of_buffers_has_handles() -> None:
    A, a = tir.decl_buffer((8,), name="A"), tir.Var("a", "handle")
    func = tir.PrimFunc([a], tir.Evaluate(0), buffer_map={a: A})
    assert func.params == (a,)
    assert func.buffer_map[a] is A
