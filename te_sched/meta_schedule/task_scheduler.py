"""Schedulers of tasks: which task gets the next batch of trials."""

from __future__ import annotations

from te_sched.meta_schedule.component import Component


class TaskScheduler(Component):
    """Tunes several tasks in turn."""
