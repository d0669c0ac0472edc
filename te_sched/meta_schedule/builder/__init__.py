"""Builders, by TVM's names."""

from te_sched.meta_schedule.builder.base import Builder as Builder
from te_sched.meta_schedule.builder.base import BuilderInput as BuilderInput
from te_sched.meta_schedule.builder.base import BuilderResult as BuilderResult
from te_sched.meta_schedule.builder.base import PyBuilder as PyBuilder

__all__ = ["Builder", "BuilderInput", "BuilderResult", "PyBuilder"]
