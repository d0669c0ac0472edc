"""Give memory that is only accessed in whole vectors a vector type.

Part of TVM's StorageRewrite: `allocate([8192], "float32")` that is read and written by aligned
ramps of 4 becomes `allocate([2048], "float32x4")`, and each ramp the index of one element. The same
holds for pointers of lets. Parameters keep their types. Must not know how allocations share memory.
"""

from __future__ import annotations

from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, Expr, IntImm, PointerType, Ramp, Var
from te_sched.ir.roles import EVERY_ROLE
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import AccessMapper, replace, walk


def vectorize_storage(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """Give allocations a vector type if every access is one aligned vector."""
    lanes = _lanes_of_memory(func, settings)
    if not lanes:
        return func
    body = _VectorRewriter(lanes).visit(func.body)
    return replace(func, body=body)


def _lanes_of_memory(func: PrimFunc, settings: Lowering) -> dict[Var, int]:
    """The memory that gets a vector type, and its lanes."""
    sizes: dict[Var, list[Expr]] = {}
    lets: set[Var] = set()
    accesses: dict[Var, set[int]] = {}
    analyzer = Analyzer(settings)
    for node in walk(func.body):
        kind = type(node)
        if kind is S.Allocate:
            if dtypes.lanes(node.dtype) == 1:
                sizes[node.buffer_var] = [node.extents[-1]]
        elif kind is S.LetStmt:
            pointer = node.var.pointer
            if pointer is not None and dtypes.lanes(pointer.element) == 1:
                sizes[node.var] = []
                lets.add(node.var)
        elif kind is E.BufferLoad or kind is S.BufferStore:
            var = node.buffer.data
            if var in sizes and accesses.get(var) != {1}:
                accesses.setdefault(var, set()).add(_access_lanes(node, analyzer))
                if var in lets:
                    sizes[var].append(node.buffer.shape[-1])
        elif kind is E.Call and node.op == "tir.tvm_access_ptr":
            accesses.setdefault(node.args[1], set()).add(1)
    return {
        var: next(iter(lanes))
        for var, lanes in accesses.items()
        if len(lanes) == 1
        and 1 not in lanes
        and all(_is_multiple(size, next(iter(lanes)), analyzer) for size in sizes.get(var, ()))
    }


def _access_lanes(node: Any, analyzer: Analyzer) -> int:
    """The number of lanes of an aligned vector access; 1 for any other access."""
    index = node.indices[-1] if node.indices else None
    if type(index) is not Ramp or not ops.is_const(index.stride, 1):
        return 1
    if dtypes.lanes(node.buffer.dtype) != 1 or node.predicate is not None:
        return 1
    return index.lanes if _is_multiple(index.base, index.lanes, analyzer) else 1


def _is_multiple(expr: Expr, factor: int, analyzer: Analyzer) -> bool:
    if type(expr) is IntImm:
        return expr.value % factor == 0
    coefficient, base = analyzer.modular_set(expr)
    return coefficient % factor == 0 and base % factor == 0


class _VectorRewriter(AccessMapper):
    """Replaces pointers, buffers and indices."""

    reached = EVERY_ROLE

    def __init__(self, lanes: dict[Var, int]) -> None:
        self.lanes = lanes
        self.vars = {var: _vector_pointer(var, count) for var, count in lanes.items()}

    def visit_Var(self, var: Var) -> Var:
        return self.vars.get(var, var)

    define = visit_Var

    def visit_Allocate(self, node: S.Allocate) -> Any:
        new = self.generic(node)
        count = self.lanes.get(node.buffer_var)
        if count is None:
            return new
        extents = (*new.extents[:-1], ops.div(new.extents[-1], count))
        return replace(new, dtype=dtypes.with_lanes(node.dtype, count), extents=extents)

    def renewed(self, node: Any) -> Any:
        new = self.generic(node)
        count = self.lanes.get(node.data) if type(node) is Buffer else None
        if count is None:
            return new
        shape = (*new.shape[:-1], ops.div(new.shape[-1], count))
        return replace(new, dtype=dtypes.with_lanes(node.dtype, count), shape=shape)

    def moved(self, buffer: Buffer, indices: tuple[Any, ...]) -> tuple[Expr, ...]:
        if buffer.data not in self.lanes:
            return indices
        return (*indices[:-1], ops.div(indices[-1].base, self.lanes[buffer.data]))


def _vector_pointer(var: Var, count: int) -> Var:
    assert var.pointer is not None
    element = dtypes.with_lanes(var.pointer.element, count)
    return Var(var.name, var.dtype, PointerType(element, var.pointer.scope))
