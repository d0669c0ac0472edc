"""Turn vectorized loops into operations on vectors (TVM's name: VectorizeLoop).

The loop variable becomes the vector (0, 1, ..., extent - 1) and every operation that depends on it
works on vectors. A statement that cannot (a condition or a call that differs from lane to lane)
becomes a serial loop over the lanes.
"""

from __future__ import annotations

from typing import Any

from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.expr import Broadcast, BufferLoad, Call, Expr, IntImm, Ramp, Var
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
    While,
)
from te_sched.ir.visitor import Mapper, replace, substitute
from te_sched.lower.statements import statements

# Calls that work on vectors lane by lane.
# fmt: off
_ELEMENTWISE = frozenset([
    "tir.exp", "tir.exp2", "tir.exp10", "tir.erf", "tir.tanh", "tir.sigmoid", "tir.log",
    "tir.log2", "tir.log10", "tir.log1p", "tir.tan", "tir.cos", "tir.cosh", "tir.sin", "tir.sinh",
    "tir.asin", "tir.acos", "tir.atan", "tir.asinh", "tir.acosh", "tir.atanh", "tir.atan2",
    "tir.sqrt", "tir.rsqrt", "tir.pow", "tir.floor", "tir.ceil", "tir.trunc", "tir.fabs",
    "tir.round", "tir.nearbyint", "tir.hypot", "tir.nextafter", "tir.copysign", "tir.ldexp",
    "tir.isnan", "tir.isinf", "tir.isfinite", "tir.popcount", "tir.fmod", "tir.likely",
    "tir.bitwise_and", "tir.bitwise_or", "tir.bitwise_xor", "tir.bitwise_not", "tir.shift_left",
    "tir.shift_right", "tir.q_multiply_shift", "tir.reinterpret",
])
# fmt: on


def vectorize_loops(func: PrimFunc) -> PrimFunc:
    """The function without vectorized loops."""
    if not any(type(node) is For and node.kind == "vectorized" for node in statements(func.body)):
        return func
    return replace(func, body=_Loops().visit(func.body))  # type: ignore[no-any-return]


class _Loops(Mapper):
    """Finds the vectorized loops."""

    def visit_For(self, node: For) -> Stmt:
        if node.kind != "vectorized":
            return self.generic(node)  # type: ignore[no-any-return]
        if not isinstance(node.extent, IntImm):
            raise _cannot(node, f"its extent is {node.extent}, and a vector has a constant length")
        if node.extent.value == 0:
            return replace(node, kind="serial")  # type: ignore[no-any-return]
        start = Ramp(node.min, IntImm(1, node.loop_var.dtype), node.extent.value)
        lanes = node.extent.value
        vector: Expr = start if lanes > 1 else node.min
        return _Vectorizer(node, vector, lanes).visit(node.body)  # type: ignore[no-any-return]


def _cannot(loop: For, why: str) -> LoweringError:
    name = loop.loop_var.name
    return LoweringError(
        f"vectorize loop {name}",
        why,
        f"split {name} by a constant factor and vectorize the inner axis",
        where=f"loop {name}",
    )


class _NotAVector(Exception):
    """The statement at hand must be executed lane by lane."""


def _lanes(e: Expr) -> int:
    return dtypes.lanes(e.dtype)


def _broadcast(e: Expr, lanes: int) -> Expr:
    if _lanes(e) == lanes:
        return e
    if type(e) is Broadcast:
        return Broadcast(e.value, lanes)
    return Broadcast(e, lanes)


