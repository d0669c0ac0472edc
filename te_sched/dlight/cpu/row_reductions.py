"""Reductions along rows, padded to vectors: those of an open size, or of a size that vectors do not
divide.

    for k in range(n): S[0] += A[k]      ->      for k in range((n + 15) // 16 * 16):
                                                     S[0] += A[k] if k < n else 0.0

A loop over vectors of parts has no iteration in which only some of its lanes exist; it is cut at
its condition later. Must not know how reductions are scheduled.
"""

from __future__ import annotations

from typing import Any

from te_sched.dlight.cpu.windows import LoopsOfBlock, nests_of
from te_sched.ir import ops
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Add, BufferLoad, FloatImm, IntImm, Max, Min, Mul, Var
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.stmt import For, PrimFunc
from te_sched.ir.visitor import ReferenceMapper, replace, variables_of
from te_sched.tensorir.facts.axes import REDUCTION, extent_of
from te_sched.tensorir.facts.computations import factors_of, is_reduction, loads_of
from te_sched.tensorir.updates import Update, known_update_of

_MANY = 4  # vectors, beside which the last one costs little


def with_padded_reductions(func: PrimFunc, lanes: int) -> PrimFunc:
    """The function whose reductions along rows have multiples of `lanes` steps, if that pays or
    calls give their number. Sums of products stay as they are.
    """
    for nest in nests_of(func):
        update = _update_along_rows(nest.block, lanes)
        if update is not None:
            func = replace(func, body=_ReductionPadder(nest, update, lanes).visit(func.body))
    return func


def _update_along_rows(block: Block, lanes: int) -> Update | None:
    """What a block computes that reduces along rows which are padded; None for other blocks."""
    if not block.iter_vars or not is_reduction(block) or factors_of(block) is not None:
        return None
    last = block.iter_vars[-1]
    if last.kind != REDUCTION or not _is_uneven(extent_of(last), lanes):
        return None
    loads = loads_of(block)
    if not loads or not all(is_row(load, last.var) for load in loads):
        return None
    update = known_update_of(block)
    if update is None:
        return None
    reducer = update.reducer
    is_plain = all(isinstance(expr, Add | Mul | Max | Min) for expr in reducer.result)
    are_known = all(isinstance(expr, FloatImm | IntImm) for expr in reducer.identity)
    return update if is_plain and are_known else None


def _is_uneven(steps: int | None, lanes: int) -> bool:
    """Whether padding pays: vectors do not divide the steps, which are many, or have no part of a
    vector that divides them.
    """
    if steps is None:
        return True
    part = lanes if steps >= _MANY * lanes else max(1, lanes // 4)
    return steps >= 2 * lanes and steps % part > 0


def is_row(load: BufferLoad, var: Var) -> bool:
    """Whether neighbors along an iterator are neighbors in memory, or the same element."""
    used = variables_of(*load.indices)
    if var not in used:
        return True
    return load.indices[-1] is var and var not in variables_of(*load.indices[:-1])


class _ReductionPadder(ReferenceMapper):
    """Pads the last loop of a reduction."""

    def __init__(self, nest: LoopsOfBlock, update: Update, lanes: int) -> None:
        axis = nest.block.iter_vars[-1]
        assert axis.dom is not None
        self.axis, self.loop, self.block, self.update = axis, nest.loops[-1], nest.block, update
        self.extent, number = axis.dom.extent, IntImm(lanes, axis.dtype)
        self.padded = ops.floordiv(self.extent + (lanes - 1), number) * number

    def renewed(self, node: Any) -> Any:
        new = self.generic(node)
        return replace(new, dom=replace(new.dom, extent=self.padded)) if node is self.axis else new

    def visit_For(self, node: For) -> For:
        new: For = self.generic(node)
        return replace(new, extent=self.padded) if node is self.loop else new

    def visit_Block(self, node: Block) -> Block:
        new: Block = self.generic(node)
        if node is not self.block:
            return new
        is_step = self.axis.var < self.extent
        pairs = zip(self.update.sources, self.update.reducer.identity, strict=True)
        sources = [if_then_else(is_step, source, identity) for source, identity in pairs]
        results = [BufferLoad(store.buffer, store.indices) for store in self.update.stores]
        return replace(new, body=self.update.combined(results, sources))
