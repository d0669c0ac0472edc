"""Blocks that are removed from their scope, with loops that only they need."""

from __future__ import annotations

from te_sched.ir.stmt import For, SeqStmt
from te_sched.tensorir.removal import without
from tests.tensorir.programs import MATMUL
from tests.tensorir.schedules import scheduled


def test_loops_around_the_block_alone_are_removed() -> None:
    sch = scheduled(MATMUL)
    root, c, d = [sch.get_block(name).key for name in ("root", "C", "D")]
    for key, other in ((c, "D"), (d, "C")):
        links: dict[object, object] = {}
        rest = without(sch, key, root, links)
        assert isinstance(rest.block.body, For)
        assert rest.block.body is sch.nodes[sch.get_loops(other)[0].key]
        assert links == {rest.block: sch.block(root)}


def test_loops_around_other_blocks_stay() -> None:
    sch = scheduled(MATMUL)
    sch.reverse_compute_at("D", sch.get_loops("C")[0])
    root, d = sch.get_block("root").key, sch.get_block("D").key
    before = sch.block(root).body
    after = without(sch, d, root, {}).block.body
    assert isinstance(before.body, SeqStmt)
    assert after.loop_var is before.loop_var
    assert after.body is before.body.seq[0]


def test_the_only_block_of_a_scope() -> None:
    sch = scheduled(MATMUL)
    i, *_ = sch.get_loops("C")
    sch.blockize(i)
    group, c = sch.get_block("C_o").key, sch.get_block("C").key
    assert without(sch, c, group, {}) is None
