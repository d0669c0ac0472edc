"""The stage that a statement computes: the one that it writes last, since stages attached inside of
it are computed before. It is found from the innermost statements outwards, for requested statements
only, so `ir.scopes` is not used. Must not know how this is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeGuard

from te_sched.ir import stmt as S
from te_sched.ir.expr import Call, IntImm, Var
from te_sched.ir.views import Views
from te_sched.ir.visitor import PART_FIELDS, parts_of, walk

_WRITE = 2  # in the mask of an access_ptr


class StageAttribution:
    """The stages of the statements of a program; `stage_of` names that of some memory."""

    def __init__(self, stage_of: Callable[[Var], str]) -> None:
        self._stage_of = stage_of
        self._known: dict[Any, str] = {}
        self._views = Views()

    def of(self, node: Any) -> str:
        """The stage that a statement computes, or ""."""
        pending, owner = [node], ""
        asked = []
        while pending and not owner:
            current = pending.pop()
            if current in self._known:
                owner = self._known[current]
                continue
            asked.append(current)
            if type(current) is S.AttrStmt and current.key == "buffer_bind_scope":
                self._views.bind(current)
            pending += parts_of(current)
            if not PART_FIELDS[type(current)]:
                owner = self._known[current] = self._written(current)
        self._remember(asked, owner)
        return owner

    def _remember(self, asked: list[Any], owner: str) -> None:
        """Store the result for each statement on the path to it."""
        if asked:
            self._known[asked[0]] = owner
        for above, below in pairwise(asked):
            if parts_of(above)[-1:] == [below]:
                self._known[below] = owner
            else:
                return

    def _written(self, node: Any) -> str:
        """The stage that a leaf statement writes."""
        if type(node) is S.BufferStore:
            return self._named(node.buffer.data)
        if type(node) is not S.Evaluate or not isinstance(node.value, Call):
            return ""
        pointers = [part for part in walk(node.value) if _is_pointer(part)]
        for pointer in reversed(pointers):
            if _mask(pointer) & _WRITE:
                return self._named(pointer.args[1])
        if "packed" in node.value.op or "extern" in node.value.op:
            data = [part for part in walk(node.value) if _is_data(part)]
            return self._named(data[-1]) if data else ""
        # Instructions for fragments name the one that they write first.
        return next((self._named(part) for part in node.value.args if _is_data(part)), "")

    def _named(self, data: Var) -> str:
        return self._stage_of(self._views.base(data))


def _is_data(node: Any) -> TypeGuard[Var]:
    return type(node) is Var and node.dtype == "handle"


def _is_pointer(node: Any) -> bool:
    return type(node) is Call and node.op == "tir.tvm_access_ptr" and type(node.args[1]) is Var


def _mask(pointer: Call) -> int:
    mask = pointer.args[4]
    return mask.value if isinstance(mask, IntImm) else 0
