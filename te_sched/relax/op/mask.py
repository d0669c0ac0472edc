"""Elements that a mask replaces."""

from __future__ import annotations

from te_sched.ir.graph import GraphCall
from te_sched.relax.constant import const
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.create import full_like
from te_sched.relax.op.search import where


def masked_fill(x: Value, mask: Value, value: Value) -> GraphCall:
    """The tensor with a value where a mask holds: a call of `where`.

    >>> from te_sched import relax
    >>> masked_fill(relax.const([1.0, 2.0]), relax.const([True, False]), 0.0).op
    'relax.where'
    """
    if isinstance(value, bool | int | float):
        value = const(value, x.struct_info.dtype or None)
    return where(mask, full_like(x, value), x)
