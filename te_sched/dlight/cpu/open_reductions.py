"""Reductions along rows of an open size, padded to vectors.

    for k in range(n): S[0] += A[k]      ->      for k in range((n + 15) // 16 * 16):
                                                     S[0] += A[k] if k < n else 0.0

A loop over vectors of parts has no iteration in which only some of its lanes exist; it is cut at
its condition later. Must not know how reductions are scheduled.
"""

from __future__ import annotations

from typing import Any

from te_sched.dlight.cpu.windows import LoopsOfBlock, nests_of
from te_sched.ir import ops
from te_sched.ir.expr import Add, BufferLoad, Expr, FloatImm, IntImm, IterVar, Max, Min, Mul, Var
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.stmt import BufferStore, For, PrimFunc
from te_sched.ir.visitor import ReferenceMapper, replace, variables_of
from te_sched.tensorir.facts.axes import REDUCTION, extent_of
from te_sched.tensorir.facts.computations import factors_of, loads_of, stored

# The constants that begin a reduction and change nothing; None stands for all.
_NEUTRAL: dict[type, float | None] = {Add: 0, Mul: 1, Max: None, Min: None}


def with_padded_reductions(func: PrimFunc, lanes: int) -> PrimFunc:
    """The function whose reductions along rows have multiples of `lanes` steps, if calls give
    their number. Sums of products stay as they are.
    """
    for nest in nests_of(func):
        fill = _fill_of(nest)
        if fill is not None:
            func = replace(func, body=_ReductionPadder(nest, fill, lanes).visit(func.body))
    return func


def _fill_of(nest: LoopsOfBlock) -> Expr | None:
    """What a reduction along rows of an open size adds for steps that do not exist; None for other
    blocks.
    """
    block, store = nest.block, stored(nest.block)
    if store is None or not block.iter_vars or factors_of(block) is not None:
        return None
    last = block.iter_vars[-1]
    if last.kind != REDUCTION or extent_of(last) is not None:
        return None
    first = block.init.value if isinstance(block.init, BufferStore) else None
    if not isinstance(first, FloatImm | IntImm) or type(store.value) not in _NEUTRAL:
        return None
    neutral = _NEUTRAL[type(store.value)]
    loads = loads_of(block)
    is_along_rows = bool(loads) and all(is_row(load, last.var) for load in loads)
    is_update = _place_of_source(store) is not None
    return first if is_along_rows and is_update and neutral in (None, first.value) else None


def is_row(load: BufferLoad, var: Var) -> bool:
    """Whether neighbors along an iterator are neighbors in memory, or the same element."""
    used = variables_of(*load.indices)
    if var not in used:
        return True
    return load.indices[-1] is var and var not in variables_of(*load.indices[:-1])


def _place_of_source(store: BufferStore) -> str | None:
    """The field of an update that has what is added to the own element."""
    value: Any = store.value
    own = [
        isinstance(part, BufferLoad) and part.buffer is store.buffer for part in (value.a, value.b)
    ]
    return None if own.count(True) != 1 else ("b" if own[0] else "a")


class _ReductionPadder(ReferenceMapper):
    """Pads the last loop of a reduction."""

    def __init__(self, nest: LoopsOfBlock, fill: Expr, lanes: int) -> None:
        axis = nest.block.iter_vars[-1]
        assert axis.dom is not None
        self.axis, self.extent, self.fill = axis.var, axis.dom.extent, fill
        self.loop, self.store = nest.loops[-1].loop_var, nest.block.body
        number = IntImm(lanes, axis.dtype)
        self.padded = ops.floordiv(self.extent + (lanes - 1), number) * number

    def renewed(self, node: Any) -> Any:
        new = self.generic(node)
        is_axis = isinstance(node, IterVar) and node.var is self.axis
        return replace(new, dom=replace(new.dom, extent=self.padded)) if is_axis else new

    def visit_For(self, node: For) -> For:
        new: For = self.generic(node)
        return replace(new, extent=self.padded) if node.loop_var is self.loop else new

    def visit_BufferStore(self, node: BufferStore) -> BufferStore:
        new: BufferStore = self.generic(node)
        place = _place_of_source(new) if node is self.store else None
        if place is None:
            return new
        source = getattr(new.value, place)
        chosen = if_then_else(self.axis < self.extent, source, self.fill)
        return replace(new, value=replace(new.value, **{place: chosen}))
