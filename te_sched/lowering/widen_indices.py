"""Compute indices and conditions in 64 bits where 32 bits may overflow.

    for i in range(60000):                  for i in range(60000):
        B[i] = A[max(0 - i * i, -7) + 7]        wide = cast("int64", i)
                                       ->       B[i] = A[max(0 - wide * wide, -7) + 7]

Proofs and checks of accesses, and the simplifier, assume that expressions of loop variables alone
do not overflow: this pass ensures it in programs to run. The bounds of an array limit the terms of
an index, so that A[i * m + j] is unchanged for all sizes. Integers in memory wrap around, as
numpy's do; an index that adds them is checked before, and its terms are widened like others. Must
not know how indices are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.arith.const_bounds import (
    BINARY,
    EVERYTHING,
    INFINITY,
    ConstBound,
    ConstBounds,
    of_dtype,
)
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BuildError
from te_sched.ir import dtypes, ops
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.data import numbers_of_calls
from te_sched.ir.expr import (
    Add,
    BinaryOp,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    CompareOp,
    Expr,
    IntImm,
    Let,
    Mul,
    Not,
    Ramp,
    Range,
    Select,
    Sub,
    Var,
)
from te_sched.ir.intrinsic_table import BITWISE
from te_sched.ir.message_text import spelled
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import (
    AssertStmt,
    AttrStmt,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.visitor import NODE_CLASSES, Mapper, children, replace, variables_of
from te_sched.wording import wording

NARROW, WIDE = "int32", "int64"
# The runtime checks that dynamic sizes are at most this, so that sums in loops over tiles of them,
# which exceed the size a little, are 32-bit integers.
LARGEST_SIZE = 2**31 - 2**16
_INT32 = of_dtype(NARROW)


def widen_indices(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with wider arithmetic where it is needed; the same object if nowhere."""
    return func.with_body(_Widener(func).visit(func.body))


