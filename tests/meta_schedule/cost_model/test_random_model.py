"""Random scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule.cost_model import RandomModel
from tests.meta_schedule.cost_model.candidates import CANDIDATES, CONTEXT


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
        ({"seed": "1"}, "seed of .*RandomModel is '1', expected an int"),
        ({"max_range": -1}, "max_range is -1, expected an integer"),
        ({"path": "/nowhere/state"}, "cannot load /nowhere/state"),
    ],
)
def test_a_random_model_refuses_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        RandomModel(**options)
