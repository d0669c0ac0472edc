"""Calls of functions: `call_tir`, `call_dps_packed`, `call_pure_packed` and their like."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.operators import register_operator


@register_operator("relax.call_tir")
def _infer_call_tir(call: GraphCall, builder: Any) -> StructInfo:
    del builder
    if len(call.sinfo_args) != 1:
        raise GraphError(f"{call.op} has no out_sinfo", "", "give the struct info of the result")
    return call.sinfo_args[0]
