"""Tuners, and what they choose."""

from __future__ import annotations

from typing import Any

from te_sched.autotvm.tuner import Tuner
from tests.autotvm.templates import made_up


def chosen(tuner: Tuner, n_trial: int = 1000, **options: Any) -> list[int]:
    indices: list[int] = []
    tuner.tune(
        n_trial,
        options.pop("measure", made_up()),
        callbacks=[lambda _, inputs, __: indices.extend(one.config.index for one in inputs)],
        **options,
    )
    return indices
