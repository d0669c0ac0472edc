"""What depends on integers in memory: they may be any number, and sums of them wrap around.

Indices and what is computed of loop variables alone is taken not to overflow.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from te_sched.ir import dtypes
from te_sched.ir.calls import Effect, call_effect
from te_sched.ir.expr import BinaryOp, BufferLoad, Call, Expr, Max, Min, ProducerLoad, Var
from te_sched.ir.visitor import children, walk


def depends_on_data(e: Any, loaded: Collection[Var] = ()) -> bool:
    """Whether the value of an expression depends on integers in memory, or from elsewhere.

    `loaded` are variables that do. What is loaded by such an index is another value.
    """
    kind = type(e)
    if kind is BufferLoad or kind is ProducerLoad:
        return dtypes.is_int(e.dtype) or dtypes.is_uint(e.dtype)
    if kind is Var:
        return e in loaded
    if kind is Call and call_effect(e.op) > Effect.PURE:
        return True
    return any(depends_on_data(child, loaded) for child in children(e))


def may_wrap(e: Expr) -> bool:
    """Whether a sum or product in an expression depends on integers in memory."""
    return any(
        isinstance(part, BinaryOp) and not isinstance(part, Min | Max) and depends_on_data(part)
        for part in walk(e)
    )
