"""The benchmark of memory beside weights: its models, its table, its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import weights

SMALL = {"weights": 2**20, "import": 2**20, "build": 2**21, "call": 2**21, "kept": 2**19}
FIGURE = {"source": "onnx", "cache": "off"} | SMALL


def test_the_table_has_multiples_of_the_weights() -> None:
    header, (line,) = weights.rows([FIGURE])
    assert header == ["source", "cache", "weights MiB", "import", "build", "call", "kept"]
    assert line == ["onnx", "off", "1", "1.00", "2.00", "2.00", "0.50"]


@pytest.mark.parametrize(("call", "status"), [(2.19, 0), (2.21, 1)])
def test_the_status_tells_whether_the_goal_is_met(
    monkeypatch: Any, tmp_path: Path, call: float, status: int
) -> None:
    pytest.importorskip("torch")
    figure = FIGURE | {"call": call * 2**20}
    monkeypatch.setattr(weights, "figures_of", lambda *_: [figure])
    assert weights.main(["--only", "onnx", "--results", str(tmp_path)]) == status
    assert json.loads((tmp_path / "weights.json").read_text())["figures"] == [figure]
    assert "| onnx | off | 1 |" in (tmp_path / "weights.md").read_text()


def test_convolutions_have_about_the_weights_of_linear_layers() -> None:
    torch = pytest.importorskip("torch")
    sizes = []
    for make in (weights.chain, weights.convolutions):
        model, values = make(torch, 4, 1024)
        assert model(values).shape[1] == values.shape[1]
        sizes.append(sum(one.numel() for one in model.parameters()))
    assert sizes[1] / sizes[0] == pytest.approx(1, abs=0.2)


def test_a_small_model_is_measured_in_this_process() -> None:
    pytest.importorskip("torch")
    found = weights.measure("from_fx", 2, 64)
    assert list(found) == ["weights", *weights.STEPS]
    assert found["weights"] == 4 * 2 * 65 * 64
