"""Dependences between blocks."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.ir.blocks import Block
from te_sched.ir.visitor import walk
from te_sched.script import tir as T
from te_sched.tir.block_scope import BlockDependenceInfo, DepKind


@T.prim_func
def matmul(A: T.Buffer((8, 8)), B: T.Buffer((8, 8)), C: T.Buffer((8, 8)), D: T.Buffer((8, 8))):
    for i, j in T.grid(8, 8):
        with T.block("init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.float32(0)
        for k in range(8):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
    for i in range(8):
        with T.block("next"):
            vi = T.axis.spatial(8, i)
            A[vi, 0] = D[vi, 0]


def test_dependences_of_blocks() -> None:
    info = BlockDependenceInfo(te_sched.IRModule({"main": matmul}))
    blocks = {n.name_hint: info.get_sref(n) for n in walk(matmul.body) if isinstance(n, Block)}
    scope = info.get_block_scope(blocks["init"].parent)

    def found(name: str) -> list[tuple[str, str]]:
        return [(d.dst.stmt.name_hint, d.kind.name) for d in scope.get_deps_by_src(blocks[name])]

    assert found("init") == [("update", "RAW"), ("update", "WAW")]
    assert found("update") == [("next", "WAR")]
    (one,) = scope.get_deps_by_dst(blocks["next"])
    assert (one.src is blocks["update"], one.kind) == (True, DepKind.WAR)
    assert str(one) == "tir.Dependency(update -> next, WAR)"
    assert [blocks[n].seq_index for n in ("init", "update", "next")] == [0, 1, 2]


def test_blocks_of_other_programs_have_no_scope() -> None:
    info = tir.BlockDependenceInfo(matmul)
    other = BlockDependenceInfo(matmul)
    root = other.get_sref(matmul.body.block)
    assert info.get_sref(tir.Block([], [], [], "b", tir.Evaluate(0))) is None
    with pytest.raises(DeclarationError, match="is not a block of the program"):
        info.get_block_scope(root)


def test_kinds_of_dependences_have_tvms_numbers() -> None:
    assert [kind.name for kind in DepKind] == ["RAW", "WAW", "WAR", "OPAQUE"]
    assert int(DepKind.OPAQUE) == 3
