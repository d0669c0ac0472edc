"""A template of one operator."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.autotvm.task import topi_integration


@topi_integration.register_topi_compute("tests/scaled.topi")
def scaled(cfg: Any, data: te.Tensor) -> te.Tensor:
    return te.compute(data.shape, lambda i: data[i] * 2.0, name="scaled")
