"""The state of a schedule of blocks: its functions, and an index of their loops and blocks.

Statements are immutable: a primitive makes a new body of a function, and the index follows what
changed. A loop is identified by its variable, a block by a `BlockKey` that it keeps when it is
rebuilt. Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from te_sched.errors import HandleError, Subject
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Var
from te_sched.ir.stmt import For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import PART_FIELDS, Mapper, StatementMapper, parts_of, replace
from te_sched.tensorir.dependences import blocks_of_scope, outermost_blocks
from te_sched.trace.drafts import Draft


class BlockKey:
    """The identity of a block in all states of a schedule and its copies."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


Key = Var | BlockKey
Node = For | BlockRealize


class BlockIndex:
    """The functions of a schedule, and where their loops and blocks are.

    `nodes` has the loop or block of each key, `parents` the key of the loop or block around it
    (None for the outermost, whose function is in `roots`), and `keys` those of the blocks.
    """

    __slots__ = ()

    functions: dict[str, PrimFunc]
    nodes: dict[Key, Node]
    parents: dict[Key, Key | None]
    roots: dict[Key, str]
    keys: dict[Block, BlockKey]
    fates: dict[Key, str]  # why loops and blocks are gone

    def key_of(self, node: Node) -> Key:
        """The key of a loop or block."""
        return node.loop_var if type(node) is For else self.keys[node.block]  # type: ignore[union-attr]

    def loop(self, key: Key) -> For:
        """The loop of a key."""
        node = self.nodes[key]
        assert type(node) is For
        return node

    def realize(self, key: Key) -> BlockRealize:
        """The block of a key with its bindings."""
        node = self.nodes[key]
        assert type(node) is BlockRealize
        return node

    def block(self, key: Key) -> Block:
        """The block of a key."""
        return self.realize(key).block

    def around(self, key: Key) -> Iterator[Key]:
        """The keys of the loops and blocks around one, innermost first."""
        parent = self.parents[key]
        while parent is not None:
            yield parent
            parent = self.parents[parent]

    def loops_above(self, key: Key) -> list[Var]:
        """The loops around a loop or block up to the next block, outermost first."""
        loops: list[Var] = []
        for outer_key in self.around(key):
            if type(outer_key) is BlockKey:
                break
            assert isinstance(outer_key, Var)
            loops.append(outer_key)
        return loops[::-1]

    def scope(self, key: Key) -> BlockKey | None:
        """The block around a loop or block."""
        for outer_key in self.around(key):
            if type(outer_key) is BlockKey:
                return outer_key
        return None

    def function_of(self, key: Key) -> str:
        """The name of the function that has a loop or block."""
        return self.roots[[key, *self.around(key)][-1]]

    def blocks_in(self, statement: Stmt) -> list[BlockKey]:
        """The outermost blocks in a statement, in program order."""
        return [self.keys[realize.block] for realize in outermost_blocks(statement)]

    def blocks_below(self, key: Key) -> dict[Block, BlockKey]:
        """All blocks of a loop or block with their keys, its own too."""
        blocks: dict[Block, BlockKey] = {}
        stack: list[Any] = [self.nodes[key]]
        while stack:
            node = stack.pop()
            if type(node) is Block:
                blocks[node] = self.keys[node]
            stack += parts_of(node)
        return blocks

    def blocks_of(self, key: Key) -> list[BlockKey]:
        """The blocks directly in a loop or block, in program order."""
        node = self.nodes[key]
        realizes = blocks_of_scope(node) if type(node) is BlockRealize else outermost_blocks(node)
        keys = self.keys
        return [keys[realize.block] for realize in realizes]


