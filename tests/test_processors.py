"""What a process may use of its machine."""

from __future__ import annotations

import os

import pytest

from te_sched.processors import machine_memory, usable_processors


def test_processors_are_those_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 3})
    assert usable_processors() == 3


@pytest.mark.parametrize(("count", "expected"), [(4, 4), (None, 1)])
def test_systems_without_affinity_count_all(
    monkeypatch: pytest.MonkeyPatch, count: int | None, expected: int
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert usable_processors() == expected


def test_memory_is_that_of_the_machine() -> None:
    assert machine_memory() >= 1 << 28
