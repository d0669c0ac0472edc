"""Models by name."""

from __future__ import annotations

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule import cost_model
from te_sched.meta_schedule.cost_model import RandomModel


def test_a_model_is_created_by_its_name() -> None:
    assert isinstance(cost_model.create("random", seed=1), RandomModel)
    assert cost_model.create("none") is None
    model = RandomModel()
    assert cost_model.create(model) is model
    with pytest.raises(DeclarationError, match="'rand' is not a cost model"):
        cost_model.create("rand")
    with pytest.raises(DeclarationError, match="the cost model 'mlp' is not supported"):
        cost_model.create("mlp")
