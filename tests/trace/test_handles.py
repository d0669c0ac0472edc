"""Traces of schedules of another kind: loops are found by name, lengths are sampled."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from te_sched.errors import SourceLocation
from te_sched.ir.expr import Var
from te_sched.trace.drafts import Changes, Draft
from te_sched.trace.entries import Entry
from te_sched.trace.primitive import ArgumentKind, Primitive, primitive
from te_sched.trace.trace import Trace


class Loop:
    """A handle."""


class LoopHandles:
    """Loops are l0, l1, sampled values v2, ..."""

    reserved = ("sch",)
    references: ClassVar[dict[str, Any]] = {}
    roots = ()
    signature = None
    indent = "  "
    empty = "pass"
    is_named = True

    def literal(self, value: Any) -> str:
        return repr(value)

    def results_text(self, names: list[str], is_several: bool) -> str:
        return ", ".join(names) + "," * (is_several and len(names) == 1)

    def instruction_name(self, method: str) -> str:
        return method.capitalize()

    def head(self, name: Any) -> list[str]:
        return ["def apply_trace(sch):"]

    def name_of(self, value: Any, number: int) -> str | None:
        letter = {Loop: "l", Var: "v"}.get(type(value))
        return f"{letter}{number}" if letter else None

    def variable_of(self, handle: Any) -> Var | None:
        return handle if isinstance(handle, Var) else None

    def reference(self, target: Any) -> Any:
        raise NotImplementedError

    def introduced(self, schedule: Any, entry: Entry, known: set[Any]) -> list[Entry]:
        return []

    def primitive(self, schedule: Any, name: str) -> Primitive | None:
        return getattr(getattr(type(schedule), name.lower(), None), "declared", None)


class LoopScheduleDraft(Draft):
    """What primitives change."""

    __slots__ = ()

    loops: dict[str, Any]


class LoopSchedule:
    """Loops by name, and their lengths."""

    def __init__(self) -> None:
        self.loops: dict[str, Any] = {"i": Loop()}
        self.lengths: dict[Any, Any] = {}
        self.changes: Changes | None = None
        self.trace = Trace(LoopHandles())

    @primitive(name=ArgumentKind(is_attribute=True, by_name=True))
    def get_loop(self, name: str) -> Loop:
        """Find a loop."""
        return self.loops[name]

    @primitive(loop=ArgumentKind(by_name=True), most=ArgumentKind(is_attribute=True, by_name=True))
    def sample(self, loop: Loop, most: int = 8, decision: Any = None) -> list[Var]:
        """Draw two lengths."""
        assert self.changes is not None
        self.changes.decision = decision or [most, 2]
        return [Var("v"), Var("v")]

    @primitive(factors=ArgumentKind(by_name=True))
    def split(self, loop: Loop, factors: Any) -> list[Loop]:
        """Make several loops of one.

        The last is innermost.
        """
        assert self.changes is not None
        draft = self.changes.draft(self, LoopScheduleDraft)
        made = [Loop() for _ in factors]
        draft.loops.update({f"i{number}": loop for number, loop in enumerate(made)})
        if len(factors) > 2:
            raise ValueError("too many")
        return made


def scheduled() -> LoopSchedule:
    """A loop that is split by what was sampled."""
    s = LoopSchedule()
    loop = s.get_loop("i")
    s.split(loop, factors=s.sample(loop))
    return s


TEXT = """def apply_trace(sch):
  l0 = sch.get_loop(name='i')
  v1, v2 = sch.sample(loop=l0, decision=[8, 2])
  l3, l4 = sch.split(l0, factors=[v1, v2])"""


def test_program_and_replay() -> None:
    s = scheduled()
    assert str(s.trace) == TEXT
    again = s.trace.replay(LoopSchedule())
    assert list(again.loops) == ["i", "i0", "i1"]
    assert str(again.trace) == TEXT


def test_json_keeps_decisions() -> None:
    s, again = scheduled(), LoopSchedule()
    saved = s.trace.as_json()
    assert saved == [
        [
            ["Get_loop", [], ["i"], ["l0"]],
            ["Sample", ["l0"], [8], ["v1", "v2"]],
            ["Split", ["l0", ["v1", "v2"]], [], ["l3", "l4"]],
        ],
        [[1, [8, 2]]],
    ]
    saved[1][0][1] = [4, 4]
    Trace.apply_json_to_schedule(saved, again)
    assert again.trace.entries[1].decision == [4, 4]


def test_a_refused_call_changes_nothing() -> None:
    s = scheduled()
    loops = dict(s.loops)
    with pytest.raises(ValueError, match="too many"):
        s.split(s.loops["i"], factors=[1, 2, 3])
    assert s.loops == loops
    assert len(s.trace) == 3


def test_a_declaration_has_the_signature_and_the_summary() -> None:
    declared = LoopSchedule.sample.declared  # type: ignore[attr-defined]
    assert [one.name for one in declared.parameters] == ["loop", "most"]
    assert LoopSchedule.split.declared.summary == "Make several loops of one."  # type: ignore[attr-defined]


def test_a_draft_has_only_the_fields_that_may_change() -> None:
    s = LoopSchedule()
    with Changes(s, SourceLocation()) as changes:
        draft = changes.draft(s, LoopScheduleDraft)
        draft.loops["j"] = Loop()
        assert "j" not in s.loops
        with pytest.raises(AttributeError):
            _ = draft.lengths
    assert "j" in s.loops
