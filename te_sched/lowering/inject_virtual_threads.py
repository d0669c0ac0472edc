"""Replace virtual threads by copies of the statements that depend on them, and enlarge their
buffers.

A buffer whose content depends on the virtual thread is enlarged to hold the content of all; a
statement that depends on the virtual thread, or accesses such a buffer, is executed for each: as
copies, or as a loop if there are many or the statement contains loops.

    attr(vthread, "virtual_thread", 2)        B = allocate([8])
    B = allocate([4])                         for i in range(4):
    for i in range(4):                            B[i] = A[i]
        B[i] = A[vthread * 4 + i]       ->        B[4 + i] = A[4 + i]

(TVM's name: InjectVirtualThread.) Must not know who binds virtual threads.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Broadcast, Buffer, BufferLoad, Call, Expr, IntImm, IterVar, Var
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    LetStmt,
    PrimFunc,
    Stmt,
)
from te_sched.ir.visitor import AccessMapper, StatementMapper, replace, statements, substitute, walk
from te_sched.lowering.statements import HEADS, fresh_copy, has_attribute, rebuilt, sequence

# This number of virtual threads, or more, become a loop.
_LOOP_FROM = 16
# Virtual threads with this tag may share buffers that do not depend on them.
_SHARING_TAG = "vthread"
_WRITES = 2  # bit of tvm_access_ptr's access mask


def inject_virtual_threads(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function without `virtual_thread` attributes."""
    if not has_attribute(func.body, "virtual_thread"):
        return func
    return func.with_body(_Injector(settings).visit(func.body))


class _Injector(StatementMapper):
    """Finds virtual threads, the innermost first."""

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        body = self.visit(node.body)
        if node.key != "virtual_thread":
            return replace(node, body=body)
        axis = node.node
        assert isinstance(axis, IterVar)
        if type(node.value) is not IntImm:
            raise LoweringError(
                f"virtual thread {axis.var.name} has symbolic extent {node.value}",
                "virtual threads are copies of statements, so their number must be constant",
                "split the axis with nparts= and bind the outer axis",
            )
        shares = axis.thread_tag.startswith(_SHARING_TAG)
        touched = _touched(body, axis.var)
        replicator = _Replicator(axis.var, node.value.value, touched, shares, self.settings)
        return replicator.visit(body)


def _touched(body: Stmt, var: Var) -> set[Var]:
    """The variables (of buffers, loops, lets) whose value depends on `var`."""
    touched = {var}
    uses: list[tuple[set[Var], set[Var]]] = []  # (what is used, what depends on it)
    for node in statements(body):
        uses.extend(_dependences(node))
    grown = True
    while grown:
        grown = False
        for used, dependent in uses:
            if not dependent <= touched and used & touched:
                touched |= dependent
                grown = True
    return touched


def _dependences(node: Any) -> list[tuple[set[Var], set[Var]]]:
    kind = type(node)
    if kind is BufferStore:
        return [(_variables(node.value, *node.indices), {node.buffer.data})]
    if kind is For:
        return [(_variables(node.min, node.extent), {node.loop_var})]
    if kind is LetStmt:
        return [(_variables(node.value), {node.var})]
    if kind is Allocate:
        return [(_variables(node.condition, *node.extents), {node.buffer_var})]
    if kind is Evaluate:
        return [(_variables(node.value), _written(node.value))]
    return []


def _variables(*exprs: Expr) -> set[Var]:
    """The variables that expressions read, pointers of buffers included."""
    variables: set[Var] = set()
    for expr in exprs:
        for node in walk(expr):
            if type(node) is Var:
                variables.add(node)
            elif type(node) is BufferLoad:
                variables.add(node.buffer.data)
    return variables


def _written(value: Expr) -> set[Var]:
    """The pointers through which a call writes."""
    written: set[Var] = set()
    for node in walk(value):
        if type(node) is Call and node.op == "tir.tvm_access_ptr":
            mask, data = node.args[4], node.args[1]
            if isinstance(data, Var) and not (type(mask) is IntImm and not mask.value & _WRITES):
                written.add(data)
    return written