class _Vectorizer(Mapper):
    """Maps the body of one vectorized loop."""

    def __init__(self, loop: For, vector: Expr, lanes: int) -> None:
        self.loop, self.lanes = loop, lanes
        self.values: dict[Var, Expr] = {loop.loop_var: vector}

    # --- expressions

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def _operands(self, *operands: Expr) -> tuple[list[Expr], int, bool]:
        """The mapped operands, their largest number of lanes, and whether any changed."""
        mapped = [self.visit(operand) for operand in operands]
        changed = any(new is not old for new, old in zip(mapped, operands, strict=True))
        return mapped, max(map(_lanes, mapped)), changed

    def _elementwise(self, node: Any) -> Expr:
        operands, lanes, changed = self._operands(node.a, node.b)
        if not changed:
            return node  # type: ignore[no-any-return]
        a, b = (_broadcast(operand, lanes) for operand in operands)
        return type(node)(a, b)  # type: ignore[no-any-return]

    def _sum(self, node: Any) -> Expr:
        """Adding a scalar to a ramp moves its base."""
        (a, b), lanes, changed = self._operands(node.a, node.b)
        if not changed:
            return node  # type: ignore[no-any-return]
        fold = ops.add if type(node) is E.Add else ops.sub
        if _lanes(a) == 1 and type(b) is Ramp:
            return Ramp(fold(a, b.base), fold(IntImm(0, b.stride.dtype), b.stride), b.lanes)
        if _lanes(b) == 1 and type(a) is Ramp:
            return Ramp(fold(a.base, b), a.stride, a.lanes)
        return fold(_broadcast(a, lanes), _broadcast(b, lanes))

    visit_Add = _sum
    visit_Sub = _sum

    def visit_Mul(self, node: E.Mul) -> Expr:
        """Multiplying a ramp by a scalar multiplies its stride."""
        (a, b), lanes, changed = self._operands(node.a, node.b)
        if not changed:
            return node
        for ramp, scalar in ((a, b), (b, a)):
            if type(ramp) is Ramp and _lanes(scalar) == 1:
                return Ramp(ops.mul(ramp.base, scalar), ops.mul(ramp.stride, scalar), ramp.lanes)
        return ops.mul(_broadcast(a, lanes), _broadcast(b, lanes))

    visit_Div = _elementwise
    visit_Mod = _elementwise
    visit_FloorDiv = _elementwise
    visit_FloorMod = _elementwise
    visit_Min = _elementwise
    visit_Max = _elementwise
    visit_EQ = _elementwise
    visit_NE = _elementwise
    visit_LT = _elementwise
    visit_LE = _elementwise
    visit_GT = _elementwise
    visit_GE = _elementwise
    visit_And = _elementwise
    visit_Or = _elementwise

    def visit_Select(self, node: E.Select) -> Expr:
        operands, lanes, changed = self._operands(node.condition, node.true_value, node.false_value)
        if not changed:
            return node
        condition, true_value, false_value = (_broadcast(operand, lanes) for operand in operands)
        return E.Select(condition, true_value, false_value)

    def visit_Cast(self, node: E.Cast) -> Expr:
        value = self.visit(node.value)
        if value is node.value:
            return node
        return E.Cast(dtypes.with_lanes(dtypes.element(node.dtype), _lanes(value)), value)

    def visit_Ramp(self, node: Ramp) -> Expr:
        base, stride = self.visit(node.base), self.visit(node.stride)
        if base is node.base and stride is node.stride:
            return node
        if type(base) is Ramp and ops.is_const(ops.sub(base.stride, stride * node.lanes), 0):
            return Ramp(base.base, stride, node.lanes * base.lanes)
        raise _NotAVector

    def visit_Broadcast(self, node: Broadcast) -> Expr:
        value = self.visit(node.value)
        if value is node.value:
            return node
        if _lanes(value) > 1:
            raise _NotAVector
        return Broadcast(value, node.lanes)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        indices = tuple([self.visit(index) for index in node.indices])
        if all(new is old for new, old in zip(indices, node.indices, strict=True)):
            return node
        return BufferLoad(node.buffer, indices)

    def visit_Let(self, node: E.Let) -> Expr:
        var, value = self._let(node.var, node.value)
        return E.Let(var, value, self.visit(node.body))

    def _let(self, var: Var, value: Expr) -> tuple[Var, Expr]:
        """A let of a value that has become a vector defines a vector variable."""
        mapped = self.visit(value)
        if _lanes(mapped) == _lanes(value):
            return var, mapped
        vector = Var(var.name, mapped.dtype)
        self.values[var] = vector
        return vector, mapped

    def visit_Call(self, node: Call) -> Expr:
        if not node.args:
            return node
        args, lanes, changed = self._operands(*node.args)
        if not changed:
            return node
        if node.op == "tir.if_then_else":
            if _lanes(args[0]) > 1:
                raise _NotAVector
            lanes = max(map(_lanes, args[1:]))
            chosen = tuple([args[0], *(_broadcast(arg, lanes) for arg in args[1:])])
            return Call(dtypes.with_lanes(dtypes.element(node.dtype), lanes), node.op, chosen)
        if lanes == 1:
            return Call(node.dtype, node.op, tuple(args))
        if node.op not in _ELEMENTWISE:
            raise _NotAVector
        dtype = dtypes.with_lanes(dtypes.element(node.dtype), lanes)
        return Call(dtype, node.op, tuple([_broadcast(arg, lanes) for arg in args]))

    # --- statements

    def visit(self, node: Any) -> Any:
        """The node on vectors; a statement that cannot is executed lane by lane."""
        if not isinstance(node, Stmt):
            return self._methods[type(node)](self, node)
        try:
            return self._methods[type(node)](self, node)
        except _NotAVector:
            return self._lane_by_lane(node)

    def _lane_by_lane(self, node: Stmt) -> Stmt:
        var = self.loop.loop_var
        lane = Var(f"{var.name}.s", var.dtype)
        body = substitute(node, {var: ops.add(self.loop.min, lane)})
        return For(lane, IntImm(0, var.dtype), IntImm(self.lanes, var.dtype), "serial", body)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        indices, value = [self.visit(index) for index in node.indices], self.visit(node.value)
        if value is node.value and all(
            new is old for new, old in zip(indices, node.indices, strict=True)
        ):
            return node
        lanes = max([_lanes(value), *map(_lanes, indices)])
        if indices:
            indices[-1] = _broadcast(indices[-1], lanes)
        return BufferStore(node.buffer, _broadcast(value, lanes), tuple(indices))

    def visit_For(self, node: For) -> Stmt:
        low, extent = self.visit(node.min), self.visit(node.extent)
        if _lanes(low) > 1 or _lanes(extent) > 1:
            raise _NotAVector
        kind = "serial" if node.kind == "vectorized" else node.kind
        return replace(node, min=low, extent=extent, kind=kind, body=self.visit(node.body))  # type: ignore[no-any-return]

    def visit_While(self, node: While) -> Stmt:
        raise _cannot(self.loop, "there is a while loop inside it, which differs from lane to lane")

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        condition = self.visit(node.condition)
        if _lanes(condition) > 1:
            raise _NotAVector
        then_case = self.visit(node.then_case)
        else_case = None if node.else_case is None else self.visit(node.else_case)
        return IfThenElse(condition, then_case, else_case, node.owner_guard)

    def visit_LetStmt(self, node: LetStmt) -> Stmt:
        var, value = self._let(node.var, node.value)
        return LetStmt(var, value, self.visit(node.body))

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        value = self.visit(node.value)
        if _lanes(value) > 1:
            raise _NotAVector
        return AttrStmt(node.node, node.key, value, self.visit(node.body))

    def visit_Allocate(self, node: Allocate) -> Stmt:
        """Memory of one lane becomes memory of all lanes, interleaved."""
        if self.lanes == 1:
            return self.generic(node)  # type: ignore[no-any-return]
        extents = (*node.extents, IntImm(self.lanes, self.loop.loop_var.dtype))
        if any(_lanes(self.visit(extent)) > 1 for extent in node.extents):
            raise _NotAVector
        body = _Interleave(node.buffer_var, self.loop.loop_var, self.lanes).visit(node.body)
        return replace(node, extents=_flat(extents), body=self.visit(body))  # type: ignore[no-any-return]


