"""The benchmark of models: its table, its comparison, what it refuses."""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

import numpy as np
import pytest

from benchmarks import graphs

STARTS = ["build s", "import ms", "first s", "cached ms"]
FIGURES = [
    {"model": "a", "te_sched": 1e-3, "torch": 2e-3, "build": 1.5}
    | {"import": 2e-2, "first": 0.5, "cached": 1e-2},
    {"model": "b", "te_sched": 4e-5, "torch": 2e-5, "build": 0.5, "failed tvm": "no"},
]


def test_the_table_has_ratios_and_their_mean() -> None:
    header, lines = graphs.rows(FIGURES, ["te_sched", "torch", "tvm"])
    names = ["model", "te_sched ms", "torch ms", "tvm ms", "times as fast as torch", *STARTS]
    assert header == names
    assert lines[0] == ["a", "1.00", "2.00", "-", "2.00", "1.5", "20.00", "0.50", "10.00"]
    assert lines[1] == ["b", "0.040", "0.020", "-", "0.50", "0.5", "-", "-", "-"]
    assert lines[2][-5:] == ["1.00", "", "", "", ""]


def test_saved_figures_become_markdown() -> None:
    measured = {"setting": "here", "libraries": ["te_sched", "torch"], "figures": FIGURES}
    text = graphs.short(measured)
    assert text.startswith("here\n\n| model |")
    assert "| a | 1.00 | 2.00 | 2.00 | 1.5 | 20.00 | 0.50 | 10.00 |" in text


def test_some_models_are_compared_with_each_library(monkeypatch: Any) -> None:
    """With the means of all models; TVM, which fails on most, is left out."""
    monkeypatch.setattr(graphs, "_SOME", ("a",))
    libraries = ["te_sched", "torch", "onnxruntime", "tvm"]
    measured = {"libraries": libraries, "figures": [FIGURES[0] | {"onnxruntime": 3e-3}, FIGURES[1]]}
    assert graphs.times_as_fast(measured).splitlines()[0::2] == [
        "| model | te_sched ms | torch | onnxruntime |",
        "| a | 1.00 | 2.00 | 3.00 |",
    ]
    assert graphs.times_as_fast(measured).endswith("geometric mean of 2 models |  | 1.00 | 3.00 |")


def test_first_results_are_those_of_two_processes_with_one_cache(monkeypatch: Any) -> None:
    folders, times = [], iter([0.5, 0.01])

    def run(command: list[str], env: dict[str, str], **options: Any) -> Any:
        folders.append(env["TE_SCHED_CACHE_DIR"])
        assert command[-2:] == ["mlp-1", "--once"]
        return mock.Mock(stdout=json.dumps({"import": 0.02, "first": next(times)}))

    monkeypatch.setattr(graphs.subprocess, "run", run)
    assert graphs.first_results("mlp-1") == {"import": 0.02, "first": 0.5, "cached": 0.01}
    assert folders[0] == folders[1]


def test_a_first_result_is_compared_and_timed() -> None:
    pytest.importorskip("torch")
    assert set(graphs.once("product-128")) == {"import", "first"}


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
