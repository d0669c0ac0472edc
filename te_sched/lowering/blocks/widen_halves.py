"""Compute with numbers of 16 bits in float32: arguments and results keep their dtypes.

A sum of many float16 or bfloat16 numbers loses most of them if each step is rounded, and processors
calculate with float32 faster. What is between the arguments and the results of a function is not
rounded; casts of data that the program states are kept. Must not know graphs or targets.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from te_sched.errors import ScheduleError
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import Block
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import BinaryOp, Buffer, BufferLoad, Call, Cast, Expr, FloatImm, Var
from te_sched.ir.intrinsic_table import FOREIGN
from te_sched.ir.retyped import Retyper
from te_sched.ir.stmt import Allocate, BufferStore, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import ReferenceMapper, reads_data, replace, walk
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.observing import unobserved

WIDE = "float32"


def widen_halves(func: PrimFunc) -> PrimFunc:
    """The function with its numbers of 16 bits computed in float32, if it computes any."""
    nodes = list(walk(func.body))
    is_in_blocks = any(type(node) is Block for node in nodes)
    if not is_in_blocks or any(map(_is_opaque, nodes)) or not any(map(_computes_halves, nodes)):
        return func
    with unobserved():
        sch = BlockSchedule(func)
        results = set(func.buffer_map.values())
        for key in list(sch.keys.values()):
            block = sch.block(key)
            for index, region in enumerate(block.writes):
                if block.init is not None and region.buffer in results and is_half(region.buffer):
                    with suppress(ScheduleError):  # it is rounded at each step then
                        sch.cache_write(sch.handle_of(key), index, "global")
        summed: PrimFunc = sch.mod["main"]
    mapper = _Widener(summed)
    return replace(summed, body=mapper.visit(summed.body))


def is_half(value: Any) -> bool:
    """Whether an expression or a buffer has numbers of 16 bits."""
    dtype = getattr(value, "dtype", "")
    return bool(dtype) and dtypes.lanes(dtype) == 1 and dtypes.is_small_float(dtype)


def _computes_halves(node: Any) -> bool:
    if type(node) is Block:
        return node.init is not None and any(is_half(region.buffer) for region in node.writes)
    is_computed = isinstance(node, BinaryOp) or (type(node) is Call and choice_of(node) is None)
    return is_computed and is_half(node)


def _is_opaque(node: Any) -> bool:
    """Whether a node uses buffers or numbers in a way that depends on their dtype."""
    if type(node) is Block:
        return bool(node.match_buffers)
    if type(node) is not Call:
        return False
    is_foreign = node.op in FOREIGN or node.op == "tir.reinterpret"
    return is_foreign or any(arg.dtype == "handle" for arg in node.args)


class _Widener(Retyper, ReferenceMapper):
    """Changes the dtype of what is computed; arguments and results of the function keep theirs."""

    def __init__(self, func: PrimFunc) -> None:
        self.kept = {*func.params, *func.buffer_map.values()}
        nodes = list(walk(func.body))
        self.allocated = {node.buffer_var for node in nodes if type(node) is Allocate}
        self.variables: dict[Var, Var] = {}

    def renewed(self, node: Any) -> Any:
        is_kept = node in self.kept or getattr(node, "data", None) in self.allocated
        if not isinstance(node, Buffer) or is_kept or not is_half(node):
            return super().renewed(node)
        return decl_buffer(node.shape, WIDE, node.name, scope=node.scope())

    def visit_Var(self, node: Var) -> Expr:
        if node in self.kept and is_half(node):
            return ops.cast(WIDE, node)
        return self.variables.get(node, node)

    def visit_FloatImm(self, node: FloatImm) -> Expr:
        return FloatImm(node.value, WIDE) if is_half(node) else node

    def visit_Cast(self, node: Cast) -> Expr:
        value = self.visit(node.value)
        is_size = dtypes.is_integral(node.value.dtype) and not reads_data(node.value)
        if is_half(node) and not is_half(node.value) and not is_size:  # the program rounds here
            value = ops.cast(node.dtype, value)
        return ops.cast(WIDE if is_half(node) else node.dtype, value)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        load: BufferLoad = self.generic(node)
        return ops.cast(WIDE, load) if is_half(load) else load

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        buffer, indices = self.visit(node.buffer), tuple(map(self.visit, node.indices))
        value = ops.cast(buffer.dtype, self.visit(node.value))
        return replace(node, buffer=buffer, indices=indices, value=value)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        value, var = self.visit(node.value), node.var
        if value.dtype != var.dtype:
            self.variables[var] = replace(var, dtype=value.dtype)
        return LetStmt(self.variables.get(var, var), value, self.visit(node.body))
