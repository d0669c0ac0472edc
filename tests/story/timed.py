from __future__ import annotations

from typing import Any

from te_sched import te


def scaled(dtype: str = "float32", n: Any = 64) -> tuple[Any, Any]:
    A = te.placeholder((n,), dtype, name="A")
    B = te.compute((n,), lambda i: A[i] + te.const(2, dtype), name="B")
    return te.create_schedule(B.op), [A, B]
