"""The logs of searches in files, beside the handlers that the user has set up.

Searches of several threads share a logger; each has its own file.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path

from te_sched import files
from te_sched.errors import DeclarationError
from te_sched.locks import new_lock

LOGGER = logging.getLogger("te_sched.meta_schedule")


class _Forward(logging.Handler):
    """Hands messages to the handlers that would have them without the file."""

    def emit(self, record: logging.LogRecord) -> None:
        if LOGGER.parent is not None:
            LOGGER.parent.callHandlers(record)


class _File(logging.FileHandler):
    """The file of the search of this thread: it has no messages of the threads of others."""

    searching: list[int] = []  # noqa: RUF012 (of all files)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        self.thread = threading.get_ident()

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=files.at_once)

    def filter(self, record: logging.LogRecord) -> bool:
        is_of_another = record.thread != self.thread and record.thread in self.searching
        return not is_of_another and bool(super().filter(record))


_lock = new_lock()
_opened = ExitStack()  # what the first search does to the logger


def _open() -> None:
    """Let the logger have messages for files, and others what they have without files."""
    before = LOGGER.level, LOGGER.propagate, LOGGER.getEffectiveLevel()
    if LOGGER.propagate:
        forward = _Forward(before[2])
        LOGGER.addHandler(forward)
        _opened.callback(LOGGER.removeHandler, forward)
    _opened.callback(LOGGER.setLevel, before[0])
    _opened.callback(setattr, LOGGER, "propagate", before[1])
    LOGGER.setLevel(min(before[2], logging.INFO))
    LOGGER.propagate = False


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Write progress and warnings to a file; others see what they would see without it.

    Raises
    ------
    DeclarationError if the file cannot be written.
    """
    help = "give a folder that can be written"
    with files.refusing(f"write {str(path)!r}", help, DeclarationError):
        file = _File(path)
    with _lock:
        if not file.searching:
            _open()
        file.searching.append(file.thread)
        LOGGER.addHandler(file)
    try:
        yield
    finally:
        with _lock:
            LOGGER.removeHandler(file)
            file.searching.remove(file.thread)
            if not file.searching:
                _opened.close()
        file.close()
