"""Replace views of regions, which blocks declare, by the buffers that they view.

Their pointers, offsets, strides and shapes become those of the region. (TVM's name:
LowerMatchBuffer.)
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError, Subject
from te_sched.ir import ops
from te_sched.ir.blocks import Block, MatchBufferRegion
from te_sched.ir.buffer import element_offset
from te_sched.ir.expr import Buffer, BufferRegion, Expr, IntImm, Ramp, Range, Var
from te_sched.ir.stmt import AssertStmt, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import AccessMapper, replace, variables_of
from te_sched.lowering.join_dimensions import offset_by


def lower_match_buffers(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without views of regions."""
    bound_vars = {*func.params}
    for buffer in func.buffer_map.values():
        bound_vars |= variables_of(*buffer.shape, *buffer.strides)
    return func.with_body(_MatchedViews(Analyzer(settings), bound_vars).visit(func.body))


class _MatchedViews(AccessMapper):
    """Replaces views; `views` maps each to its region, `values` its variables to their values.

    A view does not define variables that are `known`: those of the function, loops and lets.
    """

    def __init__(self, analyzer: Analyzer, bound_vars: set[Var]) -> None:
        self.analyzer, self.known = analyzer, bound_vars
        self.views: dict[Buffer, BufferRegion] = {}
        self.values: dict[Var, Expr] = {}

    def renewed(self, node: Any) -> Any:
        region = self.views.get(node) if isinstance(node, Buffer) else None
        return self.generic(node) if region is None else region.buffer

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        region = self.views.get(buffer)
        if region is None:
            return indices
        _check_rows(buffer, region, indices, self.analyzer)
        dropped = len(region.region) - len(indices)
        begins = [dim_range.min for dim_range in region.region]
        own = [offset_by(b, i) for b, i in zip(begins[dropped:], indices, strict=True)]
        return (*begins[:dropped], *own)

    def visit_BufferRegion(self, node: BufferRegion) -> BufferRegion:
        region = self.views.get(node.buffer)
        inside: BufferRegion = self.generic(node)
        if region is None:
            return inside
        dropped = len(region.region) - len(inside.region)
        own = [
            Range(ops.add(outer.min, dim_range.min), dim_range.extent)
            for outer, dim_range in zip(region.region[dropped:], inside.region, strict=True)
        ]
        return BufferRegion(region.buffer, (*region.region[:dropped], *own))

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_For(self, node: For) -> Stmt:
        self.known.add(node.loop_var)
        return self.generic(node)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        self.known.add(node.var)
        return self.generic(node)

    def visit_Block(self, node: Block) -> Stmt:
        asserts: list[tuple[Expr, str]] = []
        for match in node.match_buffers:
            self._bind(match, asserts)
        block: Block = self.generic(replace(node, match_buffers=()))
        body = block.body
        for condition, message in reversed(asserts):
            body = AssertStmt(condition, ops.convert(message), body)
        return replace(block, body=body)

    def _bind(self, match: MatchBufferRegion, asserts: list[tuple[Expr, str]]) -> None:
        """Bind a view to its region; `asserts` collects the conditions."""
        view, source = match.buffer, self.visit(match.source)
        whole = source.buffer
        self.views[view] = source
        self.values[view.data] = whole.data
        begins = tuple([bounds.min for bounds in source.region])
        dropped = len(source.region) - len(view.shape)
        for wanted, dim_range in zip(view.shape, source.region[dropped:], strict=True):
            self._value(view, wanted, dim_range.extent, asserts, "shape")
        if view.elem_offset is not None:
            offset = self.analyzer.simplify(element_offset(whole, begins))
            if ops.is_const(view.elem_offset, 0) and not ops.is_const(offset, 0):
                raise _mismatch(view, "elem_offset", view.elem_offset, offset)
            self._value(view, view.elem_offset, offset, asserts, "elem_offset")
        for wanted, stride in zip(view.strides, strides_of(whole)[dropped:], strict=False):
            self._value(view, wanted, stride, asserts, "stride")

    def _value(
        self, view: Buffer, wanted: Expr, value: Expr, asserts: list[tuple[Expr, str]], what: str
    ) -> None:
        if type(wanted) is Var and wanted not in self.values and wanted not in self.known:
            self.values[wanted] = value
            return
        equal = self.analyzer.simplify(ops.equal(self.visit(wanted), value))
        if isinstance(equal, IntImm):
            if not equal.value:
                raise _mismatch(view, what, wanted, value)
            return
        asserts.append((equal, f"the {what} of {view.name} is not that of its region"))


def _check_rows(
    view: Buffer, region: BufferRegion, indices: tuple[Expr, ...], analyzer: Analyzer
) -> None:
    """Refuse a vector that goes beyond a row of a view whose rows are not one after the other."""
    last = indices[-1] if indices else None
    if type(last) is not Ramp or not ops.is_const(last.stride, 1):
        return
    whole, size = region.buffer, 1
    rows = zip(reversed(view.shape), reversed(whole.shape), strict=False)
    for extent, row in rows:
        size = size * extent.value if isinstance(extent, IntImm) else last.lanes
        if last.lanes <= size:
            return
        if whole.strides or not analyzer.can_prove_equal(extent, row):
            raise LoweringError(
                f"a vector of {last.lanes} elements of view {view.name} goes beyond its rows",
                f"its rows of {extent} elements are parts of rows of {row} in {whole.name}",
                f"match whole rows of {whole.name}, which transform_layout makes of tiles",
                Subject("buffer", view.name),
            )


def _mismatch(view: Buffer, what: str, wanted: Expr, value: Expr) -> LoweringError:
    remedy = "match a region of this size"
    if what == "elem_offset":
        remedy = "write T.match_buffer(..., offset_factor=1), which takes any offset"
    return LoweringError(
        f"the {what} of view {view.name} is {wanted}, expected {value}",
        "it differs from that of the region that it matches",
        remedy,
        Subject("buffer", view.name),
    )


def strides_of(buffer: Buffer) -> tuple[Expr, ...]:
    """The strides of a buffer, also where they are compact."""
    if buffer.strides:
        return buffer.strides
    strides: list[Expr] = []
    for axis in reversed(range(len(buffer.shape))):
        extent = buffer.shape[axis]
        is_last = axis == len(buffer.shape) - 1
        strides.append(
            IntImm(1, extent.dtype) if is_last else ops.mul(strides[-1], buffer.shape[axis + 1])
        )
    return tuple(reversed(strides))
