"""What makes calls for builders and runners: workers, or a class of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.errors import DeclarationError


class Executor:
    """The base of executors of the user; te_sched.worker_pool.WorkerPool is the usual one."""

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Begin a call; gives a future, whose `result()` is that of the call."""
        name = type(self).__name__
        raise DeclarationError(f"{name} has no method submit", "", f"write submit in {name}")
