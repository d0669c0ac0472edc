"""Selection of random programs for a run of the tests: a sample, or all.

`make test` uses a fixed sample, and products at a smaller size (`golden.smaller`). `make campaign`
uses all programs at full size, within the minutes given in TE_SCHED_CAMPAIGN.
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
    """`few` of the programs or seeds, evenly spaced; all in a campaign."""
    if IS_CAMPAIGN:
        return everything
    step = max(1, len(everything) // few)
    return everything[::step][:few]


def sampled_programs() -> list[Program]:
    """The programs of the corpus: the hand-written ones, and a sample of the random ones."""
    by_hand = programs("primitives", "gemm_gpu", "programs")
    random = programs("random")
    return [*by_hand, *sampled(random, len(random) // _EVERY)]


def programs_for_peers() -> Sequence[Program]:
    """Those of the programs whose form after each pass is compared with TVM's."""
    return sampled(sampled_programs(), 35)


# A hook of pytest.


def pytest_runtest_setup() -> None:
    if time.monotonic() > _END:
        pytest.skip("the minutes of the campaign are over")
