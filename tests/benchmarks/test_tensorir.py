"""The benchmark of TensorIR runs without TVM, and with it if it is there."""

from __future__ import annotations

import json
import time

from benchmarks import tensorir
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


def test_figures_without_tvm(monkeypatch, capsys, tmp_path):
    programs = json.loads(tensorir.PROGRAMS.read_text())
    few = tmp_path / "programs.json"
    few.write_text(json.dumps(dict(list(programs.items())[:2])))
    monkeypatch.setattr(tensorir, "PROGRAMS", few)
    monkeypatch.setattr(tensorir, "load_peer", lambda: None)
    monkeypatch.setattr(tensorir, "timings", _once)
    assert tensorir.main(["--rounds", "1", "--results", str(tmp_path)]) == 0
    assert "TVM is not installed" in capsys.readouterr().out
    figures = json.loads((tmp_path / "tensorir.json").read_text())["seconds"]
    assert set(figures["product"]) == set(tensorir.products())
    assert all(one["te_sched"] > 0 for one in figures["lower"].values())
    assert "| lower | 2 |" in (tmp_path / "tensorir.md").read_text()
