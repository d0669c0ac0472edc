"""Cost models, by TVM's names."""

from __future__ import annotations

import logging
import sys
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError
from te_sched.meta_schedule.component import made
from te_sched.meta_schedule.cost_model.base import CostModel as CostModel
from te_sched.meta_schedule.cost_model.base import PyCostModel as PyCostModel
from te_sched.meta_schedule.cost_model.pack_sum import is_installed
from te_sched.meta_schedule.cost_model.random_model import RandomModel as RandomModel
from te_sched.meta_schedule.cost_model.xgb_model import XGBModel as XGBModel
from te_sched.signatures import check_arguments

_LOGGER = logging.getLogger("te_sched.meta_schedule")
_MODELS: dict[str, Any] = {"xgb": XGBModel, "random": RandomModel}


def create(kind: Any = "xgb", *args: Any, **kwargs: Any) -> CostModel | None:
    """A cost model by its name; a model is returned as it is, "none" means none.

    Where the library is not installed, "xgb" means none, too, which is logged.

    Raises
    ------
    DeclarationError for another name.

    >>> create("random", seed=3).can_rank
    False
    """
    if kind is None or kind == "none":
        return None
    if kind == "mlp":
        raise DeclarationError(
            "the cost model 'mlp' is not supported",
            "it is a network that TVM trains with PyTorch",
            "use 'xgb', or derive a model from PyCostModel",
        )
    if kind == "xgb" and not is_installed():
        _LOGGER.warning(
            "searching without a cost model, since xgboost is not installed: "
            "pip install xgboost-cpu"
        )
        return None
    return made(CostModel, "cost model", _MODELS, kind, args, kwargs)


CostModel.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = ["CostModel", "PyCostModel", "RandomModel", "XGBModel", "create"]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
