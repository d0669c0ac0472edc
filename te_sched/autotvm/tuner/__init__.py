"""Tuners: which configurations of a task are measured."""

from te_sched.autotvm.tuner import callback as callback
from te_sched.autotvm.tuner.droplet_tuner import DropletTuner
from te_sched.autotvm.tuner.ga_tuner import GATuner
from te_sched.autotvm.tuner.index_based_tuner import GridSearchTuner, RandomTuner
from te_sched.autotvm.tuner.tuner import Tuner
from te_sched.autotvm.tuner.xgboost_tuner import XGBTuner

__all__ = ["DropletTuner", "GATuner", "GridSearchTuner", "RandomTuner", "Tuner", "XGBTuner"]
