"""The benchmark of transformers' models: its table, its comparison, its configurations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from benchmarks import models

FIGURE = {
    "model": "a",
    "distance": 2e-7,
    "import": 0.5,
    "build": 2,
    "te_sched": 1e-3,
    "torch": 4e-3,
}
REFUSED = {"model": "b", "failed": "GraphError: 1 operator is not supported\n  where: here"}


def test_the_table_has_ratios_their_mean_and_what_failed() -> None:
    header, lines = models.rows([FIGURE, REFUSED])
    assert header == [
        "model",
        "distance",
        "import s",
        "build s",
        "te_sched ms",
        "torch ms",
        "ratio",
    ]
    assert lines[0] == ["a", "2e-07", "0.50", "2.00", "1.00", "4.00", "0.25"]
    assert lines[1] == ["b", "GraphError: 1 operator is not supported", *[""] * 5]
    assert lines[2] == ["1 of 2 right", *[""] * 5, "0.25"]


class Part:
    """A configuration of a part of a model."""

    model_type = "part"

    def __init__(self, hidden_size: int = 768, attn_implementation: str = "") -> None:
        self.hidden_size = hidden_size

    def to_dict(self) -> dict[str, int]:
        """The sizes."""
        return {"hidden_size": self.hidden_size}


class Whole:
    """A configuration that has a part and a size that cannot be set."""

    sub_configs: ClassVar = {"part_config": Part}

    def __init__(self, part_config: object = 0, n_head: int = 12, **others: object) -> None:
        self.part_config, self.n_head, self.others = part_config, n_head, others

    @property
    def vocab_size(self) -> int:
        """Of the part."""
        return 30000


def test_a_configuration_is_small_in_all_its_parts() -> None:
    configuration = models._configuration(Whole, {"own": 3, "absent": None})
    assert configuration.part_config == {"hidden_size": 32}
    assert configuration.n_head == 4
    assert configuration.others == {"attn_implementation": "eager", "own": 3}


def test_results_are_compared_with_the_largest_element() -> None:
    torch = SimpleNamespace()
    expected = [SimpleNamespace(numpy=lambda: np.array([1.0, 200.0]))]
    distance = models._distance(torch, None, {}, expected, [np.array([1.1, 200.0])])
    assert distance == pytest.approx(5e-4)
    with pytest.raises(ValueError, match="2 results, expected 1"):
        models._distance(torch, None, {}, expected, [np.zeros(2)] * 2)
    with pytest.raises(ValueError, match=r"shape \(3,\), expected \(2,\)"):
        models._distance(torch, None, {}, expected, [np.zeros(3)])


def test_a_model_is_filled_and_measured() -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)).eval()
    models._fill(torch, layer)
    assert layer[1].running_var.min() >= 0.5
    assert abs(layer[1].running_mean).max() > 0
    assert len(models.tensors(torch, {"x": torch.ones(2), "y": (torch.ones(3), 4)})) == 2


def test_unknown_models_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        models.main(["bert", "brt"])
    assert "brt: use some of bert, roberta" in capsys.readouterr().err
    assert models.main(["--list"]) == 0
    assert len(capsys.readouterr().out.split()) == len(models.MODELS)


def test_distances_are_those_of_reals_and_nan_equals_itself() -> None:
    small, large = np.uint8([1, 200]), np.uint8([3, 200])
    assert models.apart(small, large) == 0.01  # not of bytes, of which 1 - 3 is 254
    assert models.apart(np.float32([np.nan, 1]), np.float32([np.nan, 1])) == 0
    assert np.isnan(models.apart(np.float32([np.nan]), np.float32([1])))
