"""What differs between two schedules. Must not know how it is found."""

from __future__ import annotations

from dataclasses import dataclass

from te_sched.notebook_display import Shown


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Shown):
    """The differences of another schedule: lines that begin with "-", "+" or " "."""

    trace: tuple[str, ...]
    loops: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether anything is different."""
        return bool(self.trace or self.loops)

    def __str__(self) -> str:
        if not self:
            return "the schedules are the same"
        parts = (("trace", self.trace), ("loops", self.loops))
        return "\n".join(
            [line for name, lines in parts for line in (_heading(name, lines), *lines)]
        )

    __repr__ = __str__


def _heading(name: str, lines: tuple[str, ...]) -> str:
    return f"@@ {name} @@" if lines else f"@@ {name}: the same @@"
