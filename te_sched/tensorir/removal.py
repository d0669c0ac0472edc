"""Removal of a block from its scope, with loops that only it needs. Must not know any primitive."""

from __future__ import annotations

from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.stmt import For, SeqStmt, Stmt
from te_sched.ir.visitor import PART_FIELDS, replace
from te_sched.tensorir.state import BlockIndex, BlockKey, Key, Node, exchanged, sequence, with_block


def without(
    index: BlockIndex, key: BlockKey, scope: BlockKey, links: dict[Block, Block]
) -> BlockRealize | None:
    """The scope of a block without the block and the loops that have nothing else; None if the
    scope has nothing else. `links` notes the old blocks of new ones.
    """
    node_key: Key = key
    new: Node | None = None
    while node_key is not scope:
        old, parent = index.nodes[node_key], index.parents[node_key]
        assert parent is not None
        around = index.nodes[parent]
        if new is not None:
            new = exchanged(around, old, new, links)
        elif type(around) is For:
            body = _dropped(around.body, old)
            new = None if body is None else replace(around, body=body)
        else:
            assert type(around) is BlockRealize
            body = _dropped(around.block.body, old)
            if body is None:
                return None
            new = with_block(around, links, body=body)
        node_key = parent
    assert type(new) is BlockRealize
    return new


def _dropped(statement: Stmt, old: Stmt) -> Stmt | None:
    """A statement without one of the loops and blocks directly in it; None if nothing is left."""
    if statement is old:
        return None
    if type(statement) is SeqStmt:
        parts = [_dropped(part, old) for part in statement.seq]
        return sequence(*parts) if any(part is not None for part in parts) else None
    if type(statement) is For or type(statement) is BlockRealize:
        return statement
    for name in PART_FIELDS[type(statement)]:
        part = getattr(statement, name)
        if part is not None:
            rest = _dropped(part, old)
            if rest is None:
                return None
            statement = replace(statement, **{name: rest})
    return statement
