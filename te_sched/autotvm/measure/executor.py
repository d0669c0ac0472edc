"""What makes calls for builders and runners: workers, or a class of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.public_members import missing_method


class Executor:
    """The base of executors of the user; te_sched.worker_pool.WorkerPool is the usual one."""

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Begin a call; gives a future, whose `result()` is that of the call."""
        raise missing_method(self, "submit")
