"""A kind of schedule for tests: loops are found by name, lengths are sampled."""

from __future__ import annotations

from typing import Any, ClassVar

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
