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
