"""Rules of operators of two values."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    TEFunc,
    register_legalize,
    scalar_or_expr,
)


def _binary(te_func: TEFunc) -> LegalizeFunc:
    """The rule of an operator of two values; a constant without dimensions becomes a number."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        first, second = call.args
        number = scalar_or_expr(first)
        if number is first:  # one of them stays a tensor
            return builder.call_te(te_func, first, scalar_or_expr(second))
        return builder.call_te(te_func, number, second)

    return legalize


register_legalize("relax.add", _binary(topi.add))
