"""Schedule rules, by TVM's names."""

from te_sched.meta_schedule.schedule_rule.base import PyScheduleRule as PyScheduleRule
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule as ScheduleRule

__all__ = ["PyScheduleRule", "ScheduleRule"]
