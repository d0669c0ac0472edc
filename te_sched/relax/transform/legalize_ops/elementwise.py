"""Rules of functions of one or three tensors, element by element."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir import ops
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import call_te_of, library_rule

for _name in (
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "logical_not",
    "negative",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
):
    library_rule(f"relax.{_name}", call_te_of(getattr(topi, _name), f"tir_{_name}"))
library_rule("relax.erf", call_te_of(topi.erf))
library_rule("relax.square", call_te_of(lambda x: topi.multiply(x, x), "tir_square"))


@library_rule("relax.clip")
def _clip(builder: BlockBuilder, call: GraphCall) -> Any:
    bounds = [getattr(one, "value", one) for one in call.args[1:]]
    constants = [one.value if isinstance(one, IntImm | FloatImm) else one for one in bounds]
    return builder.call_te(topi.clip, call.args[0], *constants, primfunc_name_hint="tir_clip")


def _fma(x: Any, y: Any, z: Any) -> Any:
    return topi.utils.compute(
        x.shape, lambda *i: ops.add(ops.multiply(x(*i), y(*i)), z(*i)), name="T_fma"
    )


library_rule("relax.ewise_fma", call_te_of(_fma, "ewise_fma"))
