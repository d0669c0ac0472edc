"""Double buffering: one half of a buffer is read while the other is filled for the next iteration.

The statement that fills the buffer (`double_buffer_scope`) is executed once before the innermost
loop around it, and then inside of the loop one iteration ahead; the last iteration is peeled, since
nothing remains to be fetched.

    for i in range(n):                        B = allocate([2 * m])
        B = allocate([m])                     B[0 * m + j] = A[0, j]
        attr(B, "double_buffer_scope")        for o in range(n - 1):
            B[j] = A[i, j]            ->          if o + 1 < n:
        C[i, j] = B[j]                                attr(B, "double_buffer_write")
                                                          B[(o + 1) % 2 * m + j] = A[o + 1, j]
                                                  C[o, j] = B[o % 2 * m + j]
                                              C[n - 1, j] = B[(n - 1) % 2 * m + j]

A loop of zero iterations has no iteration to peel: if the extent is not constant, programs to run
(`to_run`) check it. (TVM's name: InjectDoubleBuffer.) Must not know how
buffers get into memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.expr import (
    Add,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Expr,
    FloorMod,
    IntImm,
    Mul,
    Var,
)
from te_sched.ir.ops import TRUE
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    For,
    IfThenElse,
    PrimFunc,
    Stmt,
)
from te_sched.ir.visitor import (
    AccessMapper,
    StatementMapper,
    replace,
    statements,
    substitute,
    variables_of,
    walk,
)
from te_sched.lowering.statements import fresh_copy, has_attribute, sequence

_SCOPE = "double_buffer_scope"
_WRITE = "double_buffer_write"


def inject_double_buffer(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without `double_buffer_scope`; fetches ahead have `double_buffer_write`."""
    if not has_attribute(func.body, _SCOPE):
        return func
    return func.with_body(_Injector(func.body, settings).visit(func.body))


@dataclass(slots=True)
class _Double:
    """A buffer with two halves."""

    allocation: Allocate
    room: Expr  # elements of one half
    loop: For | None = None  # the loop whose iterations alternate the halves
    half_written: Var | None = None


@dataclass(slots=True)
class _Turns:
    """The statements around and before a loop with double buffers."""

    allocations: list[Allocate] = field(default_factory=list)
    first_fetches: list[Stmt] = field(default_factory=list)