def _flat(extents: tuple[Expr, ...]) -> tuple[Expr, ...]:
    total = extents[0]
    for extent in extents[1:]:
        total = ops.mul(total, extent)
    return (total,)


class _Interleave(Mapper):
    """Gives each lane its own element: index i becomes i * lanes + lane."""

    def __init__(self, data: Var, lane: Var, lanes: int) -> None:
        self.data, self.lane, self.lanes = data, lane, lanes
        self.buffers: dict[E.Buffer, E.Buffer] = {}

    def _buffer(self, buffer: E.Buffer) -> E.Buffer:
        if buffer not in self.buffers:
            shape = (*buffer.shape[:-1], ops.mul(buffer.shape[-1], self.lanes))
            self.buffers[buffer] = replace(buffer, shape=shape)
        return self.buffers[buffer]

    def _indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        mapped = [self.visit(index) for index in indices]
        return (*mapped[:-1], ops.add(ops.mul(mapped[-1], self.lanes), self.lane))

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        if node.buffer.data is not self.data:
            return self.generic(node)  # type: ignore[no-any-return]
        return BufferLoad(self._buffer(node.buffer), self._indices(node.indices))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        if node.buffer.data is not self.data:
            return self.generic(node)  # type: ignore[no-any-return]
        value = self.visit(node.value)
        return BufferStore(self._buffer(node.buffer), value, self._indices(node.indices))
