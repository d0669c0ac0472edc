"""Callbacks, by TVM's names."""

import sys

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.component import named
from te_sched.meta_schedule.measure_callback.base import MeasureCallback as MeasureCallback
from te_sched.meta_schedule.measure_callback.base import PyMeasureCallback as PyMeasureCallback
from te_sched.meta_schedule.measure_callback.standard import AddToDatabase as AddToDatabase
from te_sched.meta_schedule.measure_callback.standard import (
    RemoveBuildArtifact as RemoveBuildArtifact,
)
from te_sched.meta_schedule.measure_callback.standard import UpdateCostModel as UpdateCostModel
from te_sched.signatures import check_arguments


def create(kind: str = "default") -> list[MeasureCallback]:
    """The callbacks of a search: "default" removes built files, keeps the results and learns.

    >>> [type(one).__name__ for one in create()]
    ['RemoveBuildArtifact', 'AddToDatabase', 'UpdateCostModel']
    """
    kinds = {"default": [RemoveBuildArtifact, AddToDatabase, UpdateCostModel]}
    return [callback() for callback in named("list of callbacks", kinds, kind)]


MeasureCallback.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "AddToDatabase",
    "MeasureCallback",
    "PyMeasureCallback",
    "RemoveBuildArtifact",
    "UpdateCostModel",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
