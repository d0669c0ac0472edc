"""The output of `lower(..., show="passes")`: the program, then the changes of each pass.

Must not know any pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from te_sched.errors import TeSchedError, did_you_mean, repr_of
from te_sched.ir.printer import script
from te_sched.ir.stmt import PrimFunc


class PassPrinter:
    """Observes the program after each pass; `text` is the output."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._func: PrimFunc | None = None
        self._lines: list[str] = []
        self._did: dict[str, bool] = {}  # whether a pass changed anything

    def begin(self, func: PrimFunc, title: str) -> None:
        """The program before the first pass."""
        self._func, self._lines = func, script(func).split("\n")
        self._parts += [f"@@ {title} @@", *self._lines, ""]

    def after(self, function: Callable[..., Any], func: PrimFunc) -> None:
        """The program that a pass made."""
        from difflib import unified_diff  # slow to load, and needed when passes are shown only

        lines = self._lines if func is self._func else script(func).split("\n")
        name = getattr(function, "__name__", repr(function))
        changes = list(unified_diff(self._lines, lines, lineterm="", n=1))[2:]
        self._did[name] = bool(changes) or self._did.get(name, False)
        if changes:
            title = f"{name}: {done}" if (done := purpose(function)) else name
            self._parts += [f"@@ {title} @@", *map(_shown, changes[1:]), ""]
        self._func, self._lines = func, lines

    @property
    def text(self) -> str:
        """The whole output."""
        idle = ", ".join(name for name, did in self._did.items() if not did)
        return "\n".join([*self._parts, *([f"Nothing to do: {idle}."] if idle else [])])


@contextmanager
def shown(
    what: str | None, printers: Mapping[str, Callable[[], Any]], call: str, kind: type[TeSchedError]
) -> Iterator[Any]:
    """The observer of the passes of a call, if requested; it prints its text at the end, also if
    the call fails.
    """
    if what is None:
        yield None
        return
    if what not in printers:
        raise kind(
            f"unknown value of show in {call}: {repr_of(what)}",
            help=f"use show={next(iter(printers))!r}, or none{did_you_mean(what, printers)}",
        )
    printer = printers[what]()
    try:
        yield printer
    except RecursionError:  # the call is repeated on a larger stack
        printer = printers[what]()
        raise
    finally:
        if printer.text:
            print(printer.text)


def purpose(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring."""
    text = (function.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split()).removesuffix(".")


def _shown(line: str) -> str:
    return "  ..." if line.startswith("@@") else line
