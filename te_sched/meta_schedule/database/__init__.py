"""Databases, by TVM's names."""

from te_sched.meta_schedule.database.base import Database as Database
from te_sched.meta_schedule.database.base import PyDatabase as PyDatabase
from te_sched.meta_schedule.database.base import TuningRecord as TuningRecord
from te_sched.meta_schedule.database.base import Workload as Workload

__all__ = ["Database", "PyDatabase", "TuningRecord", "Workload"]
