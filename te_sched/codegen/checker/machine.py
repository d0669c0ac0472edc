"""The state of a kernel during the execution of a batch of blocks, and its findings.

Must not know expressions or statements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from te_sched.codegen.checker.memory import Mask, TrackedMemory
from te_sched.codegen.checker.report import (
    AccessCounter,
    Report,
    Violation,
    ViolationKind,
    stage_name,
)
from te_sched.codegen.checker.space import Space
from te_sched.ir.expr import Var


class Stopped(Exception):
    """The kernel has taken too many steps."""


@dataclass(slots=True)
class Site:
    """One access in the text of a kernel."""

    number: int
    buffer: str
    access: str
    does: str
    stage: str = ""
    counter: AccessCounter | None = None
    times: int = 0
    is_counted: bool = True  # a GPU does it


@dataclass(slots=True)
class KernelState:
    """Variables have slots; `versions` identify the values of a slot, for caches.

    `mask` is where threads take part, None where all do. `epoch` counts the barriers that each
    block has passed, `warp_epoch` those of warps since then.
    """

    kernel: str
    report: Report
    max_steps: int
    space: Space
    values: list[Any] = field(default_factory=list)
    versions: list[Any] = field(default_factory=list)
    slots: dict[Var, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    memories: dict[Var, TrackedMemory] = field(default_factory=dict)
    fragments: dict[Var, Any] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    mask: Mask = None
    epoch: np.ndarray = field(default_factory=lambda: np.ones(1, np.int64))
    warp_epoch: int = 0
    has_warp_barriers: bool = False
    loops: list[int] = field(default_factory=list)
    steps: int = 0
    by_access: dict[tuple[Any, ...], Violation] = field(default_factory=dict)
    launch: Callable[..., None] | None = None
    written: frozenset[Var] = frozenset()
    outside: dict[str, np.ndarray] = field(default_factory=dict)  # threads that a check has found
    _version: int = 0

    def slot(self, var: Var) -> int:
        """The place of a variable's value."""
        number = self.slots.get(var)
        if number is None:
            number = self.slots[var] = len(self.values)
            self.values.append(0)
            self.versions.append(0)
            self.names.append(var.name)
        return number

    def assign(self, slot: int, value: Any, version: Any = None) -> None:
        """Give a variable a value; the same version means the same value."""
        self.values[slot] = value
        if type(value) is int:
            self.versions[slot] = value
        elif version is not None:
            self.versions[slot] = version
        else:
            self._version += 1
            self.versions[slot] = (self._version,)

    def take_steps(self, count: int) -> None:
        """Count iterations of loops; stop at the limit."""
        self.steps += count
        if self.steps <= self.max_steps:
            return
        finding = self.new_finding(ViolationKind.STEP_LIMIT, None, self.first_active())
        finding.detail = f"stopped after {self.max_steps} steps; raise max_steps if it may go on"
        self.add(finding, (self.names[self.loops[-1]] if self.loops else "",))
        raise Stopped

    def first_active(self) -> tuple[int, ...]:
        """The place of the first thread that takes part."""
        if self.mask is None:
            return (0, 0, 0, 0)
        return first_of(self.mask)

    def new_finding(
        self, kind: ViolationKind, site: Site | None, position: tuple[int, ...]
    ) -> Violation:
        """A finding at an access, of the thread at a place of an array over threads."""
        site = site if site is not None else Site(0, "", "", "")
        return Violation(
            kind,
            self.kernel,
            stage_name(site.stage),
            site.buffer,
            site.access,
            site.does,
            self.space.thread_at(position),
            loops=self.loop_values(position),
        )

    def loop_values(self, position: tuple[int, ...]) -> dict[str, int]:
        """The values of the enclosing loops for one thread."""
        return {self.names[slot]: int(value_at(self.values[slot], position)) for slot in self.loops}

    def add(self, finding: Violation, key: tuple[Any, ...], count: int = 1) -> None:
        """Add a finding, or count a known one again."""
        full = (finding.kind, finding.buffer, finding.access, *key)
        first = self.by_access.get(full)
        if first is None:
            finding.count = count
            self.by_access[full] = finding
            self.report.findings.append(finding)
        else:
            first.count += count

    def find(
        self, kind: ViolationKind, site: Site, bad: np.ndarray, values: Any, detail: str = ""
    ) -> None:
        """Add what is wrong where `bad` holds, at elements `values`."""
        bad, values = np.broadcast_arrays(bad, values)
        if kind is ViolationKind.OUT_OF_BOUNDS and site.buffer in self.outside:
            bad = bad & ~self.outside[site.buffer]
            if not bad.any():
                return
        position = first_of(bad)
        finding = self.new_finding(kind, site, position)
        finding.index = int(values[position])
        finding.detail = detail
        self.add(finding, (), int(bad.sum()))


def first_of(bad: np.ndarray) -> tuple[int, ...]:
    """The first place where an array over threads holds."""
    shape = bad.shape
    position = np.unravel_index(int(np.argmax(bad)), shape)
    return (0,) * (4 - len(shape)) + tuple(int(at) for at in position)


def value_at(value: Any, position: tuple[int, ...]) -> Any:
    """The value of the thread at a place of an array over threads."""
    if not isinstance(value, np.ndarray):
        return value
    shape = (1,) * (4 - value.ndim) + value.shape
    index = tuple(0 if extent == 1 else p for extent, p in zip(shape, position[-4:], strict=False))
    return value.reshape(shape)[index]
