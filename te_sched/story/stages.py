"""The stages that a statement of a program computes, found by the memory that it accesses.

A leaf statement belongs to the stage that it writes, then to those that it reads. A compound
statement belongs to the stage computed last in it, then to the others computed there. Memory is
identified by its name: if lowering lets several stages share memory, it has the name of the first.
The stages of a statement follow from its inner statements, so `ir.scopes`, which tracks outer ones,
is not used. Must not know texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from te_sched.ir import stmt as S
from te_sched.ir.expr import Buffer, BufferLoad, Call, IntImm, Var
from te_sched.ir.printer.names import identifier
from te_sched.ir.views import Views
from te_sched.ir.visitor import parts_of, walk
from te_sched.schedule.schedule import Schedule

_READ, _WRITE = 1, 2  # in the mask of an access_ptr


class Stages:
    """The stages of the statements of programs, by the names of the memory that has their results;
    `of_data` has those of some memory by identity.
    """

    def __init__(self, names: Mapping[str, str], of_data: Mapping[Var, str] | None = None) -> None:
        self._names, self._of_data = names, of_data or {}
        self._views = Views()
        self._known: dict[S.Stmt, tuple[str, ...]] = {}

    @classmethod
    def of_schedule(cls, schedule: Schedule) -> Stages:
        """The stages of programs made from a schedule."""
        names: dict[str, str] = {}
        for stage in schedule.stages:
            for op in (stage.origin_op, stage.op):
                for tensor in op.outputs:
                    names[tensor.name] = stage.op.name
            names[stage.op.name] = stage.op.name
        return cls(names)

    def of(self, statement: S.Stmt | None) -> tuple[str, ...]:
        """The names of the stages of a statement."""
        if statement is None:
            return ()
        stages = self._known.get(statement)
        if stages is None:
            stages = self._known[statement] = tuple(dict.fromkeys(self._stages(statement)))
        return stages

    def of_memory(self, data: Var) -> str:
        """The stage that has its result in some memory, or ""."""
        base = self._views.base(data)
        return self._of_data.get(base) or self._names.get(base.name, "")

    def of_printed(self, name: str) -> str:
        """The stage that has its result in a buffer, by the name that programs print, or ""."""
        names = {identifier(buffer_name, ""): stage for buffer_name, stage in self._names.items()}
        return names.get(name, "")

    def _stages(self, node: Any) -> Iterator[str]:
        if type(node) in (S.BufferStore, S.Evaluate):
            yield from self._computed(node)
            yield from self._named(_touched(node.value, _READ))
        elif type(node) in (S.Prefetch, S.BufferRealize):
            yield from self._named([node.buffer.data])
        elif type(node) is S.Allocate:
            yield from self._named([node.buffer_var])
        else:
            yield from self._inside(node)

    def _inside(self, node: Any) -> Iterator[str]:
        """The stages computed in a statement, those of its last part first."""
        if type(node) is S.AttrStmt:
            if node.key == "buffer_bind_scope":
                self._views.bind(node)
            if isinstance(node.node, Buffer):
                yield from self._named([node.node.data])
        for below in reversed(parts_of(node)):
            yield from self._computed(below)

    def _computed(self, node: S.Stmt) -> Iterator[str]:
        """The stages that an inner statement computes, without those that it reads."""
        if type(node) is S.BufferStore:
            yield from self._named([node.buffer.data])
        elif type(node) is S.Evaluate:
            yield from self._named(_written(node.value))
        elif type(node) in (S.Allocate, S.BufferRealize):
            yield from self._computed(node.body)  # type: ignore[attr-defined]
        else:
            yield from self.of(node)

    def _named(self, touched: Iterable[Var]) -> Iterator[str]:
        return filter(None, map(self.of_memory, touched))


def _written(value: Any) -> list[Var]:
    """The memory that a call writes; of whole buffers, outputs come last."""
    calls = [part for part in walk(value) if isinstance(part, Call)]
    if any(call.op == "tir.tvm_access_ptr" for call in calls):
        return list(_touched(value, _WRITE))
    return list(_touched(value, _WRITE))[-1:]


def _touched(value: Any, how: int) -> Iterator[Var]:
    """The memory that an expression reads or writes."""
    for part in walk(value):
        if isinstance(part, BufferLoad):
            if how == _READ:
                yield part.buffer.data
        elif isinstance(part, Call) and part.op == "tir.tvm_access_ptr":
            mask = part.args[4]
            if isinstance(part.args[1], Var) and isinstance(mask, IntImm) and mask.value & how:
                yield part.args[1]
        elif isinstance(part, Var) and part.dtype == "handle":
            yield part
