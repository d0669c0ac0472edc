"""Whether a schedule uses threads of a GPU. Must not know targets."""

from __future__ import annotations

from te_sched.schedule.schedule import Schedule


def has_threads(schedule: Schedule) -> bool:
    """Whether any loop of a schedule is bound to threads or blocks of a GPU."""
    stages = [*schedule.stages, *schedule.groups]
    bound = [attr.bind_thread for stage in stages for attr in stage.iter_var_attrs.values()]
    launched = [axis for stage in stages for axis in stage.launched_threads]
    return any(axis is not None and "Idx" in axis.thread_tag for axis in (*bound, *launched))
