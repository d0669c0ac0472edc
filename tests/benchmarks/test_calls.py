"""The benchmark of calls runs without peers, and says who is missing."""

from __future__ import annotations

import json
import math
import time

from benchmarks import calls
from benchmarks.processor.measuring import Timing


def _once(some, rounds):
    """Times without waiting for other benchmarks."""
    found = {}
    for name, call in some.items():
        start = time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        found[name] = Timing(seconds, seconds)
    return found


def _length(code, folder):
    """The processor time of a program: 1 second for each letter."""
    return float(len(code))


def test_figures_without_peers(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(calls, "_load", lambda name: name in ("numpy", "te_sched") or None)
    monkeypatch.setattr(calls, "BATCH", 2)
    monkeypatch.setattr(calls, "TURNS", 1)
    monkeypatch.setattr(calls, "IMPORTED", ("numpy", "te_sched"))
    monkeypatch.setattr(calls, "timings", _once)
    monkeypatch.setattr(calls, "_processor_seconds", _length)
    assert calls.main(["--rounds", "1", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "not installed: tvm, numba" in shown
    figures = json.loads((tmp_path / "calls.json").read_text())["seconds"]
    assert figures["imports"] == {"numpy": 8.0, "te_sched": 11.0}
    assert "te_sched  11000                    0.38" in shown
    assert all(math.isfinite(one) and one > 0 for one in figures["calls"].values())
    assert "| te_sched |" in (tmp_path / "calls.md").read_text()
    libraries = ["te_sched", "te_sched, without threads"]
    parts = [figures[name] for name in ("alone", "beside", "stall", "stalls", "wait")]
    assert all(list(part) == libraries for part in parts)


def test_calls_that_lost_their_core_are_told_apart(monkeypatch):
    monkeypatch.setattr(calls, "BATCH", 3)
    switches = iter([0, 0, 1, 1])  # before the calls, and after each
    monkeypatch.setattr(calls, "_taken_away", lambda: next(switches))
    found = calls._each(lambda: None)
    assert [one in found.kept for one in found.seconds] == [True, False, True]


def test_parts_of_calls_above_a_millisecond_are_counted_of_100000():
    ours = {"te_sched": 2e-3, "te_sched, without threads": 4e-3}
    (part,) = calls.sections({"stalls": ours})
    assert part[0] == (
        "The same, calls above 1 ms of 100,000 (goal: those of the loop without threads)"
    )
    assert part[2] == [
        ["te_sched", "200.00", "1.00"],
        ["te_sched, without threads", "400.00", "0.50"],
    ]
