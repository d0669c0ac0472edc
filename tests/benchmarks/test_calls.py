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


def test_figures_without_peers(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(calls, "_load", lambda name: None)
    monkeypatch.setattr(calls, "BATCH", 2)
    monkeypatch.setattr(calls, "IMPORTED", ("te_sched",))
    monkeypatch.setattr(calls, "timings", _once)
    monkeypatch.setattr(calls, "_process_seconds", lambda code, folder: float(code != "pass"))
    assert calls.main(["--rounds", "1", "--results", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "not installed: tvm, numba" in shown
    figures = json.loads((tmp_path / "calls.json").read_text())["seconds"]
    assert figures["imports"] == {"te_sched": 1.0}
    assert all(math.isfinite(one) and one > 0 for one in figures["calls"].values())
    assert "| te_sched |" in (tmp_path / "calls.md").read_text()