class _Widener(Mapper):
    """Rebuilds statements; `exact` rebuilds expressions that must not overflow."""

    def __init__(self, func: PrimFunc) -> None:
        self.bounds = ConstBounds(exact=True)
        self.bounds.data.add(*numbers_of_calls(func))
        self.widened: dict[Var, Var] = {}
        self.sizes = {var for var in func.params if var.dtype != "handle"}
        for buffer in func.buffer_map.values():
            for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
                for var in variables_of(part):
                    self.sizes.add(var)
                    self.bounds.variables[var] = (0, LARGEST_SIZE)
        for buffer in func.buffer_map.values():
            self.note_sizes(buffer)

    def note_sizes(self, buffer: Buffer) -> None:
        """Note that numbers of elements of an array, and of its rows, do not overflow."""
        size: Expr | None = None
        for extent in reversed(buffer.shape):
            size = extent if size is None else ops.mul(extent, size)
            if type(size) is Mul:
                self.bounds.facts.append((size, 0, LARGEST_SIZE))

    # -- expressions -------------------------------------------------------------------------------

    def exact(self, e: Any, room: ConstBound | None = None) -> Expr:
        """An integer or a condition without overflow, in 32 or 64 bits. `room` is the interval of a
        sum that is an index, or part of one.
        """
        method = _EXACT.get(type(e))
        return method(self, e, room) if method is not None else self.visit(e)

    def exact_var(self, e: Var, room: ConstBound | None) -> Expr:
        return self.widened.get(e, e)

    def exact_sum(self, e: BinaryOp, room: ConstBound | None) -> Expr:
        """A sum, difference or product."""
        if dtypes.element(e.dtype) != NARROW:
            if dtypes.element(e.dtype) == WIDE and not self.bounds.data.of(e):
                self.fits(e, room)  # at least
            return self.exact_operands(e, None)
        if room is None and self.bounds.data.of(e):
            a, b = (ops.cast(e.dtype, self.exact(operand)) for operand in (e.a, e.b))
            return e if a is e.a and b is e.b else type(e)(a, b)
        rooms = self.rooms(e, room) if room is not None else (None, None)
        a, b = self.exact(e.a, rooms[0]), self.exact(e.b, rooms[1])
        if not self.fits(e, room):
            wide = dtypes.with_lanes(WIDE, dtypes.lanes(e.dtype))
            a, b = ops.cast(wide, a), ops.cast(wide, b)
        return _rebuilt(e, a, b)

    def fits(self, e: Any, room: ConstBound | None) -> bool:
        """Whether the value of a sum is a 32-bit integer.

        Raises
        ------
        BuildError when 64 bits do not hold it either.
        """
        a, b = self.bounds.of(e.a), self.bounds.of(e.b)
        low, high = BINARY[type(e)](a, b)
        least = f"{wording().module}.min"
        if max(-low, high) == INFINITY and not self.sizes and not _is_infinite(*a, *b):
            raise BuildError(
                f"subexpression {spelled(e)} of an index overflows 64 bits",
                f"its operands run from {a[0]} to {a[1]}, and from {b[0]} to {b[1]}",
                f"clamp the operands in place of the result, as in {least}(i, 8) * {least}(j, 8)",
            )
        if room is not None:
            low, high = max(low, room[0]), min(high, room[1])
        if _is_narrow(self.bounds.within_facts(e, (low, high))):
            return True
        # Rows that are within their array are multiplied by its strides: within its extent.
        return room is not None and not self.sizes.isdisjoint(variables_of(e))

    def rooms(self, e: Any, room: ConstBound) -> tuple[ConstBound, ConstBound]:
        """The intervals of the operands of a sum."""
        a, b = self.bounds.of(e.a), self.bounds.of(e.b)
        plus, minus = BINARY[Add], BINARY[Sub]
        if type(e) is Add:
            return minus(room, b), minus(room, a)
        if type(e) is Sub:
            return plus(room, b), minus(a, room)
        if type(e.b) is IntImm and e.b.value > 0:
            return (-(-room[0] // e.b.value), room[1] // e.b.value), EVERYTHING
        return EVERYTHING, EVERYTHING

    def exact_operands(self, e: Any, room: ConstBound | None) -> Expr:
        """A binary operation that is not a sum."""
        return _rebuilt(e, self.exact(e.a), self.exact(e.b))

    def exact_not(self, e: Not, room: ConstBound | None) -> Expr:
        return replace(e, a=self.exact(e.a))

    def exact_ramp(self, e: Ramp, room: ConstBound | None) -> Expr:
        base, stride = self.exact(e.base, room), self.exact(e.stride)
        low, high = self.bounds.of(e)
        if room is not None:
            low, high = max(low, room[0]), min(high, room[1])
        elif self.bounds.data.of(e):
            low, high = 0, 0
        if base.dtype == NARROW and not _is_narrow((low, high)):
            base = ops.cast(WIDE, base)
        if base is e.base and stride is e.stride:
            return e
        base, stride = ops.match_types(base, stride)
        return Ramp(base, stride, e.lanes)

    def exact_broadcast(self, e: Broadcast, room: ConstBound | None) -> Expr:
        return replace(e, value=self.exact(e.value, room))

    def exact_cast(self, e: Cast, room: ConstBound | None) -> Expr:
        value = self.exact(e.value)
        return e if value is e.value else ops.cast(e.dtype, value)

    def exact_choice(self, e: Expr, room: ConstBound | None) -> Expr:
        """Select or if_then_else."""
        old: Any = choice_of(e)
        condition, yes, no = old
        condition = self.exact(condition)
        values = ops.match_types(self.side(yes, room), self.side(no, room))
        return with_choice(e, condition, *values)

    def side(self, e: Expr, room: ConstBound | None) -> Expr:
        """One of two values to choose from; values of data wrap around, as in conditions."""
        return self.exact(e, None if self.bounds.data.of(e) else room)

    def exact_call(self, e: Call, room: ConstBound | None) -> Expr:
        if choice_of(e) is not None:
            return self.exact_choice(e, room)
        if e.op in BITWISE:
            args = [*ops.match_types(self.exact(e.args[0]), self.exact(e.args[1]))]
            if self.shifts_out(e):
                args = [ops.cast(dtypes.with_lanes(WIDE, dtypes.lanes(e.dtype)), x) for x in args]
        else:
            args = [self.exact(arg) for arg in e.args]
            args = [ops.cast(old.dtype, arg) for arg, old in zip(args, e.args, strict=True)]
        if all(new is old for new, old in zip(args, e.args, strict=True)):
            return e
        is_of_args = e.dtype == e.args[-1].dtype
        return Call(args[-1].dtype if is_of_args else e.dtype, e.op, tuple(args))

    def shifts_out(self, e: Call) -> bool:
        """Whether an expression of loop variables alone may overflow."""
        is_shift = e.op == "tir.shift_left" and dtypes.element(e.dtype) == NARROW
        return is_shift and not _is_narrow(self.bounds.of(e)) and not self.bounds.data.of(e)

    def exact_let(self, e: Let, room: ConstBound | None) -> Expr:
        var, value = self.named(e)
        return replace(e, var=var, value=value, body=self.exact(e.body, room))

    # -- data ------------------------------------------------------------------------------

    def visit_Var(self, node: Var) -> Expr:
        """In data a variable is cast to its original 32 bits."""
        wide = self.widened.get(node)
        return node if wide is None else Cast(node.dtype, wide)

    def visit_choice(self, node: Expr) -> Expr:
        """A choice with its condition exact."""
        new = self.generic(node)
        choice = choice_of(new)
        if choice is None:
            return new
        return with_choice(new, self.exact(next(children(node))), *choice[1:])

    visit_Select = visit_Call = visit_choice

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return replace(node, indices=self.indices(node.buffer, node.indices))

    def indices(self, buffer: Buffer, old: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices, which lie within their buffer."""
        if all(type(index) in (Var, IntImm) and index not in self.widened for index in old):
            return old
        sizes = buffer.shape if len(buffer.shape) == len(old) and not buffer.strides else ()
        ends = [size.value if type(size) is IntImm else LARGEST_SIZE for size in sizes]
        rooms = [(0, end) for end in ends or [LARGEST_SIZE] * len(old)]
        return tuple([self.exact(e, room) for e, room in zip(old, rooms, strict=True)])

    # -- statements --------------------------------------------------------------------------------

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        value = self.visit(node.value)
        return replace(node, value=value, indices=self.indices(node.buffer, node.indices))

    def visit_For(self, node: For) -> Stmt:
        self.bind(node.loop_var, Range(node.min, node.extent))
        low, extent = (ops.cast(e.dtype, self.exact(e)) for e in (node.min, node.extent))
        return replace(node, min=low, extent=extent, body=self.visit(node.body))

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        axis = loop_of(node)
        if axis is not None:
            self.bind(axis.var, axis.range)
        return self.generic(node)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        var, value = self.named(node)
        return replace(node, var=var, value=value, body=self.visit(node.body))

    def named(self, node: LetStmt | Let) -> tuple[Var, Expr]:
        """A variable and its value, of the required type."""
        var, kind = node.var, dtypes.parse(node.var.dtype).code
        value: Expr = self.exact(node.value) if kind in ("int", "bool") else self.visit(node.value)
        if value.dtype != var.dtype:
            var = self.widened[node.var] = Var(var.name, value.dtype)
        if kind == "int":
            self.bind(node.var, node.value)
        return var, value

    def bind(self, var: Var, value: Range | Expr) -> None:
        """Note the values of a variable, which are of its type."""
        bounds = self.bounds
        if var in bounds.variables:
            bounds.memo = {}
        bounds.bind(var, value)
        low, high = bounds.variables[var]
        least, most = of_dtype(WIDE if var in self.widened else var.dtype)
        bounds.variables[var] = max(low, least), min(high, most)

    def visit_conditional(self, node: IfThenElse | AssertStmt | While) -> Stmt:
        """A statement with its condition exact."""
        return replace(self.generic(node), condition=self.exact(node.condition))

    visit_IfThenElse = visit_AssertStmt = visit_While = visit_conditional


def _is_narrow(interval: ConstBound) -> bool:
    return _INT32[0] <= interval[0] and interval[1] <= _INT32[1]


def _is_infinite(*ends: int) -> bool:
    return INFINITY in map(abs, ends)


def _rebuilt(e: BinaryOp | CompareOp, a: Expr, b: Expr) -> Expr:
    """An operation on other operands, of the wider type."""
    return e if a is e.a and b is e.b else type(e)(*ops.match_types(a, b))


_Exact = Callable[[_Widener, Any, ConstBound | None], Expr]
_EXACT: dict[type, _Exact] = {
    **{
        kind: _Widener.exact_operands
        for kind in NODE_CLASSES
        if issubclass(kind, BinaryOp | CompareOp)
    },
    **dict.fromkeys((Add, Sub, Mul), _Widener.exact_sum),
    Var: _Widener.exact_var,
    Ramp: _Widener.exact_ramp,
    Broadcast: _Widener.exact_broadcast,
    Cast: _Widener.exact_cast,
    Select: _Widener.exact_choice,
    Call: _Widener.exact_call,
    Not: _Widener.exact_not,
    Let: _Widener.exact_let,
}
