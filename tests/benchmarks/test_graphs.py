"""The benchmark of models: its table, its comparison, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import graphs

FIGURES = [
    {"model": "a", "te_sched": 1e-3, "torch": 2e-3, "build": 1.5},
    {"model": "b", "te_sched": 4e-5, "torch": 2e-5, "build": 0.5, "failed tvm": "no"},
]


def test_the_table_has_ratios_and_their_mean() -> None:
    header, lines = graphs.rows(FIGURES, ["te_sched", "torch", "tvm"])
    assert header == ["model", "te_sched ms", "torch ms", "tvm ms", "to torch", "build s"]
    assert lines[0] == ["a", "1.00", "2.00", "-", "0.50", "1.5"]
    assert lines[1] == ["b", "0.040", "0.020", "-", "2.00", "0.5"]
    assert lines[2][-2:] == ["1.00", ""]


def test_saved_figures_become_markdown() -> None:
    measured = {"setting": "here", "libraries": ["te_sched", "torch"], "figures": FIGURES}
    text = graphs.short(measured)
    assert text.startswith("here\n\n| model |")
    assert "| a | 1.00 | 2.00 | 0.50 | 1.5 |" in text


def test_wrong_results_are_not_timed() -> None:
    graphs._compare(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="differs by"):
        graphs._compare(np.ones(3), np.zeros(3))


def test_unknown_models_are_refused(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        graphs.main(["nothing"])
    assert "use some of mlp-1" in capsys.readouterr().err


def test_the_setting_names_threads() -> None:
    assert "2 threads" in graphs.setting(2)
