"""Replace the predicates of accesses by conditions on each lane.

    A.vstore([ramp(i, 1, 4)], v, predicate=m)   ->   if m[0]: A[i] = v[0]
                                                     if m[1]: A[i + 1] = v[1] ...

Programs to run go through this pass first: what comes after, checks as well as code generation,
sees accesses of elements under conditions. Lanes that are not read are 0. Must not know targets.
"""

from __future__ import annotations

from typing import Any

from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    LT,
    Add,
    Broadcast,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    Let,
    Ramp,
    Shuffle,
    Var,
)
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.stmt import BufferStore, IfThenElse, LetStmt, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import Mapper, walk


def lower_predicates(func: PrimFunc) -> PrimFunc:
    """The function without predicates of accesses.

    Raises LoweringError for scalable vectors, which no target of te_sched has.
    """
    has_predicate = False
    for node in walk(func.body):
        if isinstance(node, Expr) and dtypes.is_scalable(node.dtype):
            raise LoweringError(
                f"cannot run a program with scalable vectors: {node} is {node.dtype}",
                "their length is known only to processors with such vectors (SVE, RVV), for which "
                "te_sched generates no code",
                "use vectors of a constant number of lanes, and te_sched.lower to see the program",
            )
        if type(node) in (BufferLoad, BufferStore):
            has_predicate = has_predicate or node.predicate is not None
    return func.with_body(_Lanes().visit(func.body)) if has_predicate else func


class _Lanes(Mapper):
    """Replaces accesses with predicates."""

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        new: BufferLoad = self.generic(node)
        if new.predicate is None:
            return new
        count = dtypes.lanes(new.predicate.dtype)
        if count == 1:
            zero = ops.const(0, new.dtype)
            return if_then_else(new.predicate, BufferLoad(new.buffer, new.indices), zero)
        mask, zero = self._named(new.predicate), ops.const(0, dtypes.element(new.dtype))
        lanes = [
            if_then_else(_lane(mask, k), BufferLoad(new.buffer, _places(new, k)), zero)
            for k in range(count)
        ]
        vector: Expr = Shuffle(tuple(lanes), tuple([IntImm(k) for k in range(count)]))
        return Let(mask, new.predicate, vector) if isinstance(mask, Var) else vector

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        new: BufferStore = self.generic(node)
        if new.predicate is None:
            return new
        count = dtypes.lanes(new.predicate.dtype)
        if count == 1:
            return IfThenElse(new.predicate, BufferStore(new.buffer, new.value, new.indices))
        mask, value = self._named(new.predicate), Var("stored", new.value.dtype)
        stores: Stmt = SeqStmt(
            tuple(
                IfThenElse(
                    _lane(mask, k),
                    BufferStore(new.buffer, _lane(value, k), _places(new, k)),
                )
                for k in range(count)
            )
        )
        if isinstance(mask, Var):
            stores = LetStmt(mask, new.predicate, stores)
        return LetStmt(value, new.value, stores)

    def visit_Call(self, node: Call) -> Expr:
        """The mask of lanes below a limit as a comparison of vectors."""
        new: Call = self.generic(node)
        if new.op != "tir.get_active_lane_mask":
            return new
        start, limit = ops.operands(*new.args)
        count = dtypes.lanes(new.dtype)
        if count == 1:
            return LT(start, limit)
        return LT(Ramp(start, IntImm(1, start.dtype), count), Broadcast(limit, count))

    def _named(self, mask: Expr) -> Expr:
        """The mask, or a variable for one whose lanes are not simple expressions."""
        return mask if type(mask) in (Broadcast, LT) else Var("mask", mask.dtype)


def _lane(vector: Any, number: int) -> Expr:
    """One lane of a vector, as a simple expression where it has one."""
    kind = type(vector)
    if kind is Broadcast:
        scalar: Expr = vector.value
        return scalar
    if kind is Ramp:
        return Add(vector.base, ops.mul(vector.stride, number)) if number else vector.base
    if kind is LT:
        return LT(_lane(vector.a, number), _lane(vector.b, number))
    return Shuffle((vector,), (IntImm(number),))


def _places(access: BufferLoad | BufferStore, number: int) -> tuple[Expr, ...]:
    """The indices of one lane of an access."""
    return (*access.indices[:-1], _lane(access.indices[-1], number))
