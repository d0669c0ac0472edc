"""Blocks as tiles of a new block: their iterators are divided into those of the new block, for the
loops around it, and their own, for the loops in it. Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import from_range
from te_sched.arith.iter_detect import expr_of, is_number
from te_sched.arith.iter_expr import IterMark, IterSumExpr
from te_sched.arith.iter_map import Division, subspace_divide
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IterVar, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import Stmt
from te_sched.ir.visitor import replace, substitute, variables_of
from te_sched.tensorir.blocks import loop_ranges, loops_around, predicate_of
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.relaxation import WITHIN, Sets, joined, ranges_of, region_sets, why_outside
from te_sched.tensorir.rewriting import Values, nested
from te_sched.tensorir.state import BlockIndex, BlockKey

# Makes the error of a reason and help.
Refusal = Callable[[str, str], Exception]


def divided(
    index: BlockIndex, key: BlockKey, inside: Sequence[Var], keeps_units: bool, refused: Refusal
) -> Division:
    """The iterators of a block divided into parts of the loops around a new block, and of those
    `inside` of it; `refused` makes the error where they are not such parts.
    """
    realize = index.realize(key)
    ranges = loop_ranges(index, loops_around(index, key))
    used = variables_of(*realize.iter_values)
    outside = [
        loop for loop in index.around(key) if isinstance(loop, Var) and loop not in ranges
        if loop in used
    ]  # fmt: skip
    if outside:
        raise refused(
            f"an iterator of block {key.name} depends on loop {outside[0].name}, which is outside "
            "of the block around them",
            "bind that loop to an iterator of the block around them",
        )
    if why := why_outside(index, key):
        raise refused(f"block {key.name} leaves its domain: {why}", WITHIN)
    division = subspace_divide(
        realize.iter_values, ranges, inside, predicate_of(index, key), keeps_units=keeps_units
    )
    if division is None:
        names = ", ".join([loop.name for loop in inside])
        raise refused(
            f"the iterators of block {key.name} do not divide into a part of the loops outside and "
            f"one of {names or 'no loops'}: " + ", ".join(map(str, realize.iter_values)),
            "reorder the loops so that those inside are the finer parts",
        )
    return division


def outer_axes(block: Block, division: Division) -> tuple[list[IterVar], tuple[Expr, ...]]:
    """The iterators of a new block around a block, and their values."""
    axes, values = [], []
    for axis, (outer, _) in zip(block.iter_vars, division.bindings, strict=True):
        axes.append(_axis(axis, f"{axis.var.name}_o", outer))
        values.append(_value_of(axis, outer))
    return axes, tuple(values)


def _axis(axis: IterVar, name: str, part: IterMark) -> IterVar:
    """An iterator for a part of another one."""
    dtype = axis.var.dtype
    dom = Range(ops.cast(dtype, _begin(part)), ops.cast(dtype, part.extent))
    return IterVar(dom, Var(name, dtype), axis.kind)


def _begin(part: IterMark) -> Any:
    """The first value of a part of an iterator."""
    assert isinstance(part.source, IterSumExpr)
    return part.source.base


def _value_of(axis: IterVar, part: IterMark) -> Expr:
    """The value of a part of an iterator."""
    value: Expr = ops.cast(axis.var.dtype, expr_of(part))
    return value if is_number(_begin(part), 0) else Analyzer().simplify(value)


class Tile:
    """A block in loops, of which a new block with the iterators `outer` is made."""

    def __init__(
        self,
        index: BlockIndex,
        key: BlockKey,
        inside: Sequence[Var],
        division: Division,
        outer: Sequence[IterVar],
        keeps_units: bool,
    ) -> None:
        self.own = index.block(key)
        self.loops = [index.loop(loop) for loop in inside]
        self.predicate = division.predicates[1]
        self.inner: list[tuple[IterVar, Expr]] = []
        self.values: dict[Var, Expr] = {}
        for axis, around, parts in zip(self.own.iter_vars, outer, division.bindings, strict=False):
            self.values[axis.var] = self._value(axis, around, parts, keeps_units)
        self.visitor = Values(self.values)

    def _value(
        self, axis: IterVar, outer: IterVar, parts: tuple[IterMark, IterMark], keeps_units: bool
    ) -> Expr:
        """The value of an iterator; its inner part becomes an iterator if it has several values."""
        dtype = axis.var.dtype
        is_outer, is_inner = [not is_number(part.extent, 1) for part in parts]
        terms: list[Expr] = []
        if is_outer or (keeps_units and not is_inner):
            size = ops.cast(dtype, parts[1].extent)
            terms.append(outer.var * size if is_inner else outer.var)
        else:
            terms.append(ops.cast(dtype, _begin(parts[0])))
        if is_inner:
            inner_axis = _axis(axis, f"{axis.var.name}_i", parts[1])
            self.inner.append((inner_axis, _value_of(axis, parts[1])))
            terms.append(inner_axis.var)
        else:
            terms.append(ops.cast(dtype, _begin(parts[1])))
        return ops.add(*terms)  # a constant 0 vanishes

    def block(self, keeps_init: bool) -> Block:
        """The block with its inner iterators; without T.init(), it reads what it updates."""
        own, visit = self.own, self.visitor.visit
        init = own.init if keeps_init else None
        read_buffers = {region.buffer for region in own.reads}
        is_begun = own.init is not None and not keeps_init
        extra = [region for region in own.writes if is_begun and region.buffer not in read_buffers]
        return replace(
            own,
            iter_vars=tuple([axis for axis, _ in self.inner]),
            reads=tuple([visit(region) for region in (*extra, *own.reads)]),
            writes=tuple([visit(region) for region in own.writes]),
            init=None if init is None else visit(init),
            body=visit(own.body),
            match_buffers=tuple([visit(view) for view in own.match_buffers]),
        )

    def statement(self, block: Block) -> Stmt:
        """The loops around a block with the inner iterators."""
        values = tuple([value for _, value in self.inner])
        return nested(self.loops, BlockRealize(values, self.predicate, block))

    def relaxed(self, regions: Sequence[BufferRegion]) -> tuple[BufferRegion, ...]:
        """Regions of the block over all values of the inner iterators, one for each buffer."""
        domains = {axis.var: from_range(_dom(axis)) for axis, _ in self.inner}
        sets_of: dict[Buffer, list[Sets]] = {}
        for region in map(self.visitor.visit, regions):
            sets_of.setdefault(region.buffer, []).append(region_sets(region, domains))
        return _regions(sets_of.items())

    def initialization(self) -> Stmt:
        """Loops around a block that initializes all elements of the tile."""
        spatial = [(axis, value) for axis, value in self.inner if axis.kind == SPATIAL]
        used = variables_of(*[value for _, value in spatial])
        chosen = [loop for loop in self.loops if loop.loop_var in used]
        variables: dict[Var, Expr] = {
            loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in chosen
        }
        init_axes = [
            IterVar(axis.dom, Var(f"{axis.var.name}_init", axis.var.dtype), axis.kind)
            for axis, _ in spatial
        ]
        inside: dict[Var, Expr] = {
            axis.var: new.var for (axis, _), new in zip(spatial, init_axes, strict=True)
        }
        assert self.own.init is not None
        first = {var: substitute(value, inside) for var, value in self.values.items()}
        is_guarded = not is_const(self.predicate, 1) and not variables_of(self.predicate) - used
        block = Block(
            tuple(init_axes),
            (),
            tuple([substitute(region, first) for region in self.own.writes]),
            f"{self.own.name_hint}_init",
            None,
            substitute(self.own.init, first),
        )
        realize = BlockRealize(
            tuple([substitute(value, variables) for _, value in spatial]),
            substitute(self.predicate, variables) if is_guarded else ops.const(True),
            block,
        )
        return nested(
            [replace(loop, loop_var=variables[loop.loop_var]) for loop in chosen], realize
        )


def _dom(axis: IterVar) -> Range:
    assert axis.dom is not None
    return axis.dom


def united(regions: Iterable[BufferRegion]) -> tuple[BufferRegion, ...]:
    """The regions that several blocks access, one for each buffer: as in TVM the last first."""
    sets_of: dict[Buffer, list[Sets]] = {}
    for region in regions:
        sets_of.setdefault(region.buffer, []).append([from_range(bound) for bound in region.region])
    return _regions(reversed(sets_of.items()))


def _regions(buffer_sets: Iterable[tuple[Buffer, list[Sets]]]) -> tuple[BufferRegion, ...]:
    """The unions of sets of indices, by buffer."""
    return tuple(
        [
            BufferRegion(buffer, tuple(ranges_of(joined(sets), buffer.shape, Analyzer(), False)))
            for buffer, sets in buffer_sets
        ]
    )
