"""Callbacks, by TVM's names."""

from te_sched.meta_schedule.measure_callback.base import MeasureCallback as MeasureCallback
from te_sched.meta_schedule.measure_callback.base import PyMeasureCallback as PyMeasureCallback

__all__ = ["MeasureCallback", "PyMeasureCallback"]
