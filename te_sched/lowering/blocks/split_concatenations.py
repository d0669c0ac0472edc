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
            tuple([_copy(inner.block, number, *part) for number, part in enumerate(parts)])
        )


def _is_plain(loops: list[For], realize: BlockRealize) -> bool:
    """Whether a nest is what a tensor expression declares: a loop for each iterator of a store."""
    block = realize.block
    return (
        type(block.body) is BufferStore
        and block.init is None
        and all(loop.kind == "serial" and not loop.annotations for loop in loops)
        and [*map(id, realize.iter_values)] == [id(loop.loop_var) for loop in loops]
        and are_spatial(block.iter_vars)
    )


def _parts(value: Expr, block: Block) -> list[tuple[IterVar, int, int, Expr]]:
    """The iterator, begin, end and value of each part of a concatenation, the first one first."""
    parts: list[tuple[IterVar, int, int, Expr]] = []
    axes = {axis.var: axis for axis in block.iter_vars}
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
        parts.append((axis, begin, end, chosen))
        end = begin
    if axis is not None and end is not None:
        parts.append((axis, 0, end, value))
    return parts[::-1]


def _copy(block: Block, number: int, axis: IterVar, begin: int, end: int, value: Expr) -> Stmt:
    """The loops of one part."""
    dtype = axis.var.dtype
    axes, loops, values = [], [], {}
    for iter_var in block.iter_vars:
        assert iter_var.dom is not None
        extent = IntImm(end - begin, dtype) if iter_var is axis else iter_var.dom.extent
        new = IterVar(
            Range(iter_var.dom.min, extent),
            Var(iter_var.var.name, iter_var.var.dtype),
            iter_var.kind,
        )
        values[iter_var.var] = (
            ops.add(new.var, IntImm(begin, dtype)) if iter_var is axis else new.var
        )
        axes.append(new)
        loops.append(Var(f"{iter_var.var.name.removeprefix('v_')}", iter_var.var.dtype))
    store = block.body
    assert type(store) is BufferStore
    indices = tuple([substitute(index, values) for index in store.indices])
    body = BufferStore(store.buffer, substitute(value, values), indices)
    part_block = Block(tuple(axes), (), (), f"{block.name_hint}_{number}", None, body)
    buffers = [load.buffer for load in walk(body) if isinstance(load, BufferLoad)]
    reads, writes, _ = access_regions(
        part_block, {buffer.data: buffer for buffer in (*buffers, store.buffer)}
    )
    part_block = replace(part_block, reads=reads, writes=writes)
    nest: Stmt = BlockRealize(tuple(loops), ops.const(True), part_block)
    for var, new in zip(reversed(loops), reversed(axes), strict=True):
        assert new.dom is not None
        nest = For(var, new.dom.min, new.dom.extent, "serial", nest)
    return nest
