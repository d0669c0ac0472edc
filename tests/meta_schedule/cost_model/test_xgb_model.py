"""Cost models of trees: scores of candidates."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from te_sched import nd, te
from te_sched.errors import DeclarationError, TeSchedError
from te_sched.meta_schedule import MeasureCandidate, TuneContext, cost_model
from te_sched.meta_schedule.cost_model import XGBModel
from te_sched.meta_schedule.feature_extractor import PyFeatureExtractor
from te_sched.meta_schedule.runner import RunnerResult
from te_sched.tir.schedule import Schedule
from tests.meta_schedule.cost_model.candidates import CANDIDATES, CONTEXT, doubled


def test_without_the_library_there_is_no_model(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with caplog.at_level(logging.WARNING):
        assert cost_model.create() is None
    assert "searching without a cost model" in caplog.text
    assert "pip install" in caplog.text
    with pytest.raises(TeSchedError, match=r"(?s)XGBModel needs.*pip install xgboost-cpu"):
        XGBModel()


def tiled(rows: int, columns: int, *, vectorize: bool) -> MeasureCandidate:
    """A candidate of a sum of rows and columns of 64 x 64 numbers."""
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[j, i] + 1.0, name="B")
    sch = Schedule(te.create_prim_func([A, B]))
    i, j = sch.get_loops(sch.get_block("B"))
    (i_0, i_1), (j_0, j_1) = sch.split(i, [None, rows]), sch.split(j, [None, columns])
    sch.reorder(i_0, j_0, i_1, j_1)
    if vectorize:
        sch.vectorize(j_1)
    return MeasureCandidate(sch, None)


SIZES = (2, 4, 8, 16, 32)


TILES = [(rows, columns) for rows in SIZES for columns in SIZES]


TILED = [tiled(*tile, vectorize=v) for tile in TILES for v in (False, True)]


# As if long rows were fast, and vectors four times as fast.
SECONDS = [
    1e-3 * (1 + rows / columns) / (4 if v else 1) for rows, columns in TILES for v in (False, True)
]


RESULTS = [RunnerResult([one], None) for one in SECONDS]


def ranks(values: Any) -> Any:
    return np.argsort(np.argsort(values))


def test_trees_rank_candidates_that_they_have_not_seen(library: Any) -> None:
    known, new = slice(0, 32), slice(32, None)
    order = np.random.default_rng(0).permutation(len(TILED))
    candidates, results = [TILED[one] for one in order], [RESULTS[one] for one in order]
    model = XGBModel()
    model.update(CONTEXT, candidates[known], results[known])
    assert model.can_rank
    scores = model.predict(CONTEXT, candidates[new])
    speeds = [1 / one.run_secs[0] for one in results[new] if one.run_secs]
    assert np.corrcoef(ranks(scores), ranks(speeds))[0, 1] > 0.7


def test_a_model_ranks_once_it_has_enough_measurements(library: Any) -> None:
    model = XGBModel(num_warmup_samples=8)
    model.update(CONTEXT, [], [])
    model.update(CONTEXT, TILED[:7], RESULTS[:7])
    assert not model.can_rank
    assert len(set(model.predict(CONTEXT, TILED[:1] * 9))) == 9  # random
    model.update(CONTEXT, TILED[7:9], RESULTS[7:9])
    assert model.can_rank
    assert len(set(model.predict(CONTEXT, TILED[:1] * 9))) == 1
    assert len(model.predict(CONTEXT, [])) == 0


def test_the_same_measurements_give_the_same_scores(library: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    first, second, third = XGBModel(), XGBModel(), XGBModel()
    for model in (first, second):
        model.update(CONTEXT, TILED[:30], RESULTS[:30])
    scores = first.predict(CONTEXT, TILED)
    assert (scores == second.predict(CONTEXT, TILED)).all()
    first.save(path)
    third.load(path)
    assert (scores == third.predict(CONTEXT, TILED)).all()
    assert third.data_size == 30
    third.update(CONTEXT, TILED[30:], RESULTS[30:])
    assert list(third.data) == list(first.data)


def test_a_model_without_measurements_is_saved(library: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    XGBModel().save(path)
    model = XGBModel()
    model.load(path)
    assert not model.can_rank


def test_failed_candidates_have_the_lowest_scores(library: Any) -> None:
    failed = RunnerResult(None, "it crashed")
    model, context = XGBModel(), TuneContext(doubled(8), target="llvm")
    model.update(context, TILED[:20], [failed] * 20)
    assert (model.predict(context, TILED[:20]) == 0).all()
    results = [failed if number % 2 else RESULTS[number] for number in range(len(TILED))]
    model.update(context, TILED, results)
    scores = model.predict(context, TILED)
    assert max(scores[1::2]) < max(scores[::2])


def test_tasks_are_kept_apart_and_trained_less_often(library: Any) -> None:
    model = XGBModel()
    other = TuneContext(doubled(16), target="llvm")
    model.update(CONTEXT, TILED[:30], RESULTS[:30])
    trees = model.booster
    model.update(other, TILED[:1], RESULTS[:1])
    assert model.booster is trees  # one more of thirty
    assert [len(group.costs) for group in model.data.values()] == [30, 1]
    model = XGBModel(adaptive_training=False, num_tuning_cores=2)
    model.update(CONTEXT, TILED[:30], RESULTS[:30])
    trees = model.booster
    model.update(other, TILED[:1], RESULTS[:1])
    assert model.booster is not trees


class _Given(PyFeatureExtractor):
    """Features that a test gives."""

    def __init__(self, found: list[Any]) -> None:
        self.found = found

    def extract_from(self, context: TuneContext, candidates: list[MeasureCandidate]) -> list[Any]:
        return self.found


def test_features_may_be_arrays_of_both_libraries(library: Any) -> None:
    model = XGBModel(extractor=_Given([np.ones((1, 3)), nd.array(np.ones((2, 3)))]))
    model.update(CONTEXT, CANDIDATES[:2], RESULTS[:2])
    assert model.data_size == 2


@pytest.mark.parametrize(
    ("found", "count"),
    [([np.ones((1, 3))], 2), ([np.ones(3)], 1), ([np.ones((1, 3)), np.ones((1, 4))], 2)],
)
def test_features_of_other_shapes_are_refused(library: Any, found: list[Any], count: int) -> None:
    model = XGBModel(extractor=_Given(found))
    with pytest.raises(DeclarationError, match="_Given gave features that the model cannot use"):
        model.update(CONTEXT, CANDIDATES[:count], RESULTS[:count])
    assert model.data_size == 0


def test_results_and_candidates_belong_together(library: Any) -> None:
    with pytest.raises(DeclarationError, match="2 candidates have 1 results"):
        XGBModel().update(CONTEXT, CANDIDATES[:2], RESULTS[:1])
    with pytest.raises(DeclarationError, match="num_warmup_samples is -1, expected a number"):
        XGBModel(num_warmup_samples=-1)


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b"x" * 99, lambda b: b[: len(b) // 2]])
def test_a_damaged_model_is_refused(library: Any, tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "model"
    model = XGBModel()
    model.update(CONTEXT, TILED[:20], RESULTS[:20])
    model.save(str(path))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DeclarationError, match="does not have the state of an XGBModel"):
        model.load(str(path))
    assert model.can_rank


@pytest.mark.parametrize("wrong", ["rows0", "booster"])
def test_a_model_of_other_arrays_is_refused(library: Any, tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "model.npz"
    model = XGBModel()
    model.update(CONTEXT, TILED[:20], RESULTS[:20])
    model.save(str(path))
    with np.load(path) as saved:
        arrays = {**saved, wrong: np.frombuffer(b"tree", "uint8")}
    if wrong == "rows0":
        arrays["costs0"] = np.zeros(3)
    np.savez(path, **arrays)
    with pytest.raises(DeclarationError, match="does not have the state of an XGBModel"):
        XGBModel().load(str(path))


def test_paths_that_cannot_be_used_are_refused(library: Any, tmp_path: Path) -> None:
    model = XGBModel()
    with pytest.raises(DeclarationError, match="cannot load"):
        model.load(str(tmp_path / "nowhere"))
    with pytest.raises(DeclarationError, match="cannot save"):
        model.save(str(tmp_path / "nowhere" / "model"))
