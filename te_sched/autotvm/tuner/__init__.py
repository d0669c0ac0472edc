"""Tuners: which configurations of a task are measured."""

import sys as _sys

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.tuner import callback as callback
from te_sched.autotvm.tuner.droplet_tuner import DropletTuner
from te_sched.autotvm.tuner.ga_tuner import GATuner
from te_sched.autotvm.tuner.index_based_tuner import GridSearchTuner, RandomTuner
from te_sched.autotvm.tuner.tuner import Tuner
from te_sched.autotvm.tuner.xgboost_tuner import XGBTuner
from te_sched.public_names import list_names as _list_names

__all__ = ["DropletTuner", "GATuner", "GridSearchTuner", "RandomTuner", "Tuner", "XGBTuner"]
_list_names(_sys.modules[__name__], "callback", home="te_sched.autotvm.tuner")
_tell_of_absent_names(__name__)
