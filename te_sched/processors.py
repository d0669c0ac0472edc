"""What this process may use of its machine: processors and memory."""

from __future__ import annotations

import os


def usable_processors() -> int:
    """The number of processors that this process may run on.

    >>> usable_processors() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine_memory() -> int:
    """The bytes of memory of this machine.

    >>> machine_memory() > 0
    True
    """
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
