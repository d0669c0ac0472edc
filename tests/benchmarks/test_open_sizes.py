"""Models of open sizes are measured beside those of given ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="models are made by torch")

from benchmarks import graphs
from benchmarks.open_sizes import main, models, rows


def test_a_model_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(graphs, "ROUNDS", 1)
    assert main(["mlp-1", "--threads", "1", "--results", str(tmp_path)]) == 0
    (figure,) = json.loads((tmp_path / "open_sizes.json").read_text())["figures"]
    assert (figure["model"], figure["shape"], figure["dimensions"]) == ("mlp-1", [1, 784], [0])
    assert min(figure["given"], figure["open"], figure["build open"]) > 0
    assert "| mlp-1 | 1x784 | 0 |" in (tmp_path / "open_sizes.md").read_text()
    assert "open / given" in capsys.readouterr().out


def test_ratios_are_of_open_to_given_sizes() -> None:
    figure = {"model": "a", "shape": (2, 3), "dimensions": (0,), "given": 2e-6, "open": 3e-6}
    _, [line] = rows([{**figure, "build given": 1.0, "build open": 2.5}])
    assert line[3:] == ["2.00", "3.00", "1.50", "1.00, 2.50"]


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["mlp-2"])
    assert "mlp-2: use some of" in capsys.readouterr().err
    assert all(model.open for model in models().values())
