"""Nodes of TensorIR: what they define, and how they compare and print."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import tir
from te_sched.ir.blocks import AllocateConst, Block, whole_buffer
from te_sched.ir.structural import structural_difference, structural_equal
from te_sched.ir.verify import verify
from te_sched.ir.visitor import parts_of, substitute, walk
from te_sched.script import from_source

COPY = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for {i} in range(8):
        with T.block("B"):
            {v} = T.axis.spatial(8, {i})
            B[{v}] = A[{v}] + T.float32({c})
"""


def copy(i: str = "i", v: str = "v", c: str = "1") -> tir.PrimFunc:
    return from_source(COPY.format(i=i, v=v, c=c))


def block_of(func: tir.PrimFunc) -> Block:
    return next(node for node in walk(func.body) if isinstance(node, Block) and node.iter_vars)


def test_names_of_iterators_do_not_count() -> None:
    assert structural_equal(copy(), copy("x", "y"))


def test_first_difference_has_a_path() -> None:
    found = structural_difference(copy(), copy(c="2"))
    assert found is not None
    assert found.startswith("<root>.body.block.body.body.block.body.value.b")


def test_initialization_comes_before_the_body() -> None:
    block = tir.Block([], [], [], "B", tir.Evaluate(1), tir.Evaluate(0))
    assert [part.value.value for part in parts_of(block)] == [0, 1]


def test_iterators_are_substituted_in_regions_too() -> None:
    block = block_of(copy())
    moved = substitute(block, {block.iter_vars[0].var: tir.IntImm("int32", 3)})
    assert str(moved.reads[0]) == "A[3]"


def test_blocks_are_verified() -> None:
    func = copy()
    verify(func, "blocks")
    with pytest.raises(Exception, match="has iterators or an initialization"):
        verify(func, "opaque")


def test_constants_compare_by_their_elements() -> None:
    data = tir.Var("data", tir.PointerType("float32"))

    def constant(value: float) -> AllocateConst:
        return tir.AllocateConst(data, "float32", [2], [1, value], tir.Evaluate(0))

    assert structural_equal(constant(2), constant(2))
    assert not structural_equal(constant(2), constant(3))
    assert constant(2).data.dtype == np.float32


def test_whole_buffer() -> None:
    assert str(whole_buffer(tir.decl_buffer((4, 8), name="A"))) == "A[0:4, 0:8]"
