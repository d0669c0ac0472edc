"""Where a block is inserted between its producers and consumers. Must not know any primitive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from te_sched.ir.blocks import AllocateConst, Block, BlockRealize, DeclBuffer
from te_sched.ir.stmt import For, SeqStmt, Stmt
from te_sched.ir.visitor import parts_of, replace
from te_sched.tensorir.state import BlockIndex, BlockKey, Key, Node, with_block


class Place(NamedTuple):
    """A place in the body of a loop or block: before its statement with this number."""

    parent: Key
    number: int


def statements_of(index: BlockIndex, parent: Key) -> tuple[Stmt, ...]:
    """The statements of the body of a loop or block, inside of what declares memory for all."""
    body = _headers_and_body(index, parent)[1]
    return body.seq if type(body) is SeqStmt else (body,)


def _headers_and_body(index: BlockIndex, parent: Key) -> tuple[list[Stmt], Stmt]:
    """The declarations of memory around the statements of a loop or block, and these."""
    node = index.nodes[parent]
    body = node.body if type(node) is For else node.block.body  # type: ignore[union-attr]
    headers: list[Stmt] = []
    while isinstance(body, AllocateConst | DeclBuffer):
        headers.append(body)
        body = body.body
    return headers, body


def with_inserted(
    index: BlockIndex, site: Place, new: Stmt, links: dict[Block, Block], replaced: int = 0
) -> Node:
    """The loop or block of a place, with a statement inserted that replaces some of those there."""
    parts = list(statements_of(index, site.parent))
    parts[site.number : site.number + replaced] = new.seq if type(new) is SeqStmt else [new]
    body: Stmt = parts[0] if len(parts) == 1 else SeqStmt(tuple(parts))
    for header in reversed(_headers_and_body(index, site.parent)[0]):
        body = replace(header, body=body)
    return with_body(index, site.parent, body, links)


def with_body(index: BlockIndex, parent: Key, body: Stmt, links: dict[Block, Block]) -> Node:
    """A loop or block with another body."""
    node = index.nodes[parent]
    if type(node) is For:
        return replace(node, body=body)
    return with_block(node, links, body=body)  # type: ignore[arg-type]


def number_in(index: BlockIndex, parent: Key, key: Key) -> int | None:
    """The number of the statement of a loop's or block's body that has a loop or block in it."""
    below = key
    for outer_key in (key, *index.around(key)):
        if outer_key is parent:
            break
        below = outer_key
    else:
        return None
    wanted = index.nodes[below]
    for number, statement in enumerate(statements_of(index, parent)):
        if _has(statement, wanted):
            return number
    return None


def _has(statement: Stmt, wanted: Node) -> bool:
    """Whether a statement is a loop or block, or has it outside of other loops and blocks."""
    if statement is wanted or type(statement) in (For, BlockRealize):
        return statement is wanted
    return any(_has(part, wanted) for part in parts_of(statement))


def common_parent(index: BlockIndex, scope: BlockKey, keys: Sequence[Key]) -> Key:
    """The innermost loop of a scope that has all of some blocks in it, or the scope."""
    paths = []
    for key in keys:
        path: list[Key] = []
        for outer_key in index.around(key):
            path.append(outer_key)
            if outer_key is scope:
                break
        paths.append(path[::-1])
    common: Key = scope
    for level in zip(*paths, strict=False):
        if any(ancestor is not level[0] for ancestor in level):
            break
        common = level[0]
    return common
