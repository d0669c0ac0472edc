"""Data types that programs can be written with, but not executed."""

from __future__ import annotations

from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import walk


def check_data_types(func: PrimFunc) -> None:
    """Refuse a function with values of a type that no target has."""
    for node in (*func.params, *func.buffer_map.values(), *walk(func.body)):
        dtype = getattr(node, "dtype", "void")
        if not dtypes.is_supported(dtype):
            raise BuildError(
                f"cannot generate code for values of type {dtype}",
                "programs of this type can be written and printed, but not executed",
                f"compute with one of {dtypes.LEGAL}",
            )
