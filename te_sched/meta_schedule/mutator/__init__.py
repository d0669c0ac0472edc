"""Mutators, by TVM's names."""

from te_sched.meta_schedule.mutator.base import Mutator as Mutator
from te_sched.meta_schedule.mutator.base import PyMutator as PyMutator

__all__ = ["Mutator", "PyMutator"]
