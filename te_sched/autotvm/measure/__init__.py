"""Measuring configurations: builders, runners, results."""

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.measure import executor as executor
from te_sched.autotvm.measure import measure as measure
from te_sched.autotvm.measure import measure_methods as measure_methods
from te_sched.autotvm.measure.executor import Executor
from te_sched.autotvm.measure.measure import (
    Builder,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    Runner,
    create_measure_batch,
)
from te_sched.autotvm.measure.measure_methods import LocalBuilder, LocalRunner, measure_option

__all__ = [
    "Builder",
    "Executor",
    "LocalBuilder",
    "LocalRunner",
    "MeasureErrorNo",
    "MeasureInput",
    "MeasureResult",
    "Runner",
    "create_measure_batch",
    "measure_option",
]

_tell_of_absent_names(__name__)
