"""Builders, by TVM's names."""

from __future__ import annotations

import sys
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.builder.base import Builder as Builder
from te_sched.meta_schedule.builder.base import BuilderInput as BuilderInput
from te_sched.meta_schedule.builder.base import BuilderResult as BuilderResult
from te_sched.meta_schedule.builder.base import PyBuilder as PyBuilder
from te_sched.meta_schedule.builder.dask_builder import DaskBuilder as DaskBuilder
from te_sched.meta_schedule.builder.local_builder import LocalBuilder as LocalBuilder
from te_sched.meta_schedule.component import made
from te_sched.signatures import check_arguments

_BUILDERS: dict[str, type[Builder]] = {"local": LocalBuilder, "dask": DaskBuilder}


def create(kind: Any = "local", *args: Any, **kwargs: Any) -> Builder:
    """A builder by its name; a builder is returned as it is."""
    return made(Builder, "builder", _BUILDERS, kind, args, kwargs)


Builder.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "Builder",
    "BuilderInput",
    "BuilderResult",
    "DaskBuilder",
    "LocalBuilder",
    "PyBuilder",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
