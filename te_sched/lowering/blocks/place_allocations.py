"""Allocate buffers where they are used: at the lowest common ancestor of their accesses.

A buffer of a block moves to the innermost loop or block around all of its accesses; in a loop it is
allocated by a block without a name. The result of a reduction stays outside of the reduction loops
in programs to run (`to_run`), and where other loops between would lose it. In programs to run, a
buffer also stays outside of loops in which it is read where it is not written.
(TVM's name: PlanAndUpdateBufferAllocationLocation.) Must not know which part of a buffer is used.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from te_sched.arith.regions import access_regions
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Var
from te_sched.ir.stmt import AttrStmt, BufferStore, For, IfThenElse, PrimFunc, Stmt
from te_sched.ir.visitor import StatementMapper, children, parts_of, replace, variables_of, walk
from te_sched.lowering.blocks.conditional_writes import ConditionalWrites
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL

_Path = tuple[Any, ...]  # enclosing loops and blocks, outermost first


def place_allocations(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with each buffer allocated around its accesses."""
    search = _Search(settings)
    search.statement(func.body, ())
    if not search.allocated:
        return func
    places: dict[int, list[Buffer]] = {}
    for buffer, block in search.allocated.items():
        path = _with_all_blocks(buffer, search.place_of(buffer, settings.to_run), settings.to_run)
        owner = path[-1] if path else block
        places.setdefault(id(owner), []).append(buffer)
    return func.with_body(_Placing(places, set(search.allocated)).visit(func.body))


def common_ancestors(func: PrimFunc) -> dict[Buffer, Any]:
    """The innermost loop or block around all accesses of each buffer of the arguments and of
    blocks; None for the function itself. Global memory that kernels access is accessed by all of
    their blocks.
    """
    search = _Search(AS_TVM, is_carried=False)
    for buffer in func.buffer_map.values():
        search.allocated[buffer] = None
        search.by_data[buffer.data] = buffer
    search.statement(func.body, ())
    ancestors: dict[Buffer, Any] = {}
    for buffer, path in search.common.items():
        path = _with_all_blocks(buffer, path)
        ancestors[buffer] = path[-1] if path else None
    return ancestors


def _with_all_blocks(buffer: Buffer, path: _Path, to_run: bool = False) -> _Path:
    """The path to the accesses of a buffer; of global memory, up to the first loop that is bound to
    blocks of a grid, which share it. In programs to run, it is allocated outside of this loop, in
    which the kernel begins.
    """
    if buffer.scope() != "global":
        return path
    for depth, node in enumerate(path):
        bound = node.thread_binding if type(node) is For else None
        if bound is not None and bound.thread_tag.startswith("blockIdx"):
            return path[: depth + (not to_run)]
    return path


