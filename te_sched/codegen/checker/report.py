"""Reports of the checked mode: data, and text for a terminal.

Must not know how findings are made.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from te_sched.notebook_display import Shown

_SUFFIX = re.compile(
    r"(?:[._](?:shared|local|warp|dyn|global|wmma|matrix_a|matrix_b|accumulator|fragment))+"
    r"(?:_\d+)?$"
)


class ViolationKind(StrEnum):
    """What is wrong."""

    WRITE_WRITE_RACE = "write-write race"
    READ_WRITE_RACE = "read-write race"
    BARRIER_DIVERGENCE = "barrier divergence"
    OUT_OF_BOUNDS = "out of bounds"
    UNINITIALIZED_READ = "uninitialized read"
    SHUFFLE = "undefined shuffle"
    STEP_LIMIT = "step limit"


_MEANING = {
    ViolationKind.WRITE_WRITE_RACE: "two threads write different values, and nothing orders them",
    ViolationKind.READ_WRITE_RACE: "one thread reads what another writes, and nothing orders them",
    ViolationKind.BARRIER_DIVERGENCE: "some threads reach it, others of their block do not",
    ViolationKind.OUT_OF_BOUNDS: "the element does not exist; the access was not done",
    ViolationKind.UNINITIALIZED_READ: "nothing has written the element before",
    ViolationKind.SHUFFLE: "the lane does not exist or does not take part",
    ViolationKind.STEP_LIMIT: "the kernel was stopped",
}


@dataclass(frozen=True, slots=True)
class ThreadId:
    """One thread: blockIdx and threadIdx, each as (x, y, z)."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return f"block {self.block} thread {self.thread}"


@dataclass(slots=True)
class Violation:
    """One finding at its first occurrence; `count` is the number of occurrences.

    `access` is what `thread` does to element `index` of `buffer`; for races, `other_access` is what
    `other` does. `loops` are the values of the loops round the access.
    """

    kind: ViolationKind
    kernel: str
    stage: str
    buffer: str
    access: str
    does: str
    thread: ThreadId
    index: int | None = None
    other: ThreadId | None = None
    other_access: str = ""
    loops: dict[str, int] = field(default_factory=dict)
    detail: str = ""
    count: int = 1

    def __str__(self) -> str:
        times = "" if self.count == 1 else f" ({self.count} times)"
        location = f"stage {self.stage}, buffer {self.buffer}, " if self.buffer else ""
        lines = [
            f"{self.kind} in {self.kernel}: {self.detail or _MEANING[self.kind]}{times}",
            f"  where: {location}{self.does} {self.access}".rstrip(),
        ]
        if self.index is not None:
            lines.append(f"  element: {self.index}")
        lines.append(f"  thread: {self.thread}")
        if self.other is not None:
            other = f": {self.other_access}" if self.other_access else ""
            lines.append(f"  other thread: {self.other}{other}")
        if self.loops:
            values = ", ".join(f"{name} = {value}" for name, value in self.loops.items())
            lines.append(f"  loops: {values}")
        return "\n".join(lines)


@dataclass(slots=True)
class AccessCounter:
    """How the warps of a kernel use memory at one access.

    `executions` counts how often blocks came by. The rest is of the executions that were looked at
    (the 1st, 2nd, 4th, 8th, ...): requests of warps, their passes and the fewest possible:
    passes through the 32 banks of shared memory, or sectors of 32 bytes of global memory.
    """

    access: str
    buffer: str
    scope: str
    does: str
    executions: int = 0
    requests: int = 0
    taken: int = 0
    ideal: int = 0

    @property
    def unit(self) -> str:
        """What `taken` and `ideal` count."""
        return "passes" if self.scope == "shared" else "sectors"

    @property
    def factor(self) -> float:
        """The ratio of the actual to the ideal number; 1 is best."""
        return self.taken / self.ideal if self.ideal else 1.0


def stage_name(buffer: str) -> str:
    """The stage behind a buffer: its name without the scopes of caches.

    >>> stage_name("A_shared_local")
    'A'
    """
    return _SUFFIX.sub("", buffer) or buffer


@dataclass(slots=True)
class Report(Shown):
    """The result of one run.

    `counters` has the accesses of each kernel, `occupancy` for each kernel and architecture how
    many blocks fit a multiprocessor, `unchecked` what was left out.
    """

    findings: list[Violation] = field(default_factory=list)
    counters: dict[str, list[AccessCounter]] = field(default_factory=dict)
    occupancy: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    launches: dict[str, dict[str, Any]] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def records(self) -> list[dict[str, Any]]:
        """A record per finding, for pandas.DataFrame, with the names of `Violation`'s fields."""
        return [asdict(finding) for finding in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        return {
            "ok": self.ok,
            "findings": self.records(),
            "counters": {
                name: [{**asdict(row), "unit": row.unit, "factor": row.factor} for row in counters]
                for name, counters in self.counters.items()
            },
            "occupancy": self.occupancy,
            "launches": self.launches,
            "unchecked": self.unchecked,
        }

    def __str__(self) -> str:
        parts = [_summary(self.findings), *map(str, self.findings)]
        for kernel in self.launches:
            parts.append(self._kernel_text(kernel))
        parts += [f"not checked: {text}" for text in self.unchecked]
        return "\n\n".join(parts)

    def _kernel_text(self, kernel: str) -> str:
        launch = self.launches[kernel]
        lines = [
            f"kernel {kernel}: {launch['blocks']} blocks of {launch['threads']} threads, "
            f"{launch['shared_bytes']} bytes of shared memory in a block"
        ]
        for arch, facts in self.occupancy.get(kernel, {}).items():
            lines.append(
                f"  {arch}: {facts['blocks']} blocks ({facts['warps']} warps, "
                f"{facts['occupancy']:.0%}) fit a multiprocessor, limited by {facts['limited_by']}"
            )
        counters = self.counters.get(kernel, [])
        if counters:
            width = max(len(counter.access) for counter in counters)
            lines += [f"  {_counter_text(counter, min(width, 60))}" for counter in counters]
        return "\n".join(lines)


def _summary(findings: list[Violation]) -> str:
    if not findings:
        return "checked: nothing found"
    counts = Counter(finding.kind for finding in findings)
    texts = [f"{counts[kind]} x {kind}" for kind in ViolationKind if kind in counts]
    return f"checked: {len(findings)} findings ({', '.join(texts)})"


def _counter_text(counter: AccessCounter, width: int) -> str:
    if not counter.requests:
        return f"{counter.does:5} {counter.access:{width}}  never executed"
    taken = counter.taken / counter.requests
    verdict = "" if counter.factor < 1.01 else f"  <- {counter.factor:.1f} times the ideal"
    return (
        f"{counter.does:5} {counter.access:{width}}  {taken:.1f} {counter.unit} a request{verdict}"
    )
