"""Calls of intrinsics, compared with their table before code is generated for them."""

from __future__ import annotations

from te_sched.errors import BuildError
from te_sched.ir import dtypes
from te_sched.ir.expr import Call
from te_sched.ir.intrinsic_table import INTRINSICS


def intrinsic_of(node: Call) -> str:
    """The name of the intrinsic that is called, without the prefix "tir.".

    Raises BuildError where the table has it with other arguments.
    """
    name = node.op.removeprefix("tir.")
    row = INTRINSICS.get(name)
    if row is None:
        return name
    if row.arity is not None and len(node.args) != row.arity:
        raise BuildError(
            f"generate code for {node.op} of {len(node.args)} arguments",
            f"it takes {row.arity}",
            f"use the function te.{name}",
        )
    dtype = node.args[0].dtype if row.types else ""
    if row.types == "float" and not dtypes.is_float(dtype):
        raise BuildError(
            f"generate code for {name} of {dtype}",
            "it is defined for floats",
            'cast with .astype("float32")',
        )
    if row.types == "integer" and dtypes.parse(dtype).code not in ("int", "uint", "bool"):
        raise BuildError(
            f"generate code for {name} of {dtype}",
            "it is defined for integers",
            "cast to an integer type, or use te.reinterpret",
        )
    return name
