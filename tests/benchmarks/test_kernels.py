"""The benchmark of kernels: its table, its goals, its kernels of bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import kernels
from benchmarks.network_layers import Kernel

FAST = {"kernel": "a", "dtype": "float32", "te_sched": 1e-6, "torch": 4e-6, "onnxruntime": 2e-6}
SLOW = {"kernel": "b", "dtype": "bfloat16", "te_sched": 4e-6, "torch": 2e-6}
FAILED = {"kernel": "c", "dtype": "int8", "failed": "GraphError: no"}
CONVOLUTION = Kernel("convolution", "c", "int8", (4, 6, 3, 2, 1, 1, 2, "n"), ((2, 4, 9, 9),))
PRODUCT = Kernel("product", "p", "int8", (32, 8, "n"), ((24, 32),))


def test_the_table_begins_with_the_largest_ratio() -> None:
    header, lines = kernels.rows([FAST, SLOW, FAILED])
    assert header[-1] == "ratio"
    assert [line[0] for line in lines[:3]] == ["c (GraphError: no)", "b", "a"]
    assert [line[-1] for line in lines] == ["-", "2.00", "0.50", "1.00"]
    assert lines[-1][0] == "geometric mean; 1 of 3 above 1.5"


def test_the_ratio_is_that_to_the_better_of_the_others() -> None:
    assert kernels.ratio(FAST) == pytest.approx(0.5)
    assert kernels.ratio(FAILED) is None


def test_goals_are_reached_by_all_kernels_together() -> None:
    assert kernels.is_reached([FAST])
    assert not kernels.is_reached([FAST, FAST, SLOW])  # one is above the largest ratio
    assert not kernels.is_reached([FAST, FAILED])
    assert not kernels.is_reached([])


@pytest.mark.parametrize("kernel", [CONVOLUTION, PRODUCT], ids=["convolution", "product"])
def test_kernels_of_bytes_equal_those_of_torch(monkeypatch: Any, kernel: Kernel) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    monkeypatch.setattr(kernels.graphs, "ROUNDS", 1)
    found = kernels.measure(kernel, 1)
    assert "failed" not in found
    assert found["te_sched"] > 0
    assert ("torch" in found) == (kernel.family == "product")


def test_a_kernel_that_fails_is_told(monkeypatch: Any) -> None:
    pytest.importorskip("torch")

    def fail(*_: Any) -> Any:
        raise ValueError("no such kernel\nat all")

    monkeypatch.setattr(kernels.graphs, "measure_model", fail)
    kernel = Kernel("norm", "n", "float32", ("layer", 8), ((2, 8),))
    assert kernels.measure(kernel, 1)["failed"] == "ValueError: no such kernel"


def test_results_are_written(monkeypatch: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(kernels, "measure", lambda *_: FAST)
    arguments = ["--count", "2", "--threads", "1", "--results", str(tmp_path)]
    assert kernels.main(arguments) == 0
    assert json.loads((tmp_path / "kernels.json").read_text())["figures"] == [FAST, FAST]
    assert "| a | float32 | 1.0 | 4.0 | 2.0 | 0.50 |" in (tmp_path / "kernels.md").read_text()


def test_most_results_of_convolutions_of_bytes_are_bytes() -> None:
    torch = pytest.importorskip("torch")
    model, inputs = kernels._of_bytes(torch, CONVOLUTION)
    result = model(*inputs).numpy()
    assert np.isin(result, [0, 255]).mean() < 0.1
    assert len(np.unique(result)) > 50
