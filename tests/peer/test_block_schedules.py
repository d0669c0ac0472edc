"""A small campaign of random schedules of blocks.

`python -m tests.peer.block_schedules --count 2000 --seed 1` is the long campaign.
"""

from __future__ import annotations

import collections

import pytest

pytest.importorskip("tvm")

from tests.peer.block_schedules.campaign import Comparison, recorded
from tests.peer.block_schedules.sources import SOURCES
from tests.sampling import IS_CAMPAIGN


def test_small_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TE_SCHED_EMULATE", "1")
    totals: collections.Counter[str] = collections.Counter()
    for seed, events in recorded(1, 200 if IS_CAMPAIGN else 16):
        totals += Comparison(seed, events).counts
    assert totals["results, the same"] == totals["results"] > 0
    assert totals["texts, the same"] >= 0.95 * totals["texts"] > 0
    assert totals["traces, the same"] >= 0.95 * totals["traces"] > 0


def test_sources_are_of_different_kinds() -> None:
    assert len({source.body for source in SOURCES.values()}) == len(SOURCES)
