"""Caches and peaks of the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

import te_sched
from te_sched.story import machine
from te_sched.story.machine import fitting_cache
from te_sched.story.page import page_html
from te_sched.story.text import story_text
from tests.story.schedules import matmul
from tests.story.timed import scaled


def test_working_sets_are_marked_with_the_cache_that_holds_them() -> None:
    known = (("L1", 1024), ("L2", 4096))
    found = [fitting_cache(size, known) for size in (8, 1024, 1025, 4097, None)]
    assert found == ["L1", "L1", "L2", "memory", ""]
    s, A, B, C = matmul()
    data = replace(te_sched.explain(s, [A, B, C], measure=False).data, caches=known)
    assert 'class="cache l1"' in page_html(data)
    assert "  L1" in story_text(data)
    assert "cache l1" not in page_html(replace(data, caches=()))


def test_rates_are_told_with_their_share_of_the_peak() -> None:
    s, args = scaled(n=1 << 12)
    timing = te_sched.explain(s, args).steps[-1].timing
    assert timing.gigaflops == pytest.approx((1 << 12) / timing.shortest / 1e6)
    assert 0 < timing.of_peak < 1
    assert "GFLOP/s" in te_sched.explain(s, args).text()


def test_caches_are_those_of_the_system(tmp_path, monkeypatch) -> None:
    for name, facts in {
        "index0": ("1", "Data", "32K"),
        "index1": ("1", "Instruction", "64K"),
    }.items():
        (tmp_path / name).mkdir()
        for file, text in zip(("level", "type", "size"), facts, strict=True):
            (tmp_path / name / file).write_text(f"{text}\n")
    (tmp_path / "index2").mkdir()
    monkeypatch.setattr(machine, "_CACHES", tmp_path)
    assert machine.caches.__wrapped__() == (("L1", 32 << 10),)


def test_the_peak_is_measured_with_sums_in_registers() -> None:
    s, args = machine.multiply_adds(2, 8, "float32")
    assert [tuple(map(int, arg.shape)) for arg in args] == [(12, 16), (16,), (2, 12, 16)]
    assert "T.vectorized(16)" in te_sched.lower(s, args, stop_after="schedule_ops").script()
