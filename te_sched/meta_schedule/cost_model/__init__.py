"""Cost models, by TVM's names."""

from te_sched.meta_schedule.cost_model.base import CostModel as CostModel
from te_sched.meta_schedule.cost_model.base import PyCostModel as PyCostModel

__all__ = ["CostModel", "PyCostModel"]