class _Search:
    """Finds the accesses to the buffers of blocks. If results of reductions `is_carried`, all loops
    of the reduction access them.
    """

    def __init__(self, settings: Lowering, is_carried: bool = True) -> None:
        self.is_carried = is_carried
        self.allocated: dict[Buffer, Block | None] = {}
        self.by_data: dict[Var, Buffer] = {}
        self.common: dict[Buffer, _Path] = {}
        # Reductions that write a buffer: the path to their loops, and the variables of these.
        self.carried: dict[Buffer, list[tuple[_Path, set[Var]]]] = {}
        self.conditional = ConditionalWrites(settings)

    def place_of(self, buffer: Buffer, to_run: bool) -> _Path:
        """The path to the place of a buffer."""
        path = self.common.get(buffer, ())
        carried = self.carried.get(buffer, ())
        if not to_run and all(_has_only(path[len(outer) :], loops) for outer, loops in carried):
            return path  # its memory is allocated once in the end, as storage is rewritten
        for outer, _ in carried:
            path = path[: _shared(path, outer)]
        return self.conditional.outside(buffer, path) if to_run else path

    def statement(self, node: Any, path: _Path) -> None:
        """Record the accesses of a statement."""
        kind = type(node)
        if kind is BlockRealize:
            for value in (*node.iter_values, node.predicate):
                self.expression(value, path)
            with self.conditional.where(node.predicate):
                self.block(node, path)
            return
        if kind is IfThenElse:
            self.expression(node.condition, path)
            with self.conditional.where(node.condition):
                self.statement(node.then_case, path)
            if node.else_case is not None:
                with self.conditional.where(ops.logical_not(node.condition)):
                    self.statement(node.else_case, path)
            return
        if kind is For:
            self.expression(node.min, path)
            self.expression(node.extent, path)
            self.statement(node.body, (*path, node))
            return
        if kind is BufferStore:
            self.note(node.buffer, path, writes=True)
        elif kind is AttrStmt and isinstance(node.node, Buffer):
            self.note(node.node, path)
        parts = parts_of(node)
        for child in children(node):
            if not any(child is part for part in parts):
                self.expression(child, path)
        for part in parts:
            self.statement(part, path)

    def block(self, realize: BlockRealize, path: _Path) -> None:
        """Record the accesses of a block. All of its serial reduction loops access its result, and
        all of the loops of its opaque iterators what it reads, too: their iterations depend on each
        other.
        """
        block = realize.block
        for buffer in block.alloc_buffers:
            self.allocated[buffer] = block
            self.by_data[buffer.data] = buffer
        own = (*path, block)
        for match in block.match_buffers:
            self.note(match.source.buffer, own)
            self.by_data[match.buffer.data] = match.source.buffer
        for part in parts_of(block):
            self.statement(part, own)
        if not self.is_carried:
            return
        axes = list(zip(block.iter_vars, realize.iter_values, strict=True))
        opaque = [value for axis, value in axes if axis.kind not in (SPATIAL, REDUCTION)]
        carried = [value for axis, value in axes if axis.kind != SPATIAL]
        outer = _outside_loops(path, variables_of(*opaque))
        if outer is not None:
            for region in block.reads:
                if (read := self.viewed(region.buffer)) is not None:
                    self.keep_in(read, outer)
        variables = variables_of(*carried)
        for region in block.writes:
            result = self.viewed(region.buffer)
            if result is not None:
                outer = _outside_loops(path, variables, is_local=result.scope() == "local")
                if outer is not None:
                    self.carried.setdefault(result, []).append((outer, variables))

    def expression(self, root: Any, path: _Path) -> None:
        """Record the accesses of an expression or region."""
        for node in walk(root):
            if type(node) in (BufferLoad, BufferRegion):
                self.note(node.buffer, path)
            elif type(node) is Var and node in self.by_data:
                self.note(self.by_data[node], path)

    def viewed(self, buffer: Buffer) -> Buffer | None:
        """The buffer of a block that a buffer is, or is a view of."""
        if buffer in self.allocated:
            return buffer
        viewed = self.by_data.get(buffer.data)
        return viewed if viewed in self.allocated else None

    def note(self, buffer: Buffer, path: _Path, writes: bool = False) -> None:
        """Record an access to a buffer."""
        viewed = self.viewed(buffer)
        if viewed is not None:
            self.conditional.note(viewed, writes)
            self.keep_in(viewed, path)

    def keep_in(self, buffer: Buffer, path: _Path) -> None:
        """Record that the place of a buffer is on a path."""
        common_path = self.common.get(buffer, path)
        self.common[buffer] = common_path[: _shared(common_path, path)]


def _outside_loops(path: _Path, variables: Set[Var], is_local: bool = False) -> _Path | None:
    """The part of a path outside of the loops of variables, if there are any; local memory does not
    outlive the threads.
    """
    for depth, node in enumerate(path):
        if type(node) is not For or (is_local and node.thread_binding is not None):
            continue
        if node.loop_var in variables:
            return path[:depth]
    return None


def _has_only(path: _Path, loops: Set[Var]) -> bool:
    """Whether a path consists of loops of these variables, each in one thread."""
    return all(
        type(node) is For and node.loop_var in loops and node.kind in ("serial", "unrolled")
        for node in path
    )


def _shared(a: _Path, b: _Path) -> int:
    """The length of the common part of two paths."""
    return next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x is not y), min(len(a), len(b))
    )


class _Placing(StatementMapper):
    """Moves allocations; `places` maps the identity of a loop or block to its buffers. `inner` are
    the moved buffers that are not allocated yet: blocks around their places do not access them.
    """

    def __init__(self, places: dict[int, list[Buffer]], moved: set[Buffer]) -> None:
        self.places, self.moved = places, moved
        self.inner = set(moved)

    def visit_Block(self, node: Block) -> Stmt:
        buffers = self.places.get(id(node), ())
        reads, writes = [
            tuple([region for region in regions if region.buffer not in self.inner])
            for regions in (node.reads, node.writes)
        ]
        block: Block = self._inside(node, buffers)
        kept = [buffer for buffer in block.alloc_buffers if buffer not in self.moved]
        return replace(block, reads=reads, writes=writes, alloc_buffers=(*kept, *buffers))

    def visit_For(self, node: For) -> Stmt:
        buffers = self.places.get(id(node), ())
        loop: For = self._inside(node, buffers)
        if not buffers:
            return loop
        block = Block((), (), (), "", None, loop.body, tuple(buffers))
        reads, writes, _ = access_regions(block, {})
        block = replace(block, reads=reads, writes=writes)
        return replace(loop, body=BlockRealize((), ops.TRUE, block))

    def _inside(self, node: Any, buffers: Sequence[Buffer]) -> Any:
        """A loop or block with the statements in it mapped, which use these buffers."""
        self.inner -= set(buffers)
        inside = self.generic(node)
        self.inner |= set(buffers)
        return inside
