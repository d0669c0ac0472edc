"""Cost models: scores of candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import PrimFunc
from te_sched.meta_schedule import MeasureCandidate, TuneContext, cost_model
from te_sched.meta_schedule.cost_model import RandomModel
from te_sched.tir.schedule import Schedule


def doubled(n: int) -> PrimFunc:
    """A function of two buffers."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    return te.create_prim_func([A, B])


CONTEXT = TuneContext(doubled(8), target="llvm")
CANDIDATES = [MeasureCandidate(Schedule(doubled(8)), None)] * 20


def test_random_scores_depend_on_the_seed_alone() -> None:
    first, again = (RandomModel(seed=3).predict(CONTEXT, CANDIDATES) for _ in range(2))
    assert (first == again).all()
    assert len(set(first)) == 20
    assert 0 <= min(first) <= max(first) <= 100
    assert max(RandomModel(max_range=2).predict(CONTEXT, CANDIDATES)) <= 2
    assert not RandomModel().can_rank


def test_the_state_of_a_random_model_is_saved(tmp_path: Path) -> None:
    model, path = RandomModel(seed=3), str(tmp_path / "state")
    model.update(CONTEXT, [], [])
    model.save(path)
    first = model.predict(CONTEXT, CANDIDATES)
    model.load(path)
    assert (first == model.predict(CONTEXT, CANDIDATES)).all()
    assert (first == RandomModel(path=path).predict(CONTEXT, CANDIDATES)).all()


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"random_state": 0}', "\udcff"])
def test_a_file_without_a_state_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "state"
    path.write_text(content, errors="surrogateescape")
    with pytest.raises(DeclarationError, match="does not have the state of a RandomModel"):
        RandomModel(path=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": "1"}, "seed is '1', expected an integer"),
        ({"max_range": -1}, "max_range is -1, expected an integer"),
        ({"path": "/nowhere/state"}, "cannot load /nowhere/state"),
    ],
)
def test_a_random_model_refuses_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        RandomModel(**options)


def test_a_model_is_created_by_its_name() -> None:
    assert isinstance(cost_model.create("random", seed=1), RandomModel)
    assert cost_model.create("none") is None
    model = RandomModel()
    assert cost_model.create(model) is model
    with pytest.raises(DeclarationError, match="'rand' is not a cost model"):
        cost_model.create("rand")
