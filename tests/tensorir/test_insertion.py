"""Blocks are inserted where the memory that they access is declared."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched import tir
from te_sched.script import from_source

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
