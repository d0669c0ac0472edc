"""tvm.topi.generic: schedules for the target in scope, as in TVM until 0.6.

In the scope of a CUDA target they are those of `topi.cuda`, otherwise those of `topi.generic`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from te_sched.target import Target
from te_sched.topi import cuda, generic


@cache
def __getattr__(name: str) -> Any:
    plain, for_gpus = getattr(generic, name), getattr(cuda, name, None)
    if not name.startswith("schedule_") or for_gpus is None:
        return plain

    def schedule(*args: Any, **options: Any) -> Any:
        target = Target.current()
        chosen = for_gpus if target is not None and target.kind.name == "cuda" else plain
        return chosen(*args, **options)

    return schedule
