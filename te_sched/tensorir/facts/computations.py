"""What a block computes by itself: whether it copies, adds up or multiplies, of which operands, and
how its reads follow its writes. Must not know its loops and other blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.blocks import Block
from te_sched.ir.expr import (
    Add,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    Expr,
    IntImm,
    IterVar,
    Mul,
    Select,
    Var,
)
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import BufferStore, IfThenElse
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import variables_of, walk
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL, are_spatial


def is_injective(block: Block) -> bool:
    """Whether each instance of a block writes elements of its own, from what it reads."""
    return block.init is None and are_spatial(block.iter_vars)


def is_reduction(block: Block) -> bool:
    """Whether a block reduces into one element, or a tuple of them."""
    return block.init is not None and has_reduction(block)


def has_reduction(block: Block) -> bool:
    """Whether a block has reduction iterators, and none that is neither that nor data parallel."""
    kinds = {axis.kind for axis in block.iter_vars}
    return REDUCTION in kinds and kinds <= {SPATIAL, REDUCTION}


# -- operands --------------------------------------------------------------------------------------


def stored(block: Block) -> BufferStore | None:
    """The only store of a block."""
    return block.body if isinstance(block.body, BufferStore) else None


def loads_of(block: Block) -> list[BufferLoad]:
    """The elements that a block reads, but for those of what it writes itself."""
    own = {region.buffer for region in block.writes}
    loads = [part for part in walk(block.body) if isinstance(part, BufferLoad)]
    return [load for load in loads if load.buffer not in own]


def inputs_of(block: Block) -> list[BufferRegion]:
    """The regions that a block reads, but for what it writes itself."""
    own = {region.buffer for region in block.writes}
    return [region for region in block.reads if region.buffer not in own]


def indices_of(region: BufferRegion) -> set[Var]:
    """The variables in the indices of a region."""
    return variables_of(*[end for bound in region.region for end in (bound.min, bound.extent)])


def calls_of(block: Block) -> set[str]:
    """The names of the intrinsics that a block calls."""
    return {str(part.op) for part in walk(block.body) if isinstance(part, Call)}


def has_branch(block: Block) -> bool:
    """Whether a block chooses between statements or values."""
    return any(
        type(part) in (IfThenElse, Select)
        or (isinstance(part, Call) and part.op == "tir.if_then_else")
        for part in walk(block.body)
    )


# -- copies, sums and products ---------------------------------------------------------------------


def is_copy(block: Block) -> bool:
    """Whether a block moves elements without computing."""
    store = stored(block)
    return store is not None and isinstance(store.value, BufferLoad)


def is_transposition(block: Block) -> bool:
    """Whether a block moves elements without computing, from indices that are iterators."""
    indices = [index for load in loads_of(block) for index in load.indices]
    return is_copy(block) and all(isinstance(index, Var | IntImm) for index in indices)


def is_affine_copy(block: Block) -> bool:
    """Whether a block moves elements, which it may cast, from indices that are sums of multiples of
    iterators, and in the last dimension an iterator.
    """
    store = stored(block)
    load = None if store is None else _uncast(store.value)
    if not isinstance(load, BufferLoad) or not load.indices:
        return False
    if not isinstance(load.indices[-1], Var | IntImm):
        return False
    parts = [part for index in load.indices for part in walk(index)]
    return all(isinstance(part, Var | IntImm | Add | Mul) for part in parts)


def added_by(store: BufferStore) -> Expr | None:
    """What a store adds to its element; None for other stores."""
    if not isinstance(store.value, Add):
        return None
    own = store.value.a
    if not isinstance(own, BufferLoad) or own.buffer is not store.buffer:
        return None
    is_same = all(same(a, b) for a, b in zip(own.indices, store.indices, strict=True))
    return store.value.b if is_same else None


def summand_of(block: Block) -> Expr | None:
    """What a block adds to each element; None for other blocks."""
    store = stored(block)
    return None if store is None else added_by(store)


def loads_multiplied(value: Expr | None) -> tuple[BufferLoad, BufferLoad] | None:
    """The two factors of a product of elements, without casts; None for other values."""
    product = _uncast(value)
    if not isinstance(product, Mul):
        return None
    left, right = _uncast(product.a), _uncast(product.b)
    if not isinstance(left, BufferLoad) or not isinstance(right, BufferLoad):
        return None
    return left, right


def factors_of(block: Block) -> tuple[BufferLoad, BufferLoad] | None:
    """The two factors of a sum of products, without casts; None for other blocks."""
    return loads_multiplied(summand_of(block)) if is_reduction(block) else None


def _uncast(value: Expr | None) -> Expr | None:
    while isinstance(value, Cast):
        value = value.value
    return value


class ProductAxes(NamedTuple):
    """The iterators of a product of matrices by their parts; those of one value have none."""

    batch: list[IterVar]
    row: list[IterVar]
    column: list[IterVar]
    depth: list[IterVar]


# Which of left operand, right operand and result an iterator is an index of.
_PARTS = {
    (True, True, True): "batch",
    (True, False, True): "row",
    (False, True, True): "column",
    (True, True, False): "depth",
}


def product_axes(block: Block) -> ProductAxes | None:
    """How a block is a product of matrices; None if it is not one."""
    inputs = inputs_of(block)
    if len(inputs) != 2 or len(block.writes) != 1 or summand_of(block) is None:
        return None
    left, right, result = (indices_of(region) for region in (*inputs, block.writes[0]))
    axes = ProductAxes([], [], [], [])
    for axis in block.iter_vars:
        if axis.dom is None or is_const(axis.dom.extent, 1):
            continue
        part = _PARTS.get((axis.var in left, axis.var in right, axis.var in result))
        if part is None or (part == "depth") == (axis.kind == SPATIAL):
            return None
        getattr(axes, part).append(axis)
    return axes if axes.row and axes.column and axes.depth else None


# -- reads that follow writes ----------------------------------------------------------------------


class Correspondence(NamedTuple):
    """How the indices of a read follow those of a write: each is one of the write's, shifted by a
    constant, or constant.

    `is_ordered`: in the order of the write. `is_injective`: none occurs twice.
    """

    is_ordered: bool
    is_injective: bool


def correspondence(read: BufferRegion, write: BufferRegion) -> Correspondence | None:
    """How a read follows a write; None if other indices occur."""
    positions: dict[Expr, int] = {}
    for position, bound in enumerate(write.region):
        if not is_const(bound.extent, 1):
            return None
        if type(bound.min) is Var and bound.min not in positions:
            positions[bound.min] = position
        elif not isinstance(bound.min, IntImm):
            return None
    analyzer = Analyzer()
    order: list[int] = []
    for bound in read.region:
        if not is_const(bound.extent, 1):
            return None
        used = variables_of(bound.min)
        if not used:
            continue
        if len(used) != 1:
            return None
        (var,) = used
        shift = analyzer.simplify(bound.min - var)
        if var not in positions or not isinstance(shift, IntImm):
            return None
        order.append(positions[var])
    return Correspondence(order == sorted(order), len(order) == len(set(order)))


def follows(reads: Iterable[BufferRegion], writes: Sequence[BufferRegion]) -> bool:
    """Whether all reads of a block follow its only write in order, without repetition."""
    if len(writes) != 1:
        return False
    kinds = [correspondence(read, writes[0]) for read in reads]
    return all(kind is not None and kind.is_ordered and kind.is_injective for kind in kinds)