class _Replicator(AccessMapper):
    """Removes one virtual thread from a statement."""

    def __init__(
        self, var: Var, count: int, touched: set[Var], shares: bool, settings: Lowering
    ) -> None:
        self.var, self.count, self.touched, self.shares = var, count, touched, shares
        self.analyzer = Analyzer(settings)
        self.rooms: dict[Var, Expr] = {}  # elements of a buffer per virtual thread
        self.depends = False  # an expression just visited depends on the virtual thread
        self.inside = False  # inside of a statement that is executed for each virtual thread

    # -- expressions -------------------------------------------------------------------------------

    def visit_Var(self, node: Var) -> Expr:
        if node is self.var or node in self.rooms or node in self.touched:
            self.depends = True
        return node

    def visit_Call(self, node: Call) -> Expr:
        if node.op != "tir.tvm_access_ptr" or node.args[1] not in self.rooms:
            return self.generic(node)
        self.depends = True
        element, data, offset, extent, mask = node.args
        room = self.rooms[data]  # type: ignore[index]
        count = dtypes.lanes(element.dtype)
        if count > 1:
            room = ops.floordiv(room, count)
        offset = self.shifted(self.visit(offset), room)
        return Call(node.dtype, node.op, (element, data, offset, self.visit(extent), mask))

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices into the part of a buffer that belongs to the virtual thread."""
        self.depends = True
        return (*indices[:-1], self.shifted(indices[-1], self.rooms[buffer.data]))

    def shifted(self, index: Expr, room: Expr) -> Expr:
        lanes = dtypes.lanes(index.dtype)
        start = ops.mul(self.var, room)
        if lanes > 1:
            start = Broadcast(start, lanes)
        return self.analyzer.simplify(ops.add(index, start))

    def renewed(self, buffer: Buffer) -> Buffer:
        """The buffer, enlarged for all virtual threads."""
        room = self.rooms.get(buffer.data)
        if room is None:
            return buffer
        return replace(buffer, shape=(*buffer.shape[:-1], ops.mul(buffer.shape[-1], room)))

    def mapped(self, *exprs: Expr) -> tuple[list[Expr], bool]:
        """Expressions with their indices shifted, and whether they depend on the virtual thread."""
        self.depends = False
        result = [self.visit(expr) for expr in exprs]
        depends, self.depends = self.depends, False
        return result, depends

    # -- statements --------------------------------------------------------------------------------

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        self.depends = False
        store = self.visit_access(node)
        depends, self.depends = self.depends, False
        return self.copies(store) if depends and not self.inside else store

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        (value,), depends = self.mapped(node.value)
        done = replace(node, value=value)
        return self.copies(done) if depends and not self.inside else done

    def visit_Allocate(self, node: Allocate) -> Stmt:
        extents, depends = self.mapped(*node.extents)
        if depends and not self.inside:
            return self.whole(node)
        var = node.buffer_var
        if self.inside or (var not in self.touched and self.shares):
            return self.generic(node)
        self.rooms[var] = reduce(ops.mul, extents)
        extents[0] = ops.mul(extents[0], self.count)
        return replace(node, extents=tuple(extents), body=self.visit(node.body))

    def visit_outer(self, node: Stmt) -> Stmt:
        """A compound statement; executed as a whole for each thread if its header depends on it."""
        heads, depends = self.mapped(*[getattr(node, name) for name in HEADS[type(node)]])
        if depends and not self.inside:
            return self.whole(node)
        left = iter(heads)
        return rebuilt(node, lambda old: next(left), self.visit)

    visit_For = visit_LetStmt = visit_AttrStmt = visit_outer
    visit_AssertStmt = visit_IfThenElse = visit_While = visit_outer

    def whole(self, node: Stmt) -> Stmt:
        """A compound statement, for each virtual thread."""
        self.inside = True
        done = self.visit(node)
        self.inside = False
        return self.copies(done)

    def copies(self, node: Stmt) -> Stmt:
        """The statement for each virtual thread."""
        has_loops = any(type(part) is For for part in statements(node))
        if self.count < _LOOP_FROM and not has_loops:
            return sequence(
                [fresh_copy(node, {self.var: IntImm(i, self.var.dtype)}) for i in range(self.count)]
            )
        loop = Var(f"{self.var.name}.s", self.var.dtype)
        zero, count = IntImm(0, loop.dtype), IntImm(self.count, loop.dtype)
        return For(loop, zero, count, "serial", substitute(node, {self.var: loop}))
