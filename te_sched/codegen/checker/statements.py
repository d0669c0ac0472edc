"""Statements become closures, executed for all threads of a batch of blocks at once.

A condition on which threads differ becomes a mask. Must not know how kernels are launched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched.codegen.checker import accesses, warps
from te_sched.codegen.checker.checks import is_check
from te_sched.codegen.checker.expressions import Compiler, ExprClosure
from te_sched.codegen.checker.machine import KernelState
from te_sched.codegen.checker.memory import TrackedMemory
from te_sched.codegen.checker.shadow import AccessHistory
from te_sched.codegen.checker.space import all_dimensions
from te_sched.codegen.checker.vector_loops import VectorLoop, nest_of
from te_sched.errors import CallError
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.kernel import memory_scope
from te_sched.ir.storage_scopes import storage_scope

Do = Callable[[], Any]
_NOBODY: Any = object()  # a mask that holds nowhere; None is one that holds everywhere


def statement(c: Compiler, node: S.Stmt) -> Do:
    """A compiled statement."""
    method = _METHODS.get(type(node))
    if method is None:
        raise c.unknown(f"the statement {type(node).__name__}")
    return method(c, node)


def _sequence(c: Compiler, node: S.SeqStmt) -> Do:
    parts = [statement(c, part) for part in node.seq]

    def run() -> None:
        for part in parts:
            part()

    return run


def _let(c: Compiler, node: S.LetStmt) -> Do:
    bind, body = c.binding(node.var, node.value), statement(c, node.body)

    def run() -> None:
        bind()
        body()

    return run


# -- control ---------------------------------------------------------------------------------------


def _differs(c: Compiler, code: ExprClosure) -> bool:
    return not code.is_pure or bool(code.slots & c.threads)


def _for(c: Compiler, node: S.For) -> Do:
    machine, slot = c.machine, c.machine.slot(node.loop_var)
    low, extent = c.value(node.min), c.value(node.extent)
    nest = nest_of(node)
    if nest is not None:
        c.threads.update(machine.slot(loop.loop_var) for loop in nest.loops)
    elif _differs(c, low):
        c.threads.add(slot)
    sites = len(machine.sites)
    body = statement(c, node.body)
    at_once = None if nest is None else VectorLoop(c, nest, machine.sites[sites:])
    values, versions, loops = machine.values, machine.versions, machine.loops

    def run() -> None:
        if at_once is not None and at_once.run():
            return
        first, count = low.run(), extent.run()
        if isinstance(first, np.ndarray) or isinstance(count, np.ndarray):
            differing(first, count)
            return
        if count <= 0:
            return
        loops.append(slot)
        machine.take_steps(count)
        for value in range(first, first + count):
            values[slot] = versions[slot] = value
            body()
        loops.pop()

    def differing(first: Any, count: Any) -> None:
        before = machine.mask
        counts = all_dimensions(np.asarray(count))
        active_counts = counts if before is None else np.where(before, counts, 0)
        loops.append(slot)
        for number in range(int(active_counts.max())):
            machine.take_steps(1)
            active = number < active_counts
            machine.mask = None if active.all() else active
            machine.assign(slot, first + number)
            body()
        machine.mask = before
        loops.pop()

    return run


def _while(c: Compiler, node: S.While) -> Do:
    machine = c.machine
    condition = c.expression(node.condition)
    body = statement(c, node.body)

    def run() -> None:
        before = machine.mask
        while True:
            holds = condition.run()
            if isinstance(holds, np.ndarray):
                holds = all_dimensions(holds)
                active = holds if machine.mask is None else machine.mask & holds
                if not active.any():
                    break
                machine.mask = active
            elif not holds:
                break
            machine.take_steps(1)
            body()
        machine.mask = before

    return run


def _if(c: Compiler, node: S.IfThenElse) -> Do:
    machine = c.machine
    c.is_counted = not is_check(node.then_case)
    condition = c.value(node.condition)
    c.is_counted = True
    first = statement(c, node.then_case)
    second = statement(c, node.else_case) if node.else_case is not None else None
    # The last value of the condition, found again by its identity.
    last: tuple[Any, Any, Any, Any] = (None, None, None, None)

    def masks(before: Any, holds: np.ndarray) -> tuple[Any, Any]:
        """The threads of each branch."""
        nonlocal last
        if last[0] is holds and last[1] is before:
            return last[2], last[3]
        where = all_dimensions(holds)
        yes: Any
        no: Any
        if where.all():
            yes, no = before, _NOBODY
        else:
            yes = where if before is None else where & before
            no = ~where if before is None else ~where & before
            yes = yes if yes.any() else _NOBODY
            no = no if second is not None and no.any() else _NOBODY
        last = (holds, before, yes, no)
        return yes, no

    def run() -> None:
        holds = condition.run()
        if not isinstance(holds, np.ndarray):
            if holds:
                first()
            elif second is not None:
                second()
            return
        before = machine.mask
        yes, no = masks(before, holds)
        if yes is not _NOBODY:
            machine.mask = yes
            first()
        if second is not None and no is not _NOBODY:
            machine.mask = no
            second()
        machine.mask = before

    return run


def _assert(c: Compiler, node: S.AssertStmt) -> Do:
    condition, body = c.expression(node.condition), statement(c, node.body)
    message = node.message.value if isinstance(node.message, E.StringImm) else str(node.message)

    def run() -> None:
        if not np.all(condition.run()):
            raise CallError(
                f"assertion failed in {c.machine.kernel!r}: {message}", help="pass other arguments"
            )
        body()

    return run


# -- allocations -----------------------------------------------------------------------------------


def _allocate(c: Compiler, node: S.Allocate) -> Do:
    scope = memory_scope(node.buffer_var)
    body = statement(c, node.body)
    if storage_scope(scope).rank == "wmma":
        make = warps.allocate_fragment(c, node)
    elif scope in ("shared", "shared.dyn", "local", "global"):
        make = _memory(c, node, scope)
    else:
        raise c.unknown(f"memory of scope {scope!r} ({node.buffer_var.name})")

    def run() -> None:
        make()
        body()

    return run


def _memory(c: Compiler, node: S.Allocate, scope: str) -> Do:
    machine, var = c.machine, node.buffer_var
    extents = [c.value(extent) for extent in node.extents]
    lanes = dtypes.lanes(node.dtype)

    def run() -> None:
        memory = machine.memories.get(var)
        if memory is not None:
            memory.forget()
            return
        sizes = [extent.run() for extent in extents]
        if any(isinstance(size, np.ndarray) for size in sizes):
            raise c.unknown(f"memory of a size that differs between threads ({var.name})")
        size = int(np.prod(sizes, dtype=np.int64)) * lanes
        machine.memories[var] = new_memory(machine, var, node.dtype, scope, size)

    return run


def new_memory(
    machine: KernelState, var: E.Var, dtype: str, scope: str, size: int
) -> TrackedMemory:
    """Memory of a running kernel (of scope global: of the host's function)."""
    shape = machine.space.shape
    kind = storage_scope(scope).rank
    inner = {"shared": shape[3:], "local": shape}.get(kind, ())
    if kind == "global" and machine.launch is None:  # not memory that all threads share
        kind, inner = "local", shape
    memory = TrackedMemory(var.name, dtype, kind, size, inner)
    if kind == "shared" and var in machine.written:
        memory.shadow = AccessHistory(machine, memory)
    return memory


_METHODS: dict[type, Callable[[Compiler, Any], Do]] = {
    S.SeqStmt: _sequence,
    S.Evaluate: lambda c, node: c.expression(node.value).run,
    S.BufferStore: accesses.store,
    S.LetStmt: _let,
    S.AttrStmt: lambda c, node: statement(c, node.body),
    S.For: _for,
    S.While: _while,
    S.IfThenElse: _if,
    S.AssertStmt: _assert,
    S.Allocate: _allocate,
}
