"""The memory accesses of a statement itself, in order of evaluation.

Each access has the conditions and lets of the expression in which it is nested. Must not know loops
or analyses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from te_sched.ir import dtypes
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import (
    And,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    Let,
    Node,
    Not,
    Or,
    Ramp,
    Var,
)
from te_sched.ir.stmt import (
    Allocate,
    AssertStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    While,
)
from te_sched.ir.visitor import CHILD_FIELDS, Mapper, children

_EXPRESSIONS: dict[type, tuple[str, ...]] = {
    For: ("min", "extent"),
    IfThenElse: ("condition",),
    While: ("condition",),
    LetStmt: ("value",),
    AssertStmt: ("condition",),
    Evaluate: ("value",),
    Allocate: ("extents",),
}

# A condition that holds, or a variable and its value.
Guard = Expr | tuple[Var, Expr]


class Occurrence(NamedTuple):
    """A read or write of elements in a program.

    For an argument of an external function, `buffer` is None, and `extent` the number of elements
    from an offset in the flat memory of `data`; otherwise `extent` is None. If both are None, the
    argument is all of `data`. An atomic access reads and writes, and never conflicts with another.
    `predicate` tells the lanes of a vector that are accessed, if not all are.
    """

    data: Var
    buffer: Buffer | None
    indices: tuple[Expr, ...]
    reads: bool
    writes: bool
    guards: tuple[Guard, ...]
    extent: Expr | None = None
    is_atomic: bool = False
    predicate: Expr | None = None


def occurrences_of(node: Stmt) -> list[Occurrence]:
    """The accesses of a statement, without those of nested statements."""
    occurrences: list[Occurrence] = []
    if type(node) is BufferStore:
        for index in node.indices:
            _collect(index, (), occurrences)
        _collect(node.value, (), occurrences)
        buffer, mask = node.buffer, node.predicate
        store = Occurrence(buffer.data, buffer, node.indices, False, True, (), predicate=mask)
        return [*occurrences, store]
    for name in _EXPRESSIONS.get(type(node), ()):
        value = getattr(node, name)
        for part in value if isinstance(value, tuple) else (value,):
            _collect(part, (), occurrences)
    return occurrences


def _collect(e: Any, guards: tuple[Guard, ...], occurrences: list[Occurrence]) -> None:
    kind = type(e)
    fields = CHILD_FIELDS[kind]
    if not fields:
        return
    if kind is BufferLoad:
        for index in e.indices:
            _collect(index, guards, occurrences)
        data, buffer, mask = e.buffer.data, e.buffer, e.predicate
        occurrences.append(Occurrence(data, buffer, e.indices, True, False, guards, predicate=mask))
    elif kind is And or kind is Or:
        _collect(e.a, guards, occurrences)
        _collect(e.b, (*guards, e.a if kind is And else Not(e.a)), occurrences)
    elif kind is Let:
        _collect(e.value, guards, occurrences)
        _collect(e.body, (*guards, (e.var, e.value)), occurrences)
    elif (choice := choice_of(e)) is not None:
        condition, yes, no = choice
        _collect(condition, guards, occurrences)
        _collect(yes, (*guards, condition), occurrences)
        _collect(no, (*guards, Not(condition)), occurrences)
    elif kind is Call:
        _call(e, guards, occurrences)
    else:
        for name in fields:
            value = getattr(e, name)
            for part in value if type(value) is tuple else (value,):
                if CHILD_FIELDS[type(part)]:
                    _collect(part, guards, occurrences)


def _call(e: Call, guards: tuple[Guard, ...], occurrences: list[Occurrence]) -> None:
    if e.op == "tir.address_of" and type(e.args[0]) is BufferLoad:
        load = e.args[0]  # its address only: the element is not accessed
        for index in load.indices:
            _collect(index, guards, occurrences)
        occurrences.append(Occurrence(load.buffer.data, None, (), True, True, guards))
    elif e.op == "tir.prefetch":
        return
    elif e.op.startswith("tir.atomic_"):
        _atomic(e, guards, occurrences)
    elif e.op == "tir.tvm_access_ptr" and type(e.args[1]) is Var:
        data, (offset, extent, mask) = e.args[1], e.args[2:5]
        _collect(offset, guards, occurrences)
        how = mask.value if isinstance(mask, IntImm) else 3
        reads, writes = bool(how & 1), bool(how & 2)
        occurrences.append(Occurrence(data, None, (offset,), reads, writes, guards, extent))
    elif e.op == "tir.tvm_thread_allreduce" and isinstance(e.args[0], IntImm):
        count = e.args[0].value  # threads for which the condition is false add nothing
        for value in e.args[1 : 1 + count]:
            _collect(value, (*guards, e.args[1 + count]), occurrences)
        for result in e.args[2 + count : 2 + 2 * count]:  # registers of each thread
            if type(result) is BufferLoad:
                buffer = result.buffer
                occurrences.append(
                    Occurrence(buffer.data, buffer, result.indices, False, True, guards)
                )
    else:
        for arg in e.args:
            if type(arg) is Var and arg.dtype == "handle":
                occurrences.append(Occurrence(arg, None, (), True, True, guards))
            _collect(arg, guards, occurrences)


def _atomic(e: Call, guards: tuple[Guard, ...], occurrences: list[Occurrence]) -> None:
    """The accesses of a function that updates the element to which its first argument points."""
    pointer = e.args[0]
    for arg in e.args[1:]:
        _collect(arg, guards, occurrences)
    if (
        type(pointer) is Call
        and pointer.op == "tir.address_of"
        and type(pointer.args[0]) is BufferLoad
    ):
        load = pointer.args[0]
        for index in load.indices:
            _collect(index, guards, occurrences)
        occurrence = Occurrence(
            load.buffer.data, load.buffer, load.indices, True, True, guards, is_atomic=True
        )
        occurrences.append(occurrence)
    else:
        pointers: list[Occurrence] = []
        _collect(pointer, guards, pointers)
        occurrences += [access._replace(is_atomic=access.extent is not None) for access in pointers]


def lane_of(e: Expr, number: Expr) -> Expr:
    """Lane `number` of a vector of indices; a scalar is returned unchanged.

    Raises
    ------
    ValueError for a vector of an unsupported form.
    """
    lane: Expr = _Lane(number).visit(e)
    return lane


class _Lane(Mapper):
    """Replaces vectors in an expression by one of their lanes."""

    def __init__(self, number: Expr) -> None:
        self.number = number

    def visit(self, node: Any) -> Any:
        if dtypes.lanes(node.dtype) == 1:
            return node
        kind = type(node)
        if kind is Ramp:
            return node.base + node.stride * self.number.astype(node.base.dtype)
        if kind is Broadcast:
            return node.value
        if kind is BufferLoad and dtypes.lanes(node.buffer.dtype) == 1:
            mask = None if node.predicate is None else self.visit(node.predicate)
            return BufferLoad(node.buffer, tuple(map(self.visit, node.indices)), mask)
        if "dtype" in getattr(kind, "__slots__", ()) and hasattr(node, "value"):
            return kind(dtypes.element(node.dtype), self.visit(node.value))
        if hasattr(node, "a") and hasattr(node, "b"):
            return kind(self.visit(node.a), self.visit(node.b))
        raise ValueError(f"a lane of {node}")


def data_read_by(e: Node) -> Iterator[Var]:
    """The memory that an expression reads."""
    if type(e) is BufferLoad:
        yield e.buffer.data
    for part in children(e):
        yield from data_read_by(part)
