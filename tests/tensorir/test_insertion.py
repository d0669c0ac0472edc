"""Places among the statements of loops and blocks."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched import tir
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import Evaluate, SeqStmt
from te_sched.script import from_source
from te_sched.tensorir.insertion import (
    Place,
    common_parent,
    number_in,
    statements_of,
    with_inserted,
)
from tests.tensorir.programs import MATMUL
from tests.tensorir.schedules import scheduled

CONSTANTS = """
@T.prim_func
def f(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    data = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
    B = T.decl_buffer((4,), "float32", data=data)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] + B[vi]
"""


def test_caches_of_constants_are_below_their_declaration() -> None:
    sch = tir.Schedule(from_source(CONSTANTS))
    sch.cache_read("C", 1, "global")
    sch.cache_read("C", 0, "global")
    sch.cache_write("C", 0, "global")
    lines = [line.strip() for line in sch.mod.script().splitlines()]
    heads = [line for line in lines if line.startswith(("B = T.alloc", "for", "with T.block"))]
    assert heads[0].startswith("B = T.allocate_const")
    assert [line for line in heads if "block" in line] == [
        'with T.block("A_global"):',
        'with T.block("B_global"):',
        'with T.block("C"):',
        'with T.block("C_global"):',
    ]
    result = te_sched.nd.array(np.zeros(4, "float32"))
    te_sched.build(sch.mod, target="llvm")["main"](te_sched.nd.array(np.ones(4, "f")), result)
    assert result.numpy().tolist() == [2, 3, 4, 5]


def test_numbers_of_statements() -> None:
    sch = scheduled(MATMUL)
    root, c, d = [sch.get_block(name).key for name in ("root", "C", "D")]
    i, j, k = [loop.key for loop in sch.get_loops("C")]
    assert len(statements_of(sch, root)) == 2
    assert [number_in(sch, root, key) for key in (c, i, d)] == [0, 0, 1]
    assert [number_in(sch, k, c), number_in(sch, j, k)] == [0, 0]
    assert number_in(sch, i, d) is None


def test_the_innermost_loop_around_several_blocks() -> None:
    sch = scheduled(MATMUL)
    sch.reverse_compute_at("D", sch.get_loops("C")[0])
    root, c, d = [sch.get_block(name).key for name in ("root", "C", "D")]
    i, _, k = [loop.key for loop in sch.get_loops("C")]
    assert common_parent(sch, root, [c, d]) is i
    assert common_parent(sch, root, [c]) is k
    assert common_parent(sch, root, [c, i]) is root


def test_statements_are_inserted_or_replaced() -> None:
    sch = scheduled(MATMUL)
    root = sch.get_block("root").key
    first, last = statements_of(sch, root)
    new = SeqStmt((Evaluate(IntImm(1)), Evaluate(IntImm(2))))
    links: dict[object, object] = {}
    node = with_inserted(sch, Place(root, 1), new, links)
    assert node.block.body.seq == (first, *new.seq, last)
    assert links == {node.block: sch.block(root)}
    assert with_inserted(sch, Place(root, 0), new.seq[0], {}, 2).block.body is new.seq[0]
