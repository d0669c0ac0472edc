"""The interface of passes, and their application in order.

A pass maps a function to a function, under the settings of the lowering. Must not know any pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from te_sched.config import Config, Lowering
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.verify import verify


class Pass(NamedTuple):
    """A pass, the level of the IR of its result (see `ir.verify`), and the last of the phases of
    `config.Lowering.added_passes` that are applied before it.
    """

    run: Callable[[PrimFunc, Lowering], PrimFunc]
    level: str
    phase: int = 0

    @property
    def name(self) -> str:
        """The name of its function."""
        return getattr(self.run, "__name__", "")


class Watcher(Protocol):
    """Observes a program before the passes and after each of them."""

    def begin(self, func: PrimFunc, title: str) -> None:
        """Called with the program before the first pass."""

    def after(self, one: Callable[..., Any], func: PrimFunc) -> None:
        """Called with the result of a pass."""


def apply_passes(
    passes: Iterable[Pass], func: PrimFunc, switches: Config, watcher: Watcher | None = None
) -> PrimFunc:
    """The function after the passes; `switches.verify_passes` verifies what each has changed."""
    level = ""
    for one in passes:
        before, func = func, one.run(func, switches.lowering)
        if watcher is not None:
            watcher.after(one.run, func)
        if switches.verify_passes and (func is not before or one.level != level):
            verify(func, one.level)
        level = one.level
    return func
