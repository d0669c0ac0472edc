"""Rewriting of statements with blocks: variables replaced, bindings simplified, statements removed.

A rewriter notes which old block each new one continues. Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from typing import Any

from te_sched.arith.iter_detect import IterMapLevel
from te_sched.arith.iter_map import iter_map_simplify
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import Buffer, BufferRegion, Call, Expr, IntImm, PointerType, Range, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.visitor import ReferenceMapper, replace, variables_of
from te_sched.tensorir.dependences import mentioned


class BlockMapper(ReferenceMapper):
    """A mapper that notes the old blocks of new ones in `continued`."""

    def __init__(self) -> None:
        self.continued: dict[Block, Block] = {}

    def visit_Block(self, node: Block) -> Any:
        return self.note(self.generic(node), node)

    def note(self, new: Block, old: Block) -> Block:
        """The new block, after noting that it continues an old one."""
        if new is not old:
            self.continued[new] = old
        return new


class Values(BlockMapper):
    """Replaces variables by values."""

    def __init__(self, values: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.values = dict(values)

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)


class IndexMapper(BlockMapper):
    """A mapper that simplifies indices.

    `ranges` are those of variables; `conditions` hold where if_then_else evaluates an index.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ranges: dict[Var, Range] = {}
        self.conditions: tuple[Expr, ...] = ()

    def visit_For(self, node: For) -> Stmt:
        self.ranges[node.loop_var] = Range(self.visit(node.min), self.visit(node.extent))
        return self.generic(node)

    def visit_Call(self, node: Call) -> Expr:
        if node.op != "tir.if_then_else":
            return self.generic(node)
        condition, value, other = node.args
        outer_conditions, condition = self.conditions, self.visit(condition)
        self.conditions = (*outer_conditions, condition)
        value = self.visit(value)
        self.conditions = outer_conditions
        args = (condition, value, self.visit(other))
        is_same = all(a is b for a, b in zip(args, node.args, strict=True))
        return node if is_same else replace(node, args=args)

    def simplified_indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices that are sums of parts of variables, as such sums; others as they are."""
        ranges = {var: self.ranges[var] for var in variables_of(*indices) if var in self.ranges}
        predicate = reduce(ops.logical_and, self.conditions) if self.conditions else None
        new_indices = iter_map_simplify(indices, ranges, predicate, IterMapLevel.SURJECTIVE)
        pairs = zip(indices, new_indices, strict=True)
        return tuple(
            [old if type(old) is Var and type(new) is IntImm else new for old, new in pairs]
        )


class SimplifiedValues(Values, IndexMapper):
    """Replaces variables by values, and simplifies indices; `ranges` are those of new variables."""

    def __init__(self, values: Mapping[Var, Expr], ranges: Mapping[Var, Range]) -> None:
        super().__init__(values)
        self.ranges |= ranges

    def visit_parts(self, block: Block) -> Block:
        """A block with its parts mapped, as a new one."""
        new = self.generic(block)
        return replace(new) if new is block else new

    def visit_access(self, node: Any) -> Any:
        """Map a load or store."""
        new = self.generic(node)
        return replace(new, indices=self.simplified_indices(new.indices))

    visit_BufferLoad = visit_BufferStore = visit_access

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        new = self.generic(node)
        if new is node:
            return new
        low = self.simplified_indices(tuple([bound.min for bound in new.region]))
        pairs = zip(new.region, low, strict=True)
        return replace(new, region=tuple([replace(bound, min=first) for bound, first in pairs]))


class Rebind(Values):
    """Replaces loop variables, in the bindings of blocks with simplification, and adds a predicate
    to the outermost blocks.

    Parameters
    ----------
    ranges : those of the loops around the statement.
    """

    def __init__(
        self,
        values: Mapping[Var, Expr],
        ranges: Mapping[Var, Range],
        predicate: Expr | None = None,
        keeps_units: bool = True,
    ) -> None:
        super().__init__(values)
        self.ranges, self.predicate, self.keeps_units = dict(ranges), predicate, keeps_units
        self.is_inside = False

    def visit_For(self, node: For) -> For:
        self.ranges[node.loop_var] = Range(self.visit(node.min), self.visit(node.extent))
        return self.generic(node)

    def visit_BlockRealize(self, node: BlockRealize) -> BlockRealize:
        if self.is_inside:  # of a block whose iterators its blocks depend on
            return self.generic(node)
        added, self.predicate = self.predicate, None
        self.is_inside = bool(node.iter_values)
        is_used = not mentioned(node.block).isdisjoint(self.values)
        block = self.visit(node.block) if is_used else node.block
        self.is_inside, self.predicate = False, added
        predicate = self.visit(node.predicate)
        if added is not None:
            predicate = ops.logical_and(predicate, added)
        values = tuple([self.visit(value) for value in node.iter_values])
        return replace(
            node,
            iter_values=simplified(values, self.ranges, predicate, self.keeps_units),
            predicate=predicate,
            block=block,
        )


def simplified(
    values: tuple[Expr, ...], ranges: Mapping[Var, Range], predicate: Expr, keeps_units: bool = True
) -> tuple[Expr, ...]:
    """The values of a block's iterators as sums of parts of loops, if they are such sums."""
    if all(type(value) is Var and _begins_at_zero(ranges.get(value)) for value in values):
        return values
    return iter_map_simplify(
        values, ranges, predicate, IterMapLevel.SURJECTIVE, keeps_units=keeps_units
    )


