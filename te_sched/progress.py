"""How far long work is, shown to who waits for it: a bar of tqdm's, where that is installed.

There is one only in a terminal or a notebook, and only of what takes more than a second; what is
fast never loads tqdm. Must not know what is done.
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
    """The items, with a bar that says how many of `total` are done (by default `len(items)`)."""
    if not config.current().progress or not _is_watched():
        return items
    if total is None and hasattr(items, "__len__"):
        total = len(items)  # type: ignore[arg-type]
    return _shown(items, what, total)


def _is_watched() -> bool:
    """Whether a person sees what is written to the error stream."""
    if "ipykernel" in sys.modules:
        return True
    isatty = getattr(sys.stderr, "isatty", None)  # there is no stream at all in some programs
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
    """A bar that stands at `done` and vanishes in the end; None without tqdm."""
    try:
        with warnings.catch_warnings():  # without ipywidgets, a notebook shows the bar as text
            warnings.simplefilter("ignore")
            tqdm = importlib.import_module("tqdm.auto").tqdm
            return tqdm(desc=what, initial=done, total=total, leave=False)
    except ImportError:
        return None
