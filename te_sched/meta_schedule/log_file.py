"""The log of a search in a file, beside the handlers that the user has set up."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOGGER = logging.getLogger("te_sched.meta_schedule")


class _Forward(logging.Handler):
    """Hands messages to the handlers that would have them without the file."""

    def emit(self, record: logging.LogRecord) -> None:
        if LOGGER.parent is not None:
            LOGGER.parent.callHandlers(record)


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Write progress and warnings to a file; others see what they would see without it."""
    file = logging.FileHandler(path, delay=True)
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    before = LOGGER.level, LOGGER.propagate, LOGGER.getEffectiveLevel()
    handlers = [file, _Forward(before[2])] if LOGGER.propagate else [file]
    for one in handlers:
        LOGGER.addHandler(one)
    LOGGER.setLevel(min(before[2], logging.INFO))
    LOGGER.propagate = False
    try:
        yield
    finally:
        LOGGER.setLevel(before[0])
        LOGGER.propagate = before[1]
        for one in handlers:
            LOGGER.removeHandler(one)
        file.close()