def _begins_at_zero(bound: Range | None) -> bool:
    return bound is None or is_const(bound.min, 0)


def nested(loops: list[For], body: Stmt) -> Stmt:
    """A nest of loops, outermost first, around a body."""
    for loop in reversed(loops):
        body = replace(loop, body=body)
    return body


class BufferMapper(BlockMapper):
    """A mapper of what mentions some buffers; other loops and blocks stay as they are."""

    sought: Collection[Buffer | Var] | None = None  # the buffers; None is every statement

    def visit_nest(self, node: Any) -> Any:
        """Map a loop or a block."""
        if self.sought is not None and mentioned(node).isdisjoint(self.sought):
            return node
        return self.generic(node)

    visit_For = visit_BlockRealize = visit_nest


class Swap(BufferMapper):
    """Replaces buffers by others of the same rank, and views of them by views with their scope and
    dtype.
    """

    def __init__(self, buffers: Mapping[Buffer, Buffer], is_everywhere: bool = False) -> None:
        super().__init__()
        self.buffers = dict(buffers)
        self.data = {old.data: new.data for old, new in buffers.items()}
        if not is_everywhere:
            self.sought = {*self.buffers, *self.data}

    def visit_Var(self, node: Var) -> Var:
        return self.data.get(node, node)

    def renewed(self, node: Any) -> Any:
        buffer = self.buffers.get(node) if type(node) is Buffer else None
        return self.generic(node) if buffer is None else buffer

    def visit_Block(self, node: Block) -> Any:
        for match in node.match_buffers:
            source = match.source.buffer
            target = self.buffers.get(source)
            if target is not None:
                self.replace_view(match.buffer, _view(match.buffer, source, target))
        return super().visit_Block(node)

    def replace_view(self, view: Buffer, new: Buffer) -> None:
        """Replace a view, too."""
        self.buffers[view] = new
        if self.sought is not None:
            self.sought = {*self.sought, view}


def _view(view: Buffer, source: Buffer, target: Buffer) -> Buffer:
    """A view of another buffer, with its scope and dtype, named as it differs from the old one."""
    scope, dtype = target.scope(), target.dtype
    if (scope, dtype) == (view.scope(), view.dtype):
        return view
    is_moved = scope != source.scope()
    name = f"{view.name}_{scope}" if is_moved else view.name
    data = Var(name, view.data.dtype, PointerType(dtype, scope))
    return replace(view, data=data, dtype=dtype, name=name)
