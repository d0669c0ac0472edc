"""Statements that copy elements of a buffer to another one, in loops of their own or in those of a
block; and the indices at which a block accesses a buffer. Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferLoad, BufferRegion, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.renew import renewed_body
from te_sched.ir.stmt import BufferStore, For, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import variables_of, walk
from te_sched.tensorir.dependences import outermost_blocks
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.relaxation import binding_of
from te_sched.tensorir.rewriting import nested
from te_sched.tensorir.state import BlockIndex, BlockKey, Key

Access = tuple[Buffer, tuple[Expr, ...]]  # an element: a buffer and indices
# Makes the error of a reason and help.
Refusal = Callable[[str, str], Exception]


def copying(
    buffer: Buffer,
    copy: Buffer,
    region: Sequence[Range],
    begin: Sequence[Expr],
    is_back: bool = False,
    predicate: Expr | None = None,
) -> Stmt:
    """Loops around a block that copies a region of a buffer to its copy, or back, where a predicate
    holds. The copy begins at the indices `begin` of the buffer.
    """
    analyzer = Analyzer()
    loops: list[tuple[Var, Range]] = []
    axes: list[IterVar] = []
    values: list[Expr] = []
    for number, (bound, size) in enumerate(zip(region, copy.shape, strict=True)):
        dtype = size.dtype
        loops.append(
            (Var(f"ax{number}", dtype), Range(IntImm(0, dtype), ops.cast(dtype, bound.extent)))
        )
        first = analyzer.simplify(ops.cast(dtype, bound.min) - ops.cast(dtype, begin[number]))
        values.append(first + loops[-1][0])
        axes.append(IterVar(Range(IntImm(0, dtype), size), Var(f"v{number}", dtype), SPATIAL))
    there: tuple[Expr, ...] = tuple(
        [ops.cast(axis.dtype, low) + axis.var for axis, low in zip(axes, begin, strict=True)]
    )
    access = (copy, buffer, there)
    return _copy(copy.name, loops, axes, values, access, is_back, predicate)


def copy_nest(
    name: str,
    axes: Sequence[IterVar],
    copy: Buffer,
    buffer: Buffer,
    there: tuple[Expr, ...],
    is_back: bool = False,
    loop_name: str = "ax",
    condition: Expr | None = None,
) -> Stmt:
    """Loops around a block that copies a buffer at the indices `there`, which depend on the
    iterators `axes`, to its copy at these iterators, or back. Elements for which a condition does
    not hold are zero.
    """
    loops = []
    for number, axis in enumerate(axes):
        dom = dom_of(axis)
        loops.append((Var(f"{loop_name}{number}", axis.dtype), dom))
    values = [var for var, _ in loops]
    access = (copy, buffer, there)
    return _copy(name, loops, axes, values, access, is_back, condition=condition)


def _copy(
    name: str,
    loops: Sequence[tuple[Var, Range]],
    axes: Sequence[IterVar],
    values: Sequence[Expr],
    access: tuple[Buffer, Buffer, tuple[Expr, ...]],
    is_back: bool,
    predicate: Expr | None = None,
    condition: Expr | None = None,
) -> Stmt:
    copy, buffer, there = access
    own: tuple[Expr, ...] = tuple([axis.var for axis in axes])
    ends = ((copy, own), (buffer, there)) if is_back else ((buffer, there), (copy, own))
    body: Stmt = copy_block(name, axes, values, *ends, predicate, condition)
    for loop, dom in reversed(loops):
        body = For(loop, dom.min, dom.extent, "serial", body)
    return body


def copy_block(
    name: str,
    axes: Sequence[IterVar],
    values: Sequence[Expr],
    source: Access,
    target: Access,
    predicate: Expr | None = None,
    condition: Expr | None = None,
) -> BlockRealize:
    """A block that copies an element to another, at indices that depend on its iterators; 0 where a
    condition does not hold.
    """
    value: Expr = BufferLoad(*source)
    if condition is not None:
        value = if_then_else(condition, value, ops.const(0, value.dtype))
    block = Block(
        tuple(axes),
        (_element(*source),),
        (_element(*target),),
        name,
        None,
        BufferStore(target[0], value, target[1]),
    )
    return BlockRealize(tuple(values), ops.const(True) if predicate is None else predicate, block)


def _element(buffer: Buffer, indices: Sequence[Expr]) -> BufferRegion:
    return BufferRegion(buffer, tuple([Range(index, IntImm(1, index.dtype)) for index in indices]))


def copied_in_loops(
    schedule: BlockIndex,
    key: BlockKey,
    parent: Key,
    name: str,
    axes: Sequence[IterVar],
    source: Access,
    target: Access,
    refused: Refusal,
) -> Stmt:
    """A block that copies elements that another one accesses, in loops like those around that one
    inside of a parent. The source and the target depend on its iterators `axes`.
    """
    realize = schedule.realize(key)
    bound = binding_of(realize)
    values = [bound[axis.var] for axis in axes]
    above = schedule.loops_above(key)
    inner = above[above.index(parent) + 1 :] if isinstance(parent, Var) else above
    needed = variables_of(*values)
    chosen: list[For] = []
    for var in reversed(inner):
        if var in needed:
            loop = schedule.loop(var)
            chosen.insert(0, For(var, loop.min, loop.extent, "serial", loop.body))
            needed |= variables_of(loop.min, loop.extent)
    dropped = {*inner} - needed
    predicate: Expr = ops.const(True)
    for condition in conjuncts(realize.predicate):
        used = variables_of(condition)
        if used & dropped and used & needed:
            raise refused(
                f"the condition {condition} depends on loops of its indices and on others",
                "cache it before the loops are split",
            )
        if not used & dropped:
            predicate = ops.logical_and(predicate, condition)
    new = [IterVar(axis.dom, axis.var, SPATIAL) for axis in axes]
    block_copy = copy_block(name, new, values, source, target, predicate)
    return renewed_body(nested(chosen, block_copy))


def is_unit(axis: IterVar) -> bool:
    """Whether an iterator has one value."""
    return ops.is_const(dom_of(axis).extent, 1)


def dom_of(axis: IterVar) -> Range:
    """The values of an iterator."""
    assert axis.dom is not None
    return axis.dom


def _axes(index: BlockIndex, key: Key) -> tuple[IterVar, ...]:
    return index.block(key).iter_vars if isinstance(key, BlockKey) else ()


def _indices(
    index: BlockIndex, key: BlockKey, buffer: Buffer, refused: Refusal
) -> tuple[Expr, ...]:
    """The indices at which a block accesses a buffer, the same everywhere."""
    block = index.block(key)
    if outermost_blocks(block.body) or block.match_buffers:
        raise refused("it has blocks or views in it", "reindex the inner block")
    parts = [block.body] if block.init is None else [block.body, block.init]
    accesses = [
        node
        for part in parts
        for node in walk(part)
        if type(node) in (BufferLoad, BufferStore) and node.buffer is buffer
    ]
    if not accesses:
        raise refused("it has no load or store of it", "give a buffer it accesses")
    for access in accesses:
        if not structural_equal(access.indices, accesses[0].indices):
            raise refused(
                f"it accesses it at {', '.join(map(str, accesses[0].indices))} and at "
                f"{', '.join(map(str, access.indices))}",
                "use cache_read, which copies the buffer as it is",
            )
    indices: tuple[Expr, ...] = accesses[0].indices
    iterators = {
        axis.var for outer_key in (key, *index.around(key)) for axis in _axes(index, outer_key)
    }
    inner = variables_of(*indices) - iterators
    if inner:
        (var, *_) = inner
        raise refused(f"{var.name} is an index and not an iterator of the block", "bind it")
    if any(isinstance(part, BufferLoad) for index_expr in indices for part in walk(index_expr)):
        raise refused("an index is an element of a buffer", "use cache_read")
    for axis in block.iter_vars:
        begin = dom_of(axis).min
        if not (isinstance(begin, IntImm) and begin.value >= 0):
            raise refused(f"its iterator {axis.var.name} begins at {begin}", "begin it at 0")
    return indices


def point_of(
    index: BlockIndex,
    key: BlockKey,
    buffer: Buffer,
    writes: bool,
    refused: Refusal,
    prepare: Callable[[Block, tuple[Expr, ...]], tuple[Expr, ...]] = lambda block, indices: indices,
) -> tuple[tuple[Expr, ...], list[IterVar]]:
    """The prepared indices at which a block accesses a buffer, and the iterators on which they
    depend.
    """
    block = index.block(key)
    indices = prepare(block, _indices(index, key, buffer, refused))
    used = variables_of(*indices)
    for axis in block.iter_vars if writes else ():
        if axis.var in used and axis.kind != SPATIAL:
            why = f"its reduction iterator {axis.var.name} is an index"
            raise refused(why, "write the elements of a reduction once")
        if axis.var not in used and axis.kind == SPATIAL and not is_unit(axis):
            why = f"its iterator {axis.var.name} is not an index, so elements are written twice"
            raise refused(why, "make it an index of the buffer")
    return indices, [axis for axis in block.iter_vars if axis.var in used]
