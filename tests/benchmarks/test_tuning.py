"""The benchmark of searches: its workloads compute, its table is complete, a run goes on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from benchmarks import tuning
from te_sched import te


@pytest.mark.parametrize("name", ["softmax", "layer-norm", "depthwise", "int8-product"])
def test_workloads_compute(name: str) -> None:
    func = te.create_prim_func(tuning.WORKLOADS[name](te))
    arrays = [te_sched.nd.array(one) for one in tuning._arrays(func)]
    te_sched.build(func)(*arrays)
    x, *_, y = (one.numpy().astype("float64") for one in arrays)
    if name == "softmax":
        np.testing.assert_allclose(y.sum(axis=1), 1, rtol=1e-5)
    elif name == "layer-norm":
        expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-4)
    elif name == "depthwise":
        weights = arrays[1].numpy()
        np.testing.assert_allclose(
            y[0, 3, 5, 7], (x[0, 3, 4:7, 6:9] * weights[3, 0]).sum(), rtol=1e-4
        )
    else:
        np.testing.assert_array_equal(y, x @ arrays[1].numpy().astype("float64"))


def test_the_table_has_ratios_and_their_means() -> None:
    figures = {
        "softmax": {"te_sched": 2e-6, "tvm": 4e-6, "search te_sched": 10.0, "search tvm": 40.0},
        "product-128": {"search te_sched": 10.0},
    }
    header, lines = tuning.rows(figures)
    assert [len(line) for line in lines] == [len(header)] * 3
    assert lines[0][3] == "2.00"
    assert lines[-1][8] == "4.00"
    assert lines[1][1] == "-"


def test_a_run_goes_on_after_the_last_saved_row(tmp_path: Path, monkeypatch: Any) -> None:
    asked = []

    def measure(name: str, libraries: Any, trials: int, records: None) -> dict[str, Any]:
        asked.append(name)
        return {"te_sched": 1e-6, "search te_sched": 2.0, "failed tvm": "RuntimeError: no"}

    monkeypatch.setattr(tuning, "measure", measure)
    common = ["--without-peer", "--results", str(tmp_path)]
    tuning.main([*common, "softmax"])
    tuning.main([*common, "softmax", "product-128"])
    assert asked == ["softmax", "product-128"]
    measured = json.loads((tmp_path / "tuning.json").read_text())
    assert [*measured["figures"]] == ["product-128", "softmax"]
    assert "- softmax: tvm failed: RuntimeError: no" in (tmp_path / "tuning.md").read_text()
    tuning.main([*common, "softmax", "--again"])
    tuning.main([*common, "softmax", "--trials", "8"])
    assert asked[2:] == ["softmax", "softmax"]
    assert (tmp_path / "tuning-8.md").exists()


def test_a_failed_search_is_a_row(monkeypatch: Any) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("exit status 1: killed")

    monkeypatch.setattr(tuning, "_search_apart", fail)
    monkeypatch.setattr(tuning, "_torch_timer", lambda name: None)
    found = tuning.measure("softmax", {"te_sched": te_sched}, 1)
    assert found == {"failed te_sched": "RuntimeError: exit status 1: killed"}
    assert tuning.rows({"softmax": found})[1][0][1:] == ["-"] * 8


def test_searches_that_have_ended_are_not_made_again(tmp_path: Path, monkeypatch: Any) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(tuning, "_search_apart", lambda *args: asked.append(args))
    monkeypatch.setattr(tuning, "_torch_timer", lambda name: None)
    monkeypatch.setattr(tuning, "best", lambda *args: lambda: 1e-6)
    found = [tuning.measure("softmax", {"te_sched": te_sched}, 1, tmp_path) for _ in range(2)]
    assert asked == [("te_sched", "softmax", 1, str(tmp_path / "softmax-1" / "te_sched"))]
    assert found[0] == found[1]
    assert found[0]["te_sched"] == 1e-6
