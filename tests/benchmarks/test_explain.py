"""benchmarks.explain: its programs yield each step, and ratios that are too large are told."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import te_sched
from benchmarks import explain
from te_sched.story.steps import TraceReplay

SMALL = {
    "product": partial(explain.product, 64),
    "convolution": partial(explain.convolution, 32, 8),
    "softmax": partial(explain.softmax, 32, 32),
    "GPU product": partial(explain.gpu_product, 32),
}


@pytest.mark.parametrize("name", explain.PROGRAMS)
def test_programs_yield_their_schedule_after_each_primitive(name: str) -> None:
    traces = [str(schedule.trace) for schedule, _ in SMALL[name]()]
    schedule, args = list(SMALL[name]())[-1]
    assert len(set(traces)) == len(traces) == len(TraceReplay(schedule))
    assert te_sched.lower(schedule, args) is not None


def test_steps_are_measured_and_saved(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    monkeypatch.setattr(explain, "PROGRAMS", SMALL)
    monkeypatch.setattr(explain, "LIMIT", 1e9)
    arguments = ["softmax", "GPU product", "--results", str(tmp_path), "--rounds", "2"]
    assert explain.main([*arguments, "--budget", "0.5"]) == 0
    saved = json.loads((tmp_path / "explain.json").read_text())
    of_softmax = [row for row in saved["rows"] if row["program"] == "softmax"]
    assert all(row["shown"] and row["alone"] for row in of_softmax)
    of_gpu = [row for row in saved["rows"] if row["program"] == "GPU product"]
    assert {row["shown"] for row in of_gpu} == {None}
    assert of_gpu[-1]["note"] == "Not measured: there is no GPU here."
    assert "Not measured: there is no GPU here." in capsys.readouterr().out
    assert "the largest ratio is" in (tmp_path / "explain.md").read_text()


def test_large_ratios_and_times_of_an_emulated_gpu_are_wrong() -> None:
    rows = [
        explain.Row("softmax", 0, "declared", 3.0, 5, 1.0, ""),
        explain.Row("softmax", 1, "split", 1.0, 5, 1.4, ""),
        explain.Row("softmax", 2, "split", None, 0, None, "Not measured"),
        explain.Row("GPU product", 0, "declared", 1.0, 1, None, ""),
    ]
    assert explain.problems(rows) == [
        "softmax, step 0: the times differ by a factor of 3.00",
        "step 0 of an emulated GPU has a time",
    ]


def test_unknown_programs_are_refused() -> None:
    with pytest.raises(SystemExit):
        explain.main(["nothing"])
