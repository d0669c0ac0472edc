"""The progress of long work: a bar of tqdm if that is installed, otherwise a line on the terminal.

It is shown only in terminals and notebooks, after one second; tqdm is not loaded before. Must not
know the work.
"""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from te_sched import config

_T = TypeVar("_T")
_DELAY = 1.0  # seconds


def progress(items: Iterable[_T], what: str, total: int | None = None) -> Iterable[_T]:
    """Iterate over items, with a bar that shows how many of `total` (by default all) are done."""
    if not config.current().progress or not _is_watched():
        return items
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    return _shown(items, what, total)


def _is_watched() -> bool:
    """Whether the error stream is a terminal, or the program runs in a notebook."""
    if "ipykernel" in sys.modules:
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
    """A bar at `done`, which is removed at the end."""
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
        self._what, self._done, self._total = what, done - 1, total
        self.update()

    def update(self) -> None:
        """Count one more item."""
        self._done += 1
        of_all = "" if self._total is None else f" of {self._total}"
        print(f"\r{self._what}: {self._done}{of_all}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Remove the line."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
