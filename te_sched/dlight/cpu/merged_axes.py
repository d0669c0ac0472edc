"""The last two dimensions of arrays as one, where they are dynamic, or vectors do not divide rows.

    for c, y, x in grid(8, h, w): B[c, y, x] = A[c, y, x] * G[c]        A, B: (8, h, w)

becomes

    for c, p in grid(8, h * w): B[c, p] = A[c, p] * G[c]                A, B: (8, h * w)

so that vectors do not end with each row, which may be short. Arrays of the caller are read and
written through views. Sums of products of given sizes have tiles that end with rows. Must not know
how blocks are scheduled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from te_sched.dlight.cpu.windows import LoopsOfBlock, nests_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import BufferStore, PrimFunc, SeqStmt, Stmt
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import ReferenceMapper, replace, walk
from te_sched.lowering.statements import sequence
from te_sched.tensorir.facts.axes import SPATIAL, extent_of, multiple_of
from te_sched.tensorir.facts.computations import factors_of

_Pair = tuple[Var, Var]


def with_merged_axes(func: PrimFunc, lanes: int = 1) -> PrimFunc:
    """The function with the last two dimensions of buffers merged, where all that is read and
    written there is at the same two iterators; itself where there are none, or other blocks than
    nests of plain loops are in it. Those of given sizes are merged where vectors of `lanes` do not
    divide rows, and there are no sums of products.
    """
    nests = nests_of(func)
    root = func.body
    if not isinstance(root, BlockRealize) or len(nests) != len(_parts(root)):
        return func
    buffers = _mergeable(nests, lanes)
    if not buffers:
        return func
    params = {*func.buffer_map.values()}
    views = {buffer: _merged(buffer, is_view=buffer in params) for buffer in buffers}
    parts = [_merged_nest(nest, views, lanes) for nest in nests]
    allocated = tuple([views.get(buffer, buffer) for buffer in root.block.alloc_buffers])
    block = replace(root.block, body=sequence(parts), alloc_buffers=allocated)
    return replace(func, body=replace(root, block=block))


def _parts(root: BlockRealize) -> Sequence[Stmt]:
    body = root.block.body
    return body.seq if isinstance(body, SeqStmt) else (body,)


class _Access(NamedTuple):
    """An access to the last two dimensions of a buffer at two iterators; None for other indices."""

    buffer: Buffer
    pair: _Pair | None


def _mergeable(nests: Sequence[LoopsOfBlock], lanes: int) -> set[Buffer]:
    """The buffers whose last two dimensions are one in all nests."""
    least = lanes if all(factors_of(nest.block) is None for nest in nests) else 1
    accesses = [[*_accesses(nest.block, least)] for nest in nests]
    merged = {access.buffer for own in accesses for access in own}
    while True:
        wrong = {
            buffer
            for nest, own in zip(nests, accesses, strict=True)
            for buffer in _divided(nest.block, own, merged)
        }
        if not wrong:
            return merged
        merged -= wrong


def _accesses(block: Block, lanes: int) -> Iterator[_Access]:
    axes = {axis.var: axis for axis in block.iter_vars}
    for part in (block.body, block.init):
        for node in walk(part) if part is not None else ():
            if isinstance(node, BufferLoad | BufferStore):
                yield _Access(node.buffer, _pair_of(node.indices[-2:], node.buffer, axes, lanes))


def _pair_of(
    indices: Sequence[object], buffer: Buffer, axes: dict[Var, IterVar], lanes: int
) -> _Pair | None:
    """Two iterators of one kind that count all elements of the last two dimensions, of which some
    are open, or vectors do not divide the rows.
    """
    pair = [index for index in indices if isinstance(index, Var) and index in axes]
    if len(pair) != 2 or pair[0] is pair[1] or buffer.strides:
        return None
    first, second = (axes[var] for var in pair)
    is_whole = all(
        axis.dom is not None
        and same(axis.dom.min, IntImm(0, axis.dtype))
        and same(axis.dom.extent, size)
        for axis, size in zip((first, second), buffer.shape[-2:], strict=True)
    )
    is_given = extent_of(first) is not None and extent_of(second) is not None
    is_even = is_given and multiple_of(second) % lanes == 0
    if not is_whole or is_even or first.kind != second.kind:
        return None
    return first.var, second.var


def _divided(block: Block, accesses: Sequence[_Access], merged: set[Buffer]) -> Iterator[Buffer]:
    """The buffers among the merged ones whose dimensions a block needs apart."""
    uses = Counter(
        node
        for part in (block.body, block.init)
        for node in (walk(part) if part is not None else ())
        if isinstance(node, Var)
    )
    pairs = Counter(access.pair for access in accesses if access.buffer in merged)
    own = {var: pair for pair in pairs if pair is not None for var in pair}
    spatial = [
        axis.var for axis in block.iter_vars if axis.kind == SPATIAL and extent_of(axis) != 1
    ]
    for buffer, pair in accesses:
        if buffer not in merged:
            continue
        is_alone = pair is not None and all(
            own[var] == pair and uses[var] == pairs[pair] for var in pair
        )
        if not is_alone or not [var for var in spatial if var not in (pair or ())]:
            yield buffer


def _merged(buffer: Buffer, is_view: bool) -> Buffer:
    """A buffer with its last two dimensions as one, in the memory of a parameter."""
    *outer, rows, columns = buffer.shape
    shape = [*outer, ops.mul(rows, columns)]
    data = buffer.data if is_view else None
    return decl_buffer(shape, buffer.dtype, f"{buffer.name}_rows", data, scope=buffer.scope())


def _merged_nest(nest: LoopsOfBlock, views: dict[Buffer, Buffer], lanes: int) -> Stmt:
    """A nest with one loop and one iterator for each pair."""
    accesses = _accesses(nest.block, lanes)
    pairs = {access.pair for access in accesses if access.buffer in views and access.pair}
    axes = {axis.var: axis for axis in nest.block.iter_vars}
    first = {pair[0]: _axis_of(axes[pair[0]], axes[pair[1]]) for pair in pairs}
    second = {pair[1] for pair in pairs}
    mapper = _Merger(views, {old: new.var for old, new in first.items()})
    kept = [
        (loop, axis)
        for loop, axis in zip(nest.loops, nest.block.iter_vars, strict=True)
        if axis.var not in second
    ]
    iterators = tuple([first.get(axis.var, axis) for _, axis in kept])
    block: Any = replace(mapper.visit(nest.block), iter_vars=iterators)
    loops = []
    for loop, axis in kept:
        new = first.get(axis.var)
        if new is not None and new.dom is not None:
            var = Var(loop.loop_var.name, loop.loop_var.dtype)
            loops.append(replace(loop, loop_var=var, extent=new.dom.extent))
        else:
            loops.append(loop)
    values = tuple([loop.loop_var for loop in loops])
    body: Stmt = BlockRealize(values, IntImm(1, "bool"), block)
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


def _axis_of(rows: IterVar, columns: IterVar) -> IterVar:
    """The iterator over all elements of two."""
    assert rows.dom is not None
    assert columns.dom is not None
    extent = ops.mul(rows.dom.extent, columns.dom.extent)
    var = Var(rows.var.name, rows.var.dtype)
    return replace(rows, var=var, dom=Range(rows.dom.min, extent))


class _Merger(ReferenceMapper):
    """Accesses views at the iterators that take the place of two."""

    def __init__(self, views: dict[Buffer, Buffer], iterators: dict[Any, Var]) -> None:
        self.views, self.iterators = views, iterators

    def visit_access(self, node: Any) -> Any:
        """A load or store."""
        new = self.generic(node)
        view = self.views.get(node.buffer)
        if view is None:
            return new
        outer, row = new.indices[:-2], self.iterators[node.indices[-2]]
        return replace(new, buffer=view, indices=(*outer, row))

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        view = self.views.get(node.buffer)
        if view is None:
            return self.generic(node)
        row = node.region[-2]
        at = replace(row, min=self.iterators[row.min])
        return replace(node, buffer=view, region=(*node.region[:-2], at))
