"""Functions with all loops, indices and shapes in one integer dtype. Stored values keep theirs.

Must not know the origin of a function.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import BlockRealize
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    Cast,
    Expr,
    IntImm,
    Ramp,
    Range,
    Select,
    Var,
)
from te_sched.ir.retyped import Retyper
from te_sched.ir.stmt import BufferStore, For, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import ReferenceMapper, replace, walk

_RENEWED = [f"tir.{name}" for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "pow")]
_RENEWED += ["tir.shift_left", "tir.shift_right", "tir.if_then_else"]


def with_index_dtype(func: PrimFunc, dtype: str) -> PrimFunc:
    """The function with its loops, indices and shapes in this dtype."""
    data = {node.var for node in walk(func.body) if isinstance(node, LetStmt)}
    mapper = IndexRetyper(dtype, data)
    buffers = {param: mapper.visit(buffer) for param, buffer in func.buffer_map.items()}
    params = tuple([mapper.visit_Var(param) for param in func.params])
    return replace(func, params=params, buffer_map=buffers, body=mapper.visit(func.body))


def _is_renewed(node: object) -> bool:
    return isinstance(node, Select) or (isinstance(node, Call) and node.op in _RENEWED)


class IndexRetyper(Retyper, ReferenceMapper):
    """Changes the dtype of indices in a function; `data` are variables that keep theirs."""

    def __init__(self, dtype: str, data: set[Var]) -> None:
        self.dtype, self.data = dtype, data
        self.variables: dict[Var, Var] = {}
        self.is_in_index = False
        self.is_in_condition = False

    def index(self, e: Expr) -> Expr:
        """An index, bound or extent."""
        outside, self.is_in_index = self.is_in_index, True
        try:
            new = self.visit(e)
        finally:
            self.is_in_index = outside
        return ops.cast(dtypes.with_lanes(self.dtype, dtypes.lanes(e.dtype)), new)

    def define(self, var: Var) -> Var:
        return self.visit_Var(var)

    def visit_Var(self, node: Var) -> Var:
        new_var = self.variables.get(node)
        if new_var is None:
            if node in self.data or node.dtype == self.dtype or not dtypes.is_int(node.dtype):
                return node
            new_var = self.variables[node] = replace(node, dtype=self.dtype)
        return new_var

    def renewed(self, node: Any) -> Any:
        if not isinstance(node, Buffer):
            return super().renewed(node)
        return replace(
            node,
            shape=tuple(map(self.index, node.shape)),
            strides=tuple(map(self.index, node.strides)),
            elem_offset=self.index(node.elem_offset),
        )

    def visit_Range(self, node: Range) -> Range:
        return Range(self.index(node.min), self.index(node.extent))

    def visit_For(self, node: For) -> Stmt:
        low, extent = self.index(node.min), self.index(node.extent)
        loop: For = self.generic(node)
        return replace(loop, min=low, extent=extent)

    def visit_Cast(self, node: Cast) -> Expr:
        value = self.visit(node.value)
        is_number = self.is_in_index or self.is_in_condition  # a computed index, or one to compare
        if is_number and dtypes.counts(node.dtype):
            return ops.cast(dtypes.with_lanes(self.dtype, dtypes.lanes(node.dtype)), value)
        return node if value is node.value else ops.cast(node.dtype, value)

    def visit_choice(self, node: Expr) -> Expr:
        """Constants in the condition of a choice have the dtype of indices, as in TVM."""
        condition, *values = choice_of(node)  # type: ignore[misc]
        outside, self.is_in_condition = self.is_in_condition, True
        try:
            condition = self.visit(condition)
        finally:
            self.is_in_condition = outside
        return with_choice(node, condition, *ops.match_types(*map(self.visit, values)))

    visit_Select = visit_choice

    def visit_IntImm(self, node: IntImm) -> Expr:
        if not self.is_in_condition or not dtypes.counts(node.dtype):
            return node
        return ops.cast(self.dtype, node)

    def visit_BlockRealize(self, node: BlockRealize) -> Stmt:
        """A block without loops keeps its only iterator, which is not used, as in TVM; there, some
        expressions are always renewed, with the blocks around them.
        """
        result: BlockRealize = self.generic(node)
        if len(node.iter_values) != 1 or not isinstance(node.iter_values[0], IntImm):
            return result
        values, block = (ops.cast(self.dtype, node.iter_values[0]),), result.block
        if not any(_is_renewed(part) for part in walk(node.block.body)):
            block = replace(block, iter_vars=node.block.iter_vars)
        return BlockRealize(values, result.predicate, block)

    def visit_Ramp(self, node: Ramp) -> Expr:
        if not self.is_in_index:
            return self.generic(node)
        return Ramp(self.index(node.base), self.index(node.stride), node.lanes)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        mask = None if node.predicate is None else self.visit(node.predicate)
        return BufferLoad(self.visit(node.buffer), tuple(map(self.index, node.indices)), mask)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        buffer, indices = self.visit(node.buffer), tuple(map(self.index, node.indices))
        value = ops.cast(node.value.dtype, self.visit(node.value))
        return replace(node, buffer=buffer, value=value, indices=indices)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        value, var = self.visit(node.value), node.var
        if value.dtype != var.dtype:  # of indices
            self.variables[var] = replace(var, dtype=value.dtype)
        return LetStmt(self.visit_Var(var), value, self.visit(node.body))