class BlockIndexDraft(Draft, BlockIndex):
    """The new state that a primitive computes."""

    __slots__ = ()

    functions: dict[str, PrimFunc]
    nodes: dict[Key, Node]
    parents: dict[Key, Key | None]
    roots: dict[Key, str]
    keys: dict[Block, BlockKey]
    fates: dict[Key, str]

    def replace(
        self, key: Key, new: Stmt, continued: Mapping[Block, Block] | None = None, fate: str = ""
    ) -> None:
        """Replace a loop or block by a statement.

        Parameters
        ----------
        continued : the old blocks of new ones that keep their identity.
        fate : why the loops and blocks that are not in the new body are gone.
        """
        links = dict(continued or {})
        old, parent = self.nodes[key], self.parents[key]
        name = self.function_of(key)
        body_keys = self._enter(name, new, parent, links)
        self._leave(old, body_keys, fate)
        while parent is not None:
            around = self.nodes[parent]
            new = exchanged(around, old, new, links)
            self._renew(parent, around, new)
            old, parent = around, self.parents[parent]
        func = self.functions[name]
        self.functions[name] = func.with_body(_Exchange(old, new).visit(func.body))

    def _renew(self, key: Key, old: Node, new: Node) -> None:
        """Set the loop or block of a key, of which the index has all that is in it."""
        self.nodes[key] = new
        if type(old) is BlockRealize and type(new) is BlockRealize:
            del self.keys[old.block]
            assert isinstance(key, BlockKey)
            self.keys[new.block] = key

    def set_body(
        self, name: str, body: Stmt, continued: Mapping[Block, Block] | None = None, fate: str = ""
    ) -> None:
        """Set the body of a function, and index what is new in it."""
        func = self.functions[name]
        old = func.body
        self.functions[name] = func.with_body(body)
        body_keys = self._enter(name, body, None, continued or {})
        self._leave(old, body_keys, fate)

    def remember(self, blocks: Mapping[Block, BlockKey]) -> None:
        """Give removed blocks, which will be inserted again, the keys that they had."""
        self.keys.update(blocks)
        for key in blocks.values():
            self.fates.pop(key, None)

    def _enter(
        self, name: str, body: Stmt, around: Key | None, continued: Mapping[Block, Block]
    ) -> set[Key]:
        """Index what is new in a loop or block; returns the keys of the visited ones in it."""
        nodes, parents, keys = self.nodes, self.parents, self.keys
        body_keys: set[Key] = set()
        stack: list[tuple[Any, Key | None]] = [(body, around)]
        while stack:
            statement, parent = stack.pop()
            kind = type(statement)
            if kind is For:
                key = statement.loop_var
            elif kind is BlockRealize:
                key = self._key(statement.block, continued)
            else:
                stack += [(part, parent) for part in parts_of(statement)]
                continue
            assert key not in body_keys, "a loop or block occurs twice"
            body_keys.add(key)
            parents[key] = parent
            if parent is None:
                self.roots[key] = name
            else:
                self.roots.pop(key, None)
            if nodes.get(key) is statement:
                continue
            nodes[key] = statement
            if kind is BlockRealize:
                keys[statement.block] = key
                statement = statement.block
            stack += [(part, key) for part in parts_of(statement)]
        return body_keys

    def _key(self, block: Block, continued: Mapping[Block, Block]) -> BlockKey:
        block_key = self.keys.get(block)
        while block_key is None and block in continued:
            block = continued[block]
            block_key = self.keys.get(block)
        return block_key or BlockKey(block.name_hint)

    def _leave(self, old: Stmt, body_keys: set[Key], fate: str) -> None:
        """Forget the loops and blocks of an old body that the new one does not have."""
        stack: list[Any] = [old]
        while stack:
            statement = stack.pop()
            key: Key | None = None
            if type(statement) is For:
                key = statement.loop_var
            elif type(statement) is BlockRealize:
                key = self.keys[statement.block]
            if key is None:
                stack += parts_of(statement)
                continue
            is_kept = key in body_keys
            now = self.nodes[key] if is_kept else None
            if now is statement:
                continue
            if not is_kept:
                del self.nodes[key], self.parents[key]
                self.roots.pop(key, None)
                self.fates[key] = fate
            if type(statement) is BlockRealize:
                if now is None or now.block is not statement.block:  # type: ignore[union-attr]
                    del self.keys[statement.block]
                statement = statement.block
            stack += parts_of(statement)


class _Exchange(StatementMapper):
    """Replaces a loop or block of a statement, outside of other loops and blocks."""

    def __init__(self, old: Stmt, new: Stmt) -> None:
        self.old, self.new = old, new

    def visit_For(self, node: For) -> Stmt:
        return self.new if node is self.old else node

    def visit_BlockRealize(self, node: BlockRealize) -> Stmt:
        return self.new if node is self.old else node


def exchanged(around: Node, old: Stmt, new: Stmt, links: dict[Block, Block]) -> Node:
    """A loop or block with one of the loops and blocks directly in it replaced; `links` notes the
    old block of a new one.
    """
    exchange = _Exchange(old, new)
    if type(around) is For:
        return replace(around, body=exchange.visit(around.body))
    assert type(around) is BlockRealize
    return with_block(around, links, **mapped_parts(around.block, exchange))


def mapped_parts(block: Block, mapper: Mapper) -> dict[str, Any]:
    """The mapped body and initialization of a block, by the names of the fields."""
    parts = {name: getattr(block, name) for name in PART_FIELDS[Block]}
    return {name: mapper.visit(part) for name, part in parts.items() if part is not None}


def with_block(realize: BlockRealize, links: dict[Block, Block], **changes: Any) -> BlockRealize:
    """An instance of a block with changed fields; `links` notes the old block of the new one."""
    block = replace(realize.block, **changes)
    if block is realize.block:
        return realize
    links[block] = realize.block
    return replace(realize, block=block)


def sequence(*statements: Stmt | None) -> Stmt:
    """Statements one after the other; None is left out."""
    parts: list[Stmt] = []
    for statement in statements:
        if statement is not None:
            parts += statement.seq if type(statement) is SeqStmt else (statement,)
    return parts[0] if len(parts) == 1 else SeqStmt(tuple(parts))


def missing(index: BlockIndex, key: Key, name: str, what: str) -> HandleError:
    """The error for a handle whose loop or block is gone, or is of another schedule."""
    if key not in index.fates:
        return foreign(name, what)
    return HandleError(
        f"{what} {name} is no longer in the program",
        index.fates[key] or "a primitive removed it",
        f"take the handle from the primitive that removed it, or from {SOURCES[what]}",
        Subject(what, name),
    )


SOURCES = {"block": "sch.get_block(name)", "loop": "sch.get_loops(block)"}


def foreign(name: str, what: str) -> HandleError:
    """The error for a handle of another schedule."""
    return HandleError(
        f"{what} {name} belongs to another schedule",
        "handles are valid in one schedule and its copies",
        f"take the handle from this schedule: {SOURCES[what]}",
    )
