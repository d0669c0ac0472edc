"""Scheduling: stages, their loops, and the primitives that change them."""

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.schedule.schedule import Schedule, create_schedule
from te_sched.schedule.stage import AttachType, IterVarAttr, Stage

__all__ = ["AttachType", "IterVarAttr", "Schedule", "Stage", "create_schedule"]

_tell_of_absent_names(__name__)
