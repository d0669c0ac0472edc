"""Repeat the bodies of unrolled loops (TVM's UnrollLoop).

Before::

    for i in unrolled(2): C[i] = A[i]

After::

    C[0] = A[0]
    C[1] = A[1]

Loops of kind "unrolled" are always unrolled. Under the pragma `auto_unroll_max_step`, innermost
serial loops of at most that number of steps are unrolled too. Under `unroll_explicit = False` loops
are marked for the compiler instead of being unrolled. `config.Lowering` sets the same for whole
programs; with `unroll_local_access`, loops that index memory in scope "local" are unrolled too,
since registers need constant indices.
"""

from __future__ import annotations

from operator import is_
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError, Subject
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.expr import BufferLoad, IntImm, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.stmt import PrimFunc, Stmt
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import Mapper, replace, statements, substitute
from te_sched.lowering.statements import (
    NOTHING,
    fresh_copy,
    is_nothing,
    nodes_of,
    sequence,
    stores_and_calls,
)

_MAX_STEP = "pragma_auto_unroll_max_step"
_EXPLICIT = "pragma_unroll_explicit"
_PRAGMAS = (_MAX_STEP, _EXPLICIT)
_ACCESSES = frozenset((BufferLoad, S.BufferStore))
_VARS = frozenset((Var,))
_MOST = 1 << 16  # statements; unrolling beyond this is refused as a mistake


def unroll_loops(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """Repeat the bodies of unrolled loops."""
    is_asked = (
        settings.auto_unroll_max_step > 0
        or settings.auto_unroll_max_extent > 0
        or settings.unroll_local_access
    )
    if not is_asked and not any(map(_concerns, statements(func.body))):
        return func
    return func.with_body(_Unroller(settings).visit(func.body))


def _concerns(stmt: Any) -> bool:
    if type(stmt) is S.For:
        return bool(stmt.kind == "unrolled")
    return type(stmt) is S.AttrStmt and stmt.key in _PRAGMAS


class _Unroller(Mapper):
    """Unrolls from the inside outwards.

    `steps`, `serial_depth` and `unrolled_depth` describe the visited statement: its number of
    stores and calls, and the depth of its loops.
    """

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings
        self.max_step = settings.auto_unroll_max_step
        self.max_depth = settings.auto_unroll_max_depth
        self.max_extent = settings.auto_unroll_max_extent
        self.is_explicit = settings.unroll_explicit
        self.local_vars: set[Var] = set()  # variables in indices of local memory
        self.steps = 0
        self.serial_depth = 0
        self.unrolled_depth = 0

    def visit_AttrStmt(self, node: S.AttrStmt) -> Any:
        if node.key not in _PRAGMAS or type(node.value) is not IntImm:
            return self.generic(node)
        max_step, is_explicit = self.max_step, self.is_explicit
        if node.key == _MAX_STEP:
            self.max_step = node.value.value
        else:
            self.is_explicit = node.value.value != 0
        body = self.visit(node.body)
        self.max_step, self.is_explicit = max_step, is_explicit
        return body

    def visit_BufferStore(self, node: S.BufferStore) -> Any:
        self.steps += 1
        self._note_local(node)
        return node

    def visit_Evaluate(self, node: S.Evaluate) -> Any:
        self.steps += 1
        self._note_local(node)
        return node

    def _note_local(self, leaf: Stmt) -> None:
        if not self.settings.unroll_local_access:
            return
        for access in nodes_of(leaf, _ACCESSES):
            if storage_scope(access.buffer.scope()).owner == "thread":
                for index in access.indices:
                    self.local_vars.update(nodes_of(index, _VARS))

    def visit_SeqStmt(self, node: S.SeqStmt) -> Any:
        new = [self._part(stmt) for stmt in node.seq]
        if all(map(is_, new, node.seq)):
            return node
        return sequence([stmt for stmt in new if not is_nothing(stmt)])

    def _part(self, stmt: Stmt) -> Stmt:
        """Visit a part of a sequence: steps are summed up, depths are maximized."""
        before = self.steps, self.serial_depth, self.unrolled_depth
        self.steps = self.serial_depth = self.unrolled_depth = 0
        new: Stmt = self.visit(stmt)
        self.steps += before[0]
        self.serial_depth = max(self.serial_depth, before[1])
        self.unrolled_depth = max(self.unrolled_depth, before[2])
        return new

    def visit_For(self, node: S.For) -> Any:
        new = self.generic(node)
        count = _constant_extent(new, self.settings)
        if node.kind == "unrolled" and count is None:
            raise LoweringError(
                f"cannot unroll loop {node.loop_var.name}: "
                f"its extent {spelled(node.extent)} is not constant",
                "the body is copied once per iteration",
                "split the axis by a constant factor and unroll the inner part",
                where=Subject("axis", node.loop_var.name),
            )
        if count == 1 and self.max_extent == 1 and node.kind != "thread_binding":
            return _copies(new, count)  # a loop of one step, whatever its kind and its body
        if count is None or not (node.kind == "unrolled" or self._is_short(node, count)):
            self.serial_depth += 1
            return new
        self.steps *= count
        self.unrolled_depth += 1
        if self.is_explicit:
            # `steps` may count branches more than once, so the statements are counted too
            if self.steps > _MOST and (total := count * stores_and_calls(new.body)) > _MOST:
                raise _too_many(node, total)
            return _copies(new, count)
        return new if node.kind == "unrolled" else replace(new, kind="unrolled")

    def _is_short(self, node: S.For, count: int) -> bool:
        return (
            node.kind == "serial"
            and self.serial_depth == 0
            and (
                node.loop_var in self.local_vars
                or (
                    self.unrolled_depth <= self.max_depth
                    and (count * self.steps <= self.max_step or count <= self.max_extent)
                )
            )
        )


def _too_many(loop: S.For, steps: int) -> LoweringError:
    return LoweringError(
        f"cannot unroll loop {loop.loop_var.name}: it would make {steps} statements, more than "
        f"{_MOST}",
        "larger programs take too long to compile",
        "split the axis and unroll the inner part of it alone",
        where=Subject("axis", loop.loop_var.name),
    )


def _constant_extent(loop: S.For, settings: Lowering) -> int | None:
    extent = loop.extent
    if type(extent) is not IntImm:
        extent = Analyzer(settings).simplify(extent)
    return extent.value if type(extent) is IntImm and extent.value < 2**31 else None


def _copies(loop: S.For, count: int) -> Stmt:
    var = loop.loop_var
    values = [ops.add(loop.min, IntImm(position, var.dtype)) for position in range(count)]
    copies = [
        fresh_copy(loop.body, {var: value}) if position else substitute(loop.body, {var: value})
        for position, value in enumerate(values)
    ]
    return sequence([copy for copy in copies if not is_nothing(copy)]) if copies else NOTHING
