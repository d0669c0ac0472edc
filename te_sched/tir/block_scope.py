"""Dependences between the blocks of a scope, with TVM's names: BlockDependenceInfo.

A scope is a block; its children are the blocks below it that are in no other block.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from te_sched.errors import DeclarationError, Subject
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Buffer, BufferRegion, Node
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import children
from te_sched.signatures import checked


class DepKind(IntEnum):
    """The kinds of dependences.

    >>> DepKind.RAW.name, int(DepKind.WAR)
    ('RAW', 2)
    """

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


class BlockReference:
    """A reference to a block in its place: `stmt` is the block, `parent` the one around it.

    >>> from te_sched import tir
    >>> BlockReference(tir.Block([], [], [], "update", tir.Evaluate(0)), None, 0)
    tir.BlockReference(update)
    """

    def __init__(self, stmt: Block, parent: BlockReference | None, seq_index: int) -> None:
        self.stmt, self.parent, self.seq_index = stmt, parent, seq_index

    def __repr__(self) -> str:
        return f"tir.BlockReference({self.stmt.name_hint})"


class Dependency:
    """Block `dst` depends on block `src`, which is executed before."""

    def __init__(self, src: BlockReference, dst: BlockReference, kind: DepKind) -> None:
        self.src, self.dst, self.kind = src, dst, kind

    def __repr__(self) -> str:
        names = [block_ref.stmt.name_hint for block_ref in (self.src, self.dst)]
        return f"tir.Dependency({names[0]} -> {names[1]}, {self.kind.name})"


class BlockScope:
    """The dependences between the child blocks of a scope, in program order.

    >>> from te_sched import tir
    >>> region = tir.BufferRegion(tir.decl_buffer((8,)), [tir.Range(0, 8)])
    >>> writer = BlockReference(tir.Block([], [], [region], "first", tir.Evaluate(0)), None, 0)
    >>> reader = BlockReference(tir.Block([], [region], [], "second", tir.Evaluate(0)), None, 1)
    >>> BlockScope([writer, reader]).get_deps_by_dst(reader)
    [tir.Dependency(first -> second, RAW)]
    """

    def __init__(self, blocks: Sequence[BlockReference]) -> None:
        self._dependences: list[Dependency] = []
        for number, dst in enumerate(blocks):
            for src in blocks[:number]:
                self._dependences += _dependences(src, dst)

    def get_deps_by_src(self, block: BlockReference) -> list[Dependency]:
        """The dependences on a block."""
        return [dependence for dependence in self._dependences if dependence.src is block]

    def get_deps_by_dst(self, block: BlockReference) -> list[Dependency]:
        """The dependences of a block on those before it."""
        return [dependence for dependence in self._dependences if dependence.dst is block]


def _dependences(src: BlockReference, dst: BlockReference) -> list[Dependency]:
    first, second = src.stmt, dst.stmt
    pairs = {
        DepKind.RAW: (first.writes, second.reads),
        DepKind.WAW: (first.writes, second.writes),
        DepKind.WAR: (first.reads, second.writes),
    }
    return [
        Dependency(src, dst, kind)
        for kind, (before, after) in pairs.items()
        if _buffers(before) & _buffers(after)
    ]


def _buffers(regions: Sequence[BufferRegion]) -> set[Buffer]:
    return {region.buffer for region in regions}


class BlockDependenceInfo:
    """The scopes of a function or module, with the dependences between their blocks.

    >>> from te_sched import te
    >>> A = te.placeholder((8,), name="A")
    >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> func = te.create_prim_func([A, te.compute((8,), lambda i: B[i] * 2.0, name="C")])
    >>> info = BlockDependenceInfo(func)
    >>> root = info.get_sref(func.body.block)
    >>> first = func.body.block.body.seq[0].body.block
    >>> info.get_block_scope(root).get_deps_by_src(info.get_sref(first))
    [tir.Dependency(B -> C, RAW)]
    """

    @checked
    def __init__(self, mod: PrimFunc | IRModule) -> None:
        self._references: dict[Block, BlockReference] = {}
        self._children: dict[BlockReference, list[BlockReference]] = {}
        functions = [mod] if isinstance(mod, PrimFunc) else list(mod.functions.values())
        for func in functions:
            self._enter(func.body, None)

    def _enter(self, top: Node, around: BlockReference | None) -> None:
        """Refer to the blocks below a statement."""
        waiting: list[tuple[Node, BlockReference | None]] = [(top, around)]
        while waiting:
            node, parent = waiting.pop()
            if isinstance(node, Block):
                siblings = [] if parent is None else self._children[parent]
                reference = BlockReference(node, parent, len(siblings))
                siblings.append(reference)
                self._references[node], self._children[reference] = reference, []
                parent = reference
            waiting += [(child, parent) for child in reversed(list(children(node)))]

    def get_sref(self, block: Block) -> BlockReference | None:
        """The reference to a block; None if it is not in the program."""
        return self._references.get(block)

    def get_block_scope(self, block_sref: BlockReference) -> BlockScope:
        """The dependences between the blocks directly in a block."""
        if block_sref not in self._children:
            raise DeclarationError(
                f"{block_sref!r} is not a block of the program",
                "",
                "give what get_sref gives for a block, or its parent",
                Subject("block", getattr(getattr(block_sref, "stmt", None), "name_hint", "")),
            )
        return BlockScope(self._children[block_sref])
