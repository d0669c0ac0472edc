"""Cost models, by TVM's names."""

from __future__ import annotations

from typing import Any

from te_sched.meta_schedule.component import named
from te_sched.meta_schedule.cost_model.base import CostModel as CostModel
from te_sched.meta_schedule.cost_model.base import PyCostModel as PyCostModel
from te_sched.meta_schedule.cost_model.random_model import RandomModel as RandomModel

_MODELS: dict[str, Any] = {"random": RandomModel}


def create(kind: Any = "xgb", *args: Any, **kwargs: Any) -> CostModel | None:
    """A cost model by its name; a model is returned as it is, "none" is no model."""
    if kind is None or kind == "none":
        return None
    if isinstance(kind, CostModel):
        return kind
    found: CostModel = named("cost model", _MODELS, kind)(*args, **kwargs)
    return found


__all__ = ["CostModel", "PyCostModel", "RandomModel", "create"]
