"""The index of loops and blocks, and what primitives change in it."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import HandleError
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import Evaluate, For, SeqStmt
from te_sched.ir.visitor import replace
from te_sched.tensorir.state import (
    BlockIndexDraft,
    BlockKey,
    exchanged,
    foreign,
    missing,
    sequence,
    with_block,
)
from te_sched.trace.drafts import Changes
from tests.tensorir.programs import MATMUL, OTHERS
from tests.tensorir.schedules import scheduled


def keys_of(sch: Any) -> dict[str, BlockKey]:
    return {key.name: key for key in sch.keys.values()}


def test_loops_and_blocks_around() -> None:
    sch = scheduled(MATMUL)
    keys, (i, j, k) = keys_of(sch), [loop.key for loop in sch.get_loops("C")]
    assert [*sch.around(keys["C"])] == [k, j, i, keys["root"]]
    assert sch.loops_above(keys["C"]) == [i, j, k]
    assert sch.loops_above(k) == [i, j]
    assert [sch.scope(key) for key in (i, keys["C"], keys["root"])] == [*[keys["root"]] * 2, None]
    assert sch.blocks_of(keys["root"]) == [keys["C"], keys["D"]]
    assert sch.blocks_of(j) == sch.blocks_in(sch.loop(j)) == [keys["C"]]
    assert {*sch.blocks_below(keys["root"]).values()} == {*keys.values()}
    assert all(sch.key_of(sch.nodes[key]) is key for key in sch.nodes)


def test_functions_of_loops_and_blocks() -> None:
    sch = scheduled(OTHERS["two functions"])
    for name in ("f", "g"):
        block = sch.get_block("B", name)
        (loop,) = sch.get_loops(block)
        assert sch.function_of(block.key) == sch.function_of(loop.key) == name


def draft_of(sch: Any) -> BlockIndexDraft:
    return BlockIndexDraft(sch, Changes(sch, None))


def test_blocks_that_continue_others_keep_their_keys() -> None:
    sch = scheduled(MATMUL)
    keys, (i, j, k) = keys_of(sch), [loop.key for loop in sch.get_loops("C")]
    draft, links = draft_of(sch), {}
    new = with_block(sch.realize(keys["C"]), links, name_hint="E")
    draft.replace(i, replace(sch.loop(j), body=new), links, "they are gone")
    assert draft.realize(keys["C"]) is new
    assert [*draft.around(keys["C"])] == [j, keys["root"]]
    assert (i in draft.nodes, k in draft.nodes) == (False, False)
    assert (draft.fates[i], draft.fates[k]) == ("they are gone", "they are gone")
    assert draft.functions["main"].body.block.body.seq[0] is draft.loop(j)
    assert i in sch.nodes  # until the draft is committed
    draft.commit()
    assert i not in sch.nodes
    with pytest.raises(HandleError, match=r"loop i is no longer in the program\n(.|\n)*they are"):
        raise missing(sch, i, "i", "loop")


def test_blocks_without_a_link_are_new() -> None:
    sch = scheduled(MATMUL)
    key = keys_of(sch)["C"]
    draft = draft_of(sch)
    draft.replace(key, with_block(sch.realize(key), {}, name_hint="E"))
    (loop,) = {draft.parents[other] for other in draft.keys.values() if other.name == "E"}
    assert loop is sch.get_loops("C")[2].key
    assert key not in draft.nodes


def test_a_block_that_is_not_changed_is_the_same() -> None:
    sch = scheduled(MATMUL)
    links: dict[object, object] = {}
    node = sch.realize(keys_of(sch)["C"])
    assert with_block(node, links, init=node.block.init) is node
    assert links == {}
    i = sch.get_loops("C")[0].key
    around, inner = sch.loop(i), sch.loop(i).body
    other = Evaluate(IntImm(0))
    assert exchanged(around, inner, other, links).body is other
    assert isinstance(exchanged(around, inner, inner, links), For)


def test_sequences_are_flat() -> None:
    first, second, third = [Evaluate(IntImm(value)) for value in (1, 2, 3)]
    assert sequence(None, first) is first
    assert sequence(first, None, SeqStmt((second, third))).seq == (first, second, third)


def test_handles_of_other_schedules() -> None:
    sch, other = scheduled(MATMUL), scheduled(MATMUL)
    error = missing(sch, other.get_loops("C")[0].key, "i", "loop")
    assert error.fault == foreign("i", "loop").fault == "loop i belongs to another schedule"
