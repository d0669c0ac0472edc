"""How many of the random programs a run of the tests takes: a sample of them, or all.

`make test` takes the same few each time, and products at a smaller size (`golden.smaller`). `make
campaign` takes all of them as they are, as far as it comes in the minutes that it says in
TE_SCHED_CAMPAIGN.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TypeVar

import pytest

from tests.golden.corpus import Program, programs

T = TypeVar("T")
_MINUTES = os.environ.get("TE_SCHED_CAMPAIGN")
IS_CAMPAIGN = bool(_MINUTES)
_END = time.monotonic() + 60 * float(_MINUTES or "inf")
_EVERY = 8  # of the random programs of the corpus


def sampled(everything: Sequence[T], few: int) -> Sequence[T]:
    """`few` of the programs or seeds, at equal distances; all of them in a campaign."""
    if IS_CAMPAIGN:
        return everything
    step = max(1, len(everything) // few)
    return everything[::step][:few]


def sampled_programs() -> list[Program]:
    """The programs of the corpus: those written by hand, and some of the random ones."""
    by_hand = programs("primitives", "gemm_gpu", "programs")
    random = programs("random")
    return [*by_hand, *sampled(random, len(random) // _EVERY)]


# A hook of pytest.


def pytest_runtest_setup() -> None:
    if time.monotonic() > _END:
        pytest.skip("the minutes of the campaign are over")
