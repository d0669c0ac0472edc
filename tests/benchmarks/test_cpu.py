"""The processor benchmark: its schedules compute what they say, its report what was measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from benchmarks import cpu
from benchmarks.processor import (
    contest,
    measuring,
    narrow_products,
    peaks,
    products,
    registry,
    report,
)
from benchmarks.processor.contest import OURS, OURS_TUTORIAL, TVM, Row, compete, require_equal
from benchmarks.processor.measuring import Timing, timings
from benchmarks.processor.workload import Workload
from te_sched import te

WORKLOADS = {one.name: one for one in registry.WORKLOADS[2:]}  # the first differ in size alone


@pytest.mark.parametrize("which", ["best", "tutorial"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_of_any_size(name: str, which: str) -> None:
    workload = WORKLOADS[name]
    for size in workload.odd:
        s, args = getattr(workload, which)(te, *size)
        values = workload.values(args)
        expected = workload.reference(*values)
        out = te_sched.nd.array(np.full_like(expected, 77))
        te_sched.build(s, args)(*map(te_sched.nd.array, values), out)
        require_equal(out.numpy(), expected, workload.tolerance)


def test_bytes_are_widened_without_dot_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow_products, "has_dot_products", lambda: False)
    test_workloads_of_any_size("GEMM int8 1024", "best")


def test_the_inner_loop_of_the_product_has_no_conditions() -> None:
    text = str(te_sched.lower(*products.best(te, 1001, 1001, 1003)))
    inner = text[text.index("for j_outer_1") :]
    assert "if" not in inner[: inner.index("for i_inner")]


@pytest.mark.parametrize(
    ("size", "unit", "most", "share", "count", "part"),
    [
        (2048, 4, 128, 2, 16, 128),
        (1000, 4, 128, 2, 10, 100),
        (1003, 1, 256, 1, 4, 251),
        (45, 16, 512, 1, 3, 16),
        (7, 1, 256, 1, 1, 7),
    ],
)
def test_cuts(size: int, unit: int, most: int, share: int, count: int, part: int) -> None:
    found = products.cut(size, unit, most, share)
    assert (found.count, found.part) == (count, part)


def test_tiles_fit_few_columns() -> None:
    assert products.Tiles().fitting(1024) == products.Tiles()
    assert products.Tiles().fitting(16).columns == 16


# -- how it is measured ----------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = {"PAUSE_S": 0.0, "_TURN_S": 0.0, "_FEWEST": 1, "_TRIES": 2, "_PATIENCE_S": 0.0}
    for name, value in hurried.items():
        monkeypatch.setattr(measuring, name, value)


def test_turns_that_others_disturb_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_DISTURBED_S", -1.0)
    assert timings({"a": lambda: None}, rounds=3)["a"].disturbed == 3


def test_undisturbed_turns_alone_count() -> None:
    found = measuring._timing([([1.0, 2.0, 3.0], False), ([9.0], True)])
    assert found == Timing(2.0, 1.0, 1)


def test_peaks() -> None:
    assert peaks.gigaflops(1, steps=1000) > 0.01
    assert peaks.gigabytes_per_second((4, 64)) > 0


def small(**changed: Any) -> Workload:
    """A product that takes no time."""
    given = {"odd": ((5, 3, 1),), "size": (16, 16, 16), "peers": {"numpy": products._by_numpy}}
    known = products.WORKLOADS[0]
    return Workload(
        **{
            **{"name": "small", "best": known.best, "tutorial": known.tutorial},
            **{"reference": np.matmul, "flops": 8192.0, **given, **changed},
        }
    )


def test_who_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any) -> Any:
        raise ImportError("nowhere")

    monkeypatch.setattr(contest, "tvm_is_installed", lambda: False)
    row = compete(small(peers={"numpy": products._by_numpy, "other": missing}), rounds=1)
    assert set(row.median_ms) == {OURS, OURS_TUTORIAL, "numpy"}
    assert row.failed == {"other": "not installed: nowhere"}


def test_wrong_results_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "tvm_is_installed", lambda: False)
    row = compete(small(reference=lambda a, b: a @ b + 1), rounds=1)
    assert not row.median_ms
    assert all("the result is wrong" in why for why in row.failed.values())


@pytest.mark.parametrize("found", [np.array([1.0, np.nan]), np.array([1.0]), np.array([1.0, 2.1])])
def test_results_are_compared(found: Any) -> None:
    with pytest.raises(ValueError, match="the result is wrong"):
        require_equal(found, np.array([1.0, 2.0]), 1e-3)


# -- how it is shown -------------------------------------------------------------------------------


def figures(**median_ms: float) -> Any:
    row = Row("GEMM", (2, 2, 2), 2e6, 0.0, 1, {"numpy": 1.0, "peak": 0.5, "best peer": 1.0})
    row.median_ms = {OURS: 1.0, **median_ms}
    kernels = "numpy uses a library"
    machine = {"model": "M", "processor": "p", "threads": 2, "numpy": kernels}
    machine["versions"] = {"numpy": "2"}
    known = {"gigaflops": 3.0, "gigabytes_per_second": 1.0}
    return {"machine": machine, "peaks": known, "rows": [asdict(row)]}


def test_goals_are_judged() -> None:
    _, lines = report._goals(figures(numpy=2.0, torch=0.5))
    assert [line[-2:] for line in lines] == [["2.00", "met"], ["0.667", "met"], ["0.500", "missed"]]


def test_the_report_tells_all() -> None:
    found = figures(numpy=2.0)
    found["rows"][0]["disturbed"] = {"numpy": 1}
    found["rows"][0]["failed"] = {TVM: "not installed"}
    text = report.text(found)
    for word in (
        "2.0 GFLOP/s",
        "67%",
        "met",
        "GEMM, TVM: not installed",
        "disturbed turns of numpy",
    ):
        assert word in text
    assert "| GEMM | 1.00 | 2.0 GFLOP/s | 67% | numpy | 2.00 | 2.00 |" in report.short(found)


def test_some_workloads_are_compared_with_each_peer() -> None:
    found = figures(numpy=2.0, torch=0.5)
    lines = report.times_as_fast(found, ["GEMM"], ["numpy", TVM, "torch"]).splitlines()
    assert lines[0] == f"| workload | te_sched ms | numpy | {TVM} | torch |"
    assert lines[2:] == ["| GEMM | 1.00 | 2.00 | - | 0.50 |"]
    assert report.machine_text(found) == "M (p), 2 threads"


def test_a_run_is_saved_and_merged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = small(name="one"), small(name="two")
    monkeypatch.setattr(cpu, "WORKLOADS", (one, two))
    monkeypatch.setattr(contest, "tvm_is_installed", lambda: False)
    monkeypatch.setattr(peaks, "gigaflops", lambda _: 100.0)
    monkeypatch.setattr(peaks, "gigabytes_per_second", lambda: 10.0)
    for name, value in cpu.with_threads(1).items():
        monkeypatch.setenv(name, value)
    for name in ("two", "one"):
        arguments = ["--only", name, "--threads", "1", "--rounds", "1", "--results", str(tmp_path)]
        assert cpu.main(arguments) == 0
    saved = json.loads((tmp_path / "cpu.json").read_text())
    assert [row["name"] for row in saved["rows"]] == ["one", "two"]
    assert "te_sched beside its peers" in capsys.readouterr().out


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SystemExit, match="GEMM 512"):
        cpu.chosen(["nothing"])
