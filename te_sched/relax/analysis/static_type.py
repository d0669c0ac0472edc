"""What a struct info says of the type of a value: without sizes."""

from __future__ import annotations

from te_sched.ir.expr import ValueType
from te_sched.ir.graph_types import type_of
from te_sched.ir.struct_info import StructInfo


def get_static_type(sinfo: StructInfo) -> ValueType | None:
    """The type of the values of a struct info.

    >>> from te_sched import relax
    >>> get_static_type(relax.ShapeStructInfo([4, 3]))
    R.Shape(ndim=2)
    """
    return type_of(sinfo)
