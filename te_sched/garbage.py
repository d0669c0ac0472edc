"""Work that makes many objects and hardly any cycles, without garbage collection in between.

Must not know the work.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_kept() -> Iterator[None]:
    """No garbage collection inside: each one looks at all objects of the process (0.15 s where
    torch is loaded).

    >>> with garbage_kept():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
