"""The progress of long work: a bar of tqdm if that is installed, otherwise a line on the terminal.

It is shown only in terminals and notebooks, after one second; tqdm is not loaded before. `in_lines`
shows it elsewhere, too, such as in the log of a command. Must not know the work.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeVar

from te_sched import config
from te_sched.errors import is_in_notebook

_T = TypeVar("_T")
_DELAY = 1.0  # seconds
_LINE_DELAY = 5.0  # seconds between two lines where the error stream is not a terminal
_IN_LINES: ContextVar[bool] = ContextVar("in_lines", default=False)


@contextmanager
def in_lines() -> Iterator[None]:
    """Show the progress of long work in lines where the error stream is not a terminal."""
    token = _IN_LINES.set(True)
    try:
        yield
    finally:
        _IN_LINES.reset(token)


def progress(items: Iterable[_T], what: str, total: int | None = None) -> Iterable[_T]:
    """Iterate over items, with a bar that shows how many of `total` (by default all) are done."""
    if not _is_shown():
        return items
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    return _shown(items, what, total)


class Count:
    """A bar that the work moves itself: `add` says how much was done, and what is to be shown. It
    is shown after a second, or at once if the work `is_long`.
    """

    def __init__(self, what: str, total: int, is_long: bool = False) -> None:
        self._what, self._total, self._done = what, total, 0
        self._start = time.monotonic()
        self.is_shown = _is_shown()
        self._bar: Any = _bar(what, 0, total) if is_long and self.is_shown else None

    def add(self, count: int = 1, note: str = "") -> None:
        """Count what was done; `note` stands after the bar from now on."""
        self._done += count
        if not self.is_shown:
            return
        if self._bar is not None:
            self._bar.update(count)
        elif time.monotonic() - self._start > _DELAY and self._done < self._total:
            self._bar = _bar(self._what, self._done, self._total)
        if self._bar is not None and note:
            self._bar.set_postfix_str(note)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _is_shown() -> bool:
    return config.current().progress and (
        _is_watched() or (_IN_LINES.get() and sys.stderr is not None)
    )


def _is_watched() -> bool:
    """Whether the error stream is a terminal, or the program runs in a notebook."""
    if is_in_notebook():
        return True
    isatty = getattr(sys.stderr, "isatty", None)  # sys.stderr may be None
    return bool(isatty is not None and isatty())


def _shown(items: Iterable[_T], what: str, total: int | None) -> Iterator[_T]:
    start, done, bar = time.monotonic(), 0, None
    try:
        for item in items:
            yield item
            done += 1
            if bar is not None:
                bar.update()
            elif time.monotonic() - start > _DELAY and done != total:
                bar = _bar(what, done, total)
    finally:
        if bar is not None:
            bar.close()


def _bar(what: str, done: int, total: int | None) -> Any:
    """A bar at `done`, which is removed at the end; lines where there is no terminal."""
    if not _is_watched():
        return _Lines(what, done, total)
    try:
        with warnings.catch_warnings():  # without ipywidgets, a notebook shows the bar as text
            warnings.simplefilter("ignore")
            tqdm = importlib.import_module("tqdm.auto").tqdm
            return tqdm(desc=what, initial=done, total=total, leave=False)
    except ImportError:
        return _Line(what, done, total)


class _Line:
    """ "explaining: 3 of 12", on one line of the error stream."""

    def __init__(self, what: str, done: int, total: int | None) -> None:
        self._what, self._done, self._total, self._note = what, done, total, ""
        self.update(0)

    def update(self, count: int = 1) -> None:
        """Count more items."""
        self._done += count
        rest = "\x1b[K" if self._note else ""  # the text may be shorter than the last one
        print(f"\r{self._text()}{rest}", end="", file=sys.stderr, flush=True)

    def set_postfix_str(self, note: str) -> None:
        """Show a note after the number, as tqdm does."""
        self._note = f", {note}"
        self.update(0)

    def close(self) -> None:
        """Remove the line."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _text(self) -> str:
        of_all = "" if self._total is None else f" of {self._total}"
        return f"{self._what}: {self._done}{of_all}{self._note}"


class _Lines(_Line):
    """The same in lines: at the start, every few seconds, and at the end."""

    def __init__(self, what: str, done: int, total: int | None) -> None:
        self._last, self._shown = -_LINE_DELAY, ""
        super().__init__(what, done, total)

    def update(self, count: int = 1) -> None:
        """Count more items."""
        self._done += count
        is_due = time.monotonic() - self._last >= _LINE_DELAY
        if is_due and self._done != self._total:  # the last line has the last note
            self._show()

    def set_postfix_str(self, note: str) -> None:
        """Show a note after the number, from the next line on."""
        self._note = f", {note}"

    def close(self) -> None:
        """Show what was done, if it was not shown."""
        if self._shown != self._text():
            self._show()

    def _show(self) -> None:
        self._last, self._shown = time.monotonic(), self._text()
        print(self._shown, file=sys.stderr, flush=True)
