"""Postprocessors, by TVM's names."""

from te_sched.meta_schedule.postproc.base import Postproc as Postproc
from te_sched.meta_schedule.postproc.base import PyPostproc as PyPostproc

__all__ = ["Postproc", "PyPostproc"]
