"""Concatenations of many parts as a copy of each.

A concatenation that tensor expressions declare chooses the part of each element by nested
conditions. With many parts these take longer than the copies, also in proofs about the program.
Must not know graphs or targets.
"""

from __future__ import annotations

from te_sched.arith.regions import access_regions
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import LE, BufferLoad, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import BufferStore, For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import StatementMapper, replace, substitute, walk
from te_sched.tensorir.facts.axes import are_spatial, extent_of

_FEW = 8  # parts that stay together, so that they can be computed with what reads them


def split_concatenations(func: PrimFunc) -> PrimFunc:
    """The function with a block for each part of concatenations of many constant sizes."""
    return replace(func, body=_ConcatenationSplitter().visit(func.body))


class _ConcatenationSplitter(StatementMapper):
    """Replaces the loops of concatenations by those of their parts."""

    def visit_For(self, node: For) -> Stmt:
        loops: list[For] = []
        inner: Stmt = node
        while type(inner) is For:
            loops.append(inner)
            inner = inner.body
        if type(inner) is not BlockRealize or not _is_plain(loops, inner):
            return node
        store = inner.block.body
        assert type(store) is BufferStore
        parts = _parts(store.value, inner.block)
        if len(parts) <= _FEW:
            return node
        return SeqStmt(
            tuple([_copy(inner.block, number, *one) for number, one in enumerate(parts)])
        )


def _is_plain(loops: list[For], realize: BlockRealize) -> bool:
    """Whether a nest is what a tensor expression declares: a loop for each iterator of a store."""
    block = realize.block
    return (
        type(block.body) is BufferStore
        and block.init is None
        and all(one.kind == "serial" and not one.annotations for one in loops)
        and [*map(id, realize.iter_values)] == [id(one.loop_var) for one in loops]
        and are_spatial(block.iter_vars)
    )


def _parts(value: Expr, block: Block) -> list[tuple[IterVar, int, int, Expr]]:
    """The iterator, begin, end and value of each part of a concatenation, the first one first."""
    found: list[tuple[IterVar, int, int, Expr]] = []
    axes = {one.var: one for one in block.iter_vars}
    axis: IterVar | None = None
    end: int | None = None
    while (choice := choice_of(value)) is not None:
        condition, chosen, value = choice
        if type(condition) is not LE or type(condition.a) is not IntImm:
            return []
        if axis is None:
            axis = axes.get(condition.b)  # type: ignore[call-overload]
            end = None if axis is None else extent_of(axis)
        begin = condition.a.value
        if axis is None or end is None or condition.b is not axis.var or not 0 < begin <= end:
            return []
        found.append((axis, begin, end, chosen))
        end = begin
    if axis is not None and end is not None:
        found.append((axis, 0, end, value))
    return found[::-1]


def _copy(block: Block, number: int, axis: IterVar, begin: int, end: int, value: Expr) -> Stmt:
    """The loops of one part."""
    dtype = axis.var.dtype
    axes, loops, values = [], [], {}
    for one in block.iter_vars:
        assert one.dom is not None
        extent = IntImm(end - begin, dtype) if one is axis else one.dom.extent
        new = IterVar(Range(one.dom.min, extent), Var(one.var.name, one.var.dtype), one.kind)
        values[one.var] = ops.add(new.var, IntImm(begin, dtype)) if one is axis else new.var
        axes.append(new)
        loops.append(Var(f"{one.var.name.removeprefix('v_')}", one.var.dtype))
    store = block.body
    assert type(store) is BufferStore
    indices = tuple([substitute(one, values) for one in store.indices])
    body = BufferStore(store.buffer, substitute(value, values), indices)
    made = Block(tuple(axes), (), (), f"{block.name_hint}_{number}", None, body)
    buffers = [one.buffer for one in walk(body) if isinstance(one, BufferLoad)]
    reads, writes, _ = access_regions(made, {one.data: one for one in (*buffers, store.buffer)})
    made = replace(made, reads=reads, writes=writes)
    nest: Stmt = BlockRealize(tuple(loops), ops.const(True), made)
    for var, new in zip(reversed(loops), reversed(axes), strict=True):
        assert new.dom is not None
        nest = For(var, new.dom.min, new.dom.extent, "serial", nest)
    return nest
