"""Loads, stores and atomic operations: checks of bounds, initialization and races, counters, then
the access.

Must not know statements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from te_sched.codegen.calls import array_of, target_of
from te_sched.codegen.checker import counters
from te_sched.codegen.checker.expressions import Compiler, ExprClosure, Run
from te_sched.codegen.checker.machine import KernelState, Site
from te_sched.codegen.checker.memory import (
    Index,
    Mask,
    Place,
    TrackedMemory,
    elements_of,
)
from te_sched.codegen.checker.numbers import Value, constant, plain, rounded, typed
from te_sched.codegen.checker.report import ViolationKind
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir import stmt as S


def inside(
    machine: KernelState, memory: TrackedMemory, position: Place, site: Site
) -> tuple[Place, Mask] | None:
    """The accesses that are within bounds, and their threads; None if there are none."""
    mask = machine.mask
    if memory.has(position):
        return position, mask
    masked = position.masked if isinstance(position, Index) else None
    if masked is not None and masked[0] is mask and masked[1] == memory.size:
        return masked[2]
    values = elements_of(position)
    outside = (values < 0) | (values >= memory.size)
    bad = outside if mask is None else outside & mask
    if bad.any():
        shape = np.broadcast_shapes(bad.shape, () if mask is None else mask.shape)
        detail = f"{memory.name} has {memory.size} elements; the access was not done"
        machine.find(ViolationKind.OUT_OF_BOUNDS, site, np.broadcast_to(bad, shape), values, detail)
    left = ~outside if mask is None else ~outside & mask
    if not memory.size or not left.any():
        return None
    if isinstance(position, Index) and not bad.any():
        clipped = Index(np.clip(values, 0, memory.size - 1)), mask
        position.masked = (mask, memory.size, clipped)
        return clipped
    return Index(np.clip(values, 0, memory.size - 1)), left


def read(
    machine: KernelState, memory: TrackedMemory, position: Place, site: Site, dtype: str
) -> Value:
    """Elements, checked; 0 where they do not exist."""
    access = inside(machine, memory, position, site)
    if access is None:
        return constant(0, dtypes.element(dtype))
    position, mask = access
    _check_written(machine, memory, position, mask, site)
    if memory.scope != "local":
        if memory.shadow is not None:
            shadow = memory.shadow
            shadow.read(position, mask, site)
            if shadow.kept is not None:
                if dtype == memory.dtype:
                    counters.count(machine, site, memory, position, mask)
                    return shadow.kept
                shadow.flush()
        counters.count(machine, site, memory, position, mask)
    return memory.get(dtype, position)


def _check_written(
    machine: KernelState, memory: TrackedMemory, position: Place, mask: Mask, site: Site
) -> None:
    """Report reads of uninitialized elements."""
    bad = None if memory.is_complete else memory.unwritten(position, mask)
    if bad is not None:
        machine.find(ViolationKind.UNINITIALIZED_READ, site, bad, elements_of(position))


def write(
    machine: KernelState,
    memory: TrackedMemory,
    position: Place,
    value: Value,
    site: Site,
    dtype: str,
) -> None:
    """Write elements, checked."""
    access = inside(machine, memory, position, site)
    if access is None:
        return
    position, mask = access
    memory.mark(position, mask)
    if memory.scope != "local":
        counters.count(machine, site, memory, position, mask)
        if memory.shadow is not None:
            memory.shadow.write(position, mask, value, dtype, site)
            return
    memory.put(dtype, position, mask, value)


def load(c: Compiler, node: Any) -> ExprClosure:
    """buffer[indices]"""
    part = c.place(node.buffer, node.indices)
    site = c.site(node.buffer, node.indices, "read")
    machine, memories, data = c.machine, c.machine.memories, node.buffer.data
    position_of, dtype = part.run, dtypes.element(node.buffer.dtype)

    def run() -> Value:
        return read(machine, memories[data], position_of(), site, dtype)

    return ExprClosure(run, part.slots, False, True)


def store(c: Compiler, node: S.BufferStore) -> Run:
    """buffer[indices] = value"""
    compute, position_of = c.value(node.value).run, c.place(node.buffer, node.indices).run
    site = c.site(node.buffer, node.indices, "write")
    machine, memories, data = c.machine, c.machine.memories, node.buffer.data
    dtype = dtypes.element(node.buffer.dtype)

    def run() -> None:
        write(machine, memories[data], position_of(), compute(), site, dtype)

    return run


# -- pointers --------------------------------------------------------------------------------------


def pointer(c: Compiler, node: E.Expr, does: str) -> tuple[E.Var, ExprClosure, Site, str]:
    """What a pointer points to: memory, the first element, the access, the type of elements."""
    target = target_of(node)
    if isinstance(node, E.Var) and node.pointer is not None:
        buffer = array_of(node, dtypes.element(node.pointer.element))
        indices: tuple[E.Expr, ...] = (E.IntImm(0),)
    elif target is None:
        raise c.unknown(f"the pointer {node}")
    else:
        buffer, indices = target.buffer, target.indices
        lanes = dtypes.lanes(buffer.dtype)
        if lanes > 1 and isinstance(node, E.Call) and node.op == "tir.tvm_access_ptr":
            buffer = array_of(buffer.data, dtypes.element(buffer.dtype))
            indices = (E.Mul(indices[0], E.IntImm(lanes, indices[0].dtype)),)
    return buffer.data, c.place(buffer, indices), c.site(buffer, indices, does), buffer.dtype


# -- atomic operations -----------------------------------------------------------------------------


_UPDATES: dict[str, Callable[..., Any]] = {
    "atomic_add": np.add,
    "atomic_max": np.maximum,
    "atomic_min": np.minimum,
    "atomic_exch": lambda old, new: new,
    "atomic_cas": lambda old, wanted, new: new if old == wanted else old,
}


def atomic(c: Compiler, node: E.Call) -> ExprClosure:
    """old = *pointer; *pointer = f(old, values...), one thread after the other."""
    name = node.op.removeprefix("tir.")
    data, part, site, dtype = pointer(c, node.args[0], "update")
    values = [c.expression(arg) for arg in node.args[1:]]
    update, machine = _UPDATES[name], c.machine

    def run() -> Value:
        memory = machine.memories[data]
        access = inside(machine, memory, part.run(), site)
        if access is None:
            return constant(0, dtype)
        position, mask = access
        _check_written(machine, memory, position, mask, site)
        if memory.shadow is not None:
            memory.shadow.update(position, mask, site)
        operands = [typed(value.run(), dtype) for value in values]
        return _update(machine, memory, position, mask, update, operands, dtype)

    return ExprClosure(run, frozenset(), False, True)


def _update(
    machine: KernelState,
    memory: TrackedMemory,
    position: Place,
    mask: Mask,
    update: Callable[..., Any],
    operands: list[Any],
    dtype: str,
) -> Value:
    space = machine.space
    values = elements_of(position)
    active = np.broadcast_to(True if mask is None else mask, space.shape).reshape(-1)
    lanes = np.flatnonzero(active)
    flat = np.broadcast_to(memory.flat(values), space.shape).reshape(-1)[lanes]
    rows = [np.broadcast_to(operand, space.shape).reshape(-1)[lanes] for operand in operands]
    data = memory.view(dtype).reshape(-1)
    old = np.zeros(space.lanes, data.dtype)
    for number, (lane, element) in enumerate(zip(lanes, flat, strict=True)):
        old[lane] = data[element]
        data[element] = rounded(update(data[element], *[row[number] for row in rows]), dtype)
    return plain(old.reshape(space.shape))


CALLS = {"load": load, **dict.fromkeys(_UPDATES, atomic)}
