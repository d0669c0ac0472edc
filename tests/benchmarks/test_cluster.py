"""The benchmark of a search on a cluster: a small run, its table, what it finds wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

from benchmarks import cluster
from benchmarks.cluster import Search


def _searches(**changes: Any) -> list[Search]:
    good = {"trials": 8, "failed": 0, "kills": 2, "seconds": 2.0, "best": [1e-5, 2e-5, 3e-5]}
    others = [
        Search(f"one process, seed {seed}", 8, 0, 0, 2.0, [2e-5, 2e-5, 2e-5]) for seed in (1, 2)
    ]
    return [Search("cluster of 2", **{**good, **changes}), *others]


def test_a_good_run_has_no_problems() -> None:
    assert cluster.problems(_searches(), 8) == []


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"trials": 7}, "cluster of 2: 7 of 8 trials were measured"),
        ({"failed": 2, "errors": ["x", "x"]}, "cluster of 2: 2 trials failed: x"),
        ({"kills": 1}, "cluster of 2: killed 1 times, expected 2"),
        ({"best": []}, "cluster of 2: there is no best program"),
        ({"best": [3e-5]}, "the cluster's best takes 1.50 of the time of the others' best"),
    ],
)
def test_problems_are_found(changes: dict[str, Any], match: str) -> None:
    assert cluster.problems(_searches(**changes), 8) == [match]


def test_the_table_has_the_range_of_rounds() -> None:
    measured = {
        "setting": "here",
        "searches": [vars(one) for one in _searches()],
        "problems": ["a problem"],
    }
    text = cluster.short(measured)
    assert "| cluster of 2 | 20.0 | 10.0 to 30.0 | 8 | 0 | 2 | 2 |" in text
    assert text.endswith("- a problem")


def test_a_search_in_one_process(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    for name in ("TE_SCHED_NUM_THREADS", "BENCHMARKS_OWN_VARIABLES"):  # reset after the test
        monkeypatch.setenv(name, "1")  # as main sets them
    monkeypatch.setattr(cluster, "problems", lambda searches, trials: [])
    monkeypatch.setattr(
        cluster, "search", lambda name, func, trials, folder, seed: _searched(name, func, folder)
    )
    options = ["--trials", "2", "--seeds", "1", "--results", str(tmp_path)]
    assert cluster.main(["softmax", *options]) == 0
    assert "softmax, 2 trials" in (tmp_path / "cluster.md").read_text()
    assert "one process, seed 1" in capsys.readouterr().out


def _searched(name: str, func: Any, folder: str) -> Any:
    """A search that measures nothing."""
    database = cluster.ms.database.JSONDatabase(work_dir=folder)
    return Search(name, 2, 0, 0, 1.0), database