class _Injector(AccessMapper):
    """Rebuilds the body; `loops` are the enclosing loops."""

    def __init__(self, body: Stmt, settings: Lowering) -> None:
        self.settings = settings
        self.names = {
            node.node for node in statements(body) if type(node) is AttrStmt and node.key == _SCOPE
        }
        self.doubles: dict[Var, _Double] = {}
        self.loops: list[For] = []
        self.turns: dict[For, _Turns] = {}
        self.filled: frozenset[Var] = frozenset()  # the buffers that are being filled

    def visit_Allocate(self, node: Allocate) -> Stmt:
        if node.buffer_var not in self.names:
            return self.generic(node)
        double = _Double(node, reduce(ops.mul, node.extents))
        self.doubles[node.buffer_var] = double
        inner: Any = node.body
        body: Stmt
        extents = (ops.mul(double.room, 2),)
        if _is_declaration(inner, node):
            body = self.visit(inner.body)
            declared = replace(inner, buffer=self.visit(inner.buffer), body=body)
            enlarged = replace(node, extents=extents, body=declared)
        else:
            body = self.visit(inner)
            enlarged = replace(node, extents=extents, body=body)
        if double.loop is None:  # nothing fills it
            return enlarged
        self.turns[double.loop].allocations.append(enlarged)
        return body

    def visit_For(self, node: For) -> Stmt:
        self.loops.append(node)
        body = self.visit(node.body)
        self.loops.pop()
        turns = self.turns.pop(node, None)
        if turns is None:
            return replace(node, body=body)
        if type(node.extent) is IntImm and node.extent.value < 1:
            whole: Stmt = replace(node, body=body)
        else:
            whole = sequence([*turns.first_fetches, *_take_turns(node, body)])
        if type(node.extent) is not IntImm and self.settings.to_run:
            whole = IfThenElse(ops.less(IntImm(0, node.extent.dtype), node.extent), whole)
        for allocation in reversed(turns.allocations):
            if _is_declaration(allocation.body, allocation):
                whole = replace(allocation.body, body=whole)
            whole = replace(allocation, body=whole)
        return whole

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != _SCOPE:
            return replace(node, body=self.visit(node.body))
        names, fill = _filled_at_once(node)
        if not self.loops or not self.doubles.keys() >= set(names):
            raise _no_loop(names[0])
        loop = self.loops[-1]
        half = Var(f"{loop.loop_var.name}.db", loop.loop_var.dtype)
        for data in names:
            _check_inputs(data, fill, loop)
            double = self.doubles[data]
            if self.settings.to_run and loop.loop_var in variables_of(double.room):
                raise _of_changing_size(data, loop)
            double.loop, double.half_written = loop, half
        outside, self.filled = self.filled, self.filled.union(names)
        body = self.visit(fill)
        self.filled = outside
        turns = self.turns.setdefault(loop, _Turns())
        zero, one = IntImm(0, half.dtype), IntImm(1, half.dtype)
        turns.first_fetches.append(fresh_copy(body, {half: zero, loop.loop_var: zero}))
        following = Add(loop.loop_var, one)
        ahead: dict[Var, Expr] = {
            half: FloorMod(following, IntImm(2, half.dtype)),
            loop.loop_var: following,
        }
        fetch = substitute(body, ahead)
        for data in reversed(names):
            fetch = AttrStmt(data, _WRITE, IntImm(1), fetch)
        return IfThenElse(ops.less(following, loop.extent), fetch)

    # -- accesses ----------------------------------------------------------------------------------

    def renewed(self, buffer: Buffer) -> Buffer:
        """The buffer with two halves."""
        double = self.doubles.get(buffer.data)
        if double is None:
            return buffer
        # TVM 0.9 declared more than it allocated: the square of a half.
        grown = ops.mul if self.settings.as_older else ops.add
        return replace(buffer, shape=(grown(buffer.shape[0], double.room), *buffer.shape[1:]))

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices into one of the halves."""
        double = self.doubles[buffer.data]
        start: Expr = Mul(*ops.match_types(self.half(double), double.room))
        lanes = dtypes.lanes(indices[-1].dtype)
        if lanes > 1:
            start = Broadcast(start, lanes)
        return (*indices[:-1], ops.add(start, indices[-1]))

    def visit_Call(self, node: Call) -> Expr:
        if node.op != "tir.tvm_access_ptr" or node.args[1] not in self.doubles:
            return self.generic(node)
        double = self.doubles[node.args[1]]  # type: ignore[index]
        element, data, offset, extent, mask = node.args
        room = double.room
        if (count := dtypes.lanes(element.dtype)) > 1:
            room = ops.floordiv(room, count)
        start = Mul(*ops.match_types(self.half(double), room))
        offset = Add(*ops.match_types(start, self.visit(offset)))
        return Call(node.dtype, node.op, (element, data, offset, self.visit(extent), mask))

    def half(self, double: _Double) -> Expr:
        """The half that is accessed at this place: 0 or 1."""
        if double.loop is None or double.half_written is None:
            raise _no_loop(double.allocation.buffer_var)
        if double.allocation.buffer_var in self.filled:
            return double.half_written
        return FloorMod(double.loop.loop_var, IntImm(2, double.loop.loop_var.dtype))


def _is_declaration(inner: Stmt, allocation: Allocate) -> bool:
    """Whether a statement declares the buffer of the allocation around it."""
    return type(inner) is DeclBuffer and inner.buffer.data is allocation.buffer_var


def _filled_at_once(node: AttrStmt) -> tuple[list[Var], Stmt]:
    """The buffers that one statement fills (several for a stage of several outputs), and the
    statement."""
    names: list[Var] = []
    fill: Stmt = node
    while type(fill) is AttrStmt and fill.key == _SCOPE:
        names.append(fill.node)
        fill = fill.body
    return names, fill


def _take_turns(loop: For, body: Stmt) -> list[Stmt]:
    """All iterations but the last as a loop, and the last as a statement."""
    old = loop.loop_var
    last = ops.sub(loop.extent, 1)
    outer = Var(f"{old.name}.outer", old.dtype)
    zero = IntImm(0, old.dtype)
    before = For(outer, zero, last, loop.kind, substitute(body, {old: outer}))
    ending = fresh_copy(_NoMarks().visit(body), {old: last})
    condition = ops.less(last, loop.extent)
    return [before, IfThenElse(TRUE if type(condition) is IntImm else condition, ending)]


class _NoMarks(StatementMapper):
    """Removes the marks of fetches ahead."""

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        return self.visit(node.body) if node.key == _WRITE else self.generic(node)


def _check_inputs(data: Var, body: Stmt, loop: For) -> None:
    """Refuse a prefetch for the next iteration that reads what this one computes."""
    own = {node.buffer_var for node in statements(body) if type(node) is Allocate}
    of_loop = {node.buffer_var for node in statements(loop.body) if type(node) is Allocate}
    for node in walk(body):
        if type(node) is BufferLoad and node.buffer.data in of_loop - own - {data}:
            name = node.buffer.data.name
            raise LoweringError(
                f"cannot double-buffer {data.name}: it reads {name}, which is computed in the same "
                f"iteration of {loop.loop_var.name}",
                f"{data.name} is filled one iteration ahead",
                f"compute {name} outside of that loop, or inside of the loops of {data.name}",
            )


def _of_changing_size(data: Var, loop: For) -> LoweringError:
    return LoweringError(
        f"cannot double-buffer {data.name}: its size depends on loop {loop.loop_var.name}",
        "the iterations of that loop alternate between two buffers of one size",
        "compute it where each iteration needs the same size, or use a single buffer",
    )


def _no_loop(data: Var) -> LoweringError:
    return LoweringError(
        f"cannot double-buffer {data.name}: it is not filled inside of a loop",
        "there is no next iteration to prefetch for",
        "compute it under a loop of more than one iteration (compute_at)",
    )
