"""Narrow index arithmetic whose values fit into fewer bits: 64 to 32, unless told otherwise.

    for i in range(int64(64)):                        for i in range(64):
        A[i * int64(8) + cast("int64", tx)]     ->        A[i * 8 + tx]

A loop variable is narrowed if no expression that contains it can exceed these bits; constants and
casts are narrowed in indices and extents only, since elsewhere they are data. Values that are
stored or passed to external functions keep their type. (TVM's name: NarrowDataType.)
Must not know what the indices mean.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import BlockRealize, MatchBufferRegion
from te_sched.ir.expr import (
    BufferLoad,
    BufferRegion,
    Cast,
    Expr,
    IntImm,
    IterVar,
    Let,
    Node,
    Range,
    Var,
)
from te_sched.ir.retyped import Retyper
from te_sched.ir.stmt import Allocate, AttrStmt, BufferStore, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import children, replace
from te_sched.lowering.facts_mapper import note_range
from te_sched.lowering.statements import nodes_of

WIDE, NARROW = "int64", "int32"
_WIDER = {32: frozenset((WIDE,)), 16: frozenset((WIDE, NARROW))}  # by target bits
_THREADS = ("thread_extent", "virtual_thread")
_TELLING = frozenset((Cast, For, IntImm))
_BEGINNING = frozenset((BufferLoad, BufferRegion, IterVar, MatchBufferRegion, Range))


def narrow_index_types(
    func: PrimFunc, settings: Lowering = AS_TVM, target_bits: int = 32
) -> PrimFunc:
    """The function with its index arithmetic in `target_bits` where they are enough."""
    if not any(_is_wide(node, target_bits) for node in nodes_of(func.body, _TELLING)):
        return func
    needs = _Needs(settings, target_bits)
    needs.statement(func.body)
    needs.wide |= needs.met - needs.used
    narrower = _Narrower(needs.wide, needs.met, target_bits)
    return replace(func, body=narrower.visit(func.body))


def _is_wide(node: Any, bits: int) -> bool:
    dtype: str = (node.loop_var if type(node) is For else node).dtype
    return dtype in _WIDER[bits]


class _Needs:
    """Finds the variables, constants and casts that must stay wide, by identity."""

    def __init__(self, settings: Lowering, bits: int) -> None:
        self.analyzer, self.bits = Analyzer(settings), bits
        self.wide: set[Node] = set()
        self.met: set[Node] = set()  # loop variables: only these change their type
        self.used: set[Node] = set()  # TVM leaves loops alone whose variable no expression has

    def statement(self, node: Any) -> None:
        """Visit a statement and its parts."""
        note_range(node, self.analyzer)
        if type(node) is For:
            self.met.add(node.loop_var)
        elif type(node) is AttrStmt and node.key in _THREADS:
            self.met.add(node.node.var)
        elif type(node) is BlockRealize:
            for axis in node.block.iter_vars:
                assert axis.dom is not None
                self.analyzer.bind(axis.var, axis.dom)
                self.met.add(axis.var)
        elif type(node) is LetStmt and _is_wide(node.var, self.bits):
            self.analyzer.bind(node.var, node.value)
            self.met.add(node.var)
            if not self.fits(node.value):
                self.wide.add(node.var)
        for child in children(node):
            if isinstance(child, Stmt):
                self.statement(child)
            else:
                self.expression(child, False)

    def expression(self, node: Any, wide: bool) -> None:
        """Visit an expression that is part of one that is `wide`."""
        kind = type(node)
        if kind is Var:
            self.used.add(node)
        if kind in _BEGINNING:
            wide = False
        elif _is_wide(node, self.bits):
            wide = wide or not self.fits(node)
        if wide and kind in (Var, IntImm, Cast):
            self.wide.add(node)
        for child in children(node):
            self.expression(child, wide)

    def fits(self, node: Expr) -> bool:
        """Whether all values of an expression are integers of the target bits."""
        low, high = self.analyzer.const_bounds(node)
        limit: int = 1 << (self.bits - 1)
        return low is not None and high is not None and low >= -limit and high < limit


class _Narrower(Retyper):
    """Rebuilds a body with narrow variables; `in_index` tells indices and extents from data."""

    def __init__(self, wide: set[Node], variables: set[Node], bits: int) -> None:
        self.wide, self.variables = wide, variables
        self.bits, self.narrow = bits, f"int{bits}"
        self.in_index = False
        self.narrowed: dict[Var, Var] = {}

    # -- expressions -------------------------------------------------------------------------------

    def visit_Var(self, node: Var) -> Expr:
        return self.narrowed.get(node, node)

    def visit_IntImm(self, node: IntImm) -> Expr:
        if self.in_index and _is_wide(node, self.bits) and node not in self.wide:
            return IntImm(node.value, self.narrow)
        return node

    def visit_Cast(self, node: Cast) -> Expr:
        value = self.visit(node.value)
        if self.in_index and _is_wide(node, self.bits) and node not in self.wide:
            return ops.cast(self.narrow, value)
        return node if value is node.value else ops.cast(node.dtype, value)

    def matched(self, *old: Expr) -> tuple[Expr, Expr]:
        """Two operands of one type. If they differ, both are narrowed as indices are."""
        a, b = [self.visit(operand) for operand in old]
        if a.dtype == b.dtype:
            return a, b
        return ops.match_types(*((a, b) if self.in_index else self.indices(old)))

    def visit_Let(self, node: Let) -> Expr:
        value = self.visit(node.value)
        var = self.renamed(node.var, value)
        return replace(node, var=var, value=value, body=self.visit(node.body))

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return replace(node, indices=self.indices(node.indices))

    def indices(self, old: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices and extents: narrowed."""
        outside, self.in_index = self.in_index, True
        new = tuple([self.visit(index) for index in old])
        self.in_index = outside
        return new

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        return replace(node, region=tuple(map(self._range, node.region)))

    def _range(self, old: Range) -> Range:
        low, extent = self.indices((old.min, old.extent))
        return Range(low, ops.cast(low.dtype, extent))

    # -- statements --------------------------------------------------------------------------------

    def visit_BlockRealize(self, node: BlockRealize) -> Stmt:
        axes = tuple(map(self._narrow_iterator, node.block.iter_vars))
        values = [
            ops.cast(axis.var.dtype, value)
            for axis, value in zip(axes, self.indices(node.iter_values), strict=True)
        ]
        block = self.generic(replace(node.block, iter_vars=axes))
        predicate = self.visit(node.predicate)
        return replace(node, iter_values=tuple(values), predicate=predicate, block=block)

    def _narrow_iterator(self, axis: IterVar) -> IterVar:
        """An iterator of a block with a narrow variable and domain, where both fit."""
        if not _is_wide(axis.var, self.bits) or axis.var in self.wide or axis.dom is None:
            return axis
        domain = Range(*self.indices((axis.dom.min, axis.dom.extent)))
        if domain.min.dtype != self.narrow or domain.extent.dtype != self.narrow:
            return axis
        return replace(axis, var=self.renamed(axis.var, domain.min), dom=domain)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        value = ops.cast(node.value.dtype, self.visit(node.value))
        return replace(node, value=value, indices=self.indices(node.indices))

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        # TVM treats all expressions inside of threads as index arithmetic; stores restore the type
        # of data.
        outside, self.in_index = self.in_index, self.in_index or node.key == "thread_extent"
        axis = self._narrow_axis(node) if node.key in _THREADS else node
        mapped = self.generic(axis)
        self.in_index = outside
        return (
            replace(mapped, value=node.value) if node.key in _THREADS and axis is node else mapped
        )

    def _narrow_axis(self, node: AttrStmt) -> AttrStmt:
        """A thread axis with a narrow variable and extent, where both fit; else with a variable of
        the type of its extent."""
        axis = node.node
        extent = node.value
        if axis.var not in self.wide:
            (extent,) = self.indices((extent,))
            if not _is_wide(axis.var, self.bits) or extent.dtype != self.narrow:
                return node
        # One axis may be declared several times: its variable is renamed once.
        var = self.narrowed.get(axis.var) or self.renamed(axis.var, extent)
        return replace(node, node=replace(axis, var=var), value=extent)

    def visit_For(self, node: For) -> Stmt:
        old = node.min, node.extent
        new = self.indices(old)
        loop_var = node.loop_var
        narrow = _is_wide(loop_var, self.bits) and loop_var not in self.wide
        if narrow and all(expr.dtype == self.narrow for expr in new):
            loop_var = self.renamed(loop_var, new[0])
        dtype = loop_var.dtype
        low, extent = [
            a if type(a) is IntImm and a.dtype == dtype else ops.cast(dtype, b)
            for a, b in zip(old, new, strict=True)
        ]
        body = self.visit(node.body)
        return replace(node, loop_var=loop_var, min=low, extent=extent, body=body)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        return replace(node, extents=self.indices(node.extents), body=self.visit(node.body))

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        value = self.visit(node.value)
        if node.var in self.wide:
            value = ops.cast(node.var.dtype, value)
        var = self.renamed(node.var, value)
        return replace(node, var=var, value=value, body=self.visit(node.body))

    def renamed(self, var: Var, value: Expr) -> Var:
        """The variable with the type of its value."""
        if var.dtype == value.dtype:
            return var
        copy = self.narrowed[var] = Var(var.name, value.dtype, var.pointer, var.is_size)
        return copy
