"""Rules of operators on images."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import register_legalize


@register_legalize("relax.image.resize2d")
def _resize2d(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(
        topi.image.resize2d,
        call.args[0],
        list(attrs.roi),
        call.args[1],
        attrs.layout,
        attrs.method,
        attrs.coordinate_transformation_mode,
        attrs.rounding_method,
        attrs.cubic_alpha,
        attrs.cubic_exclude,
        attrs.extrapolation_value,
        attrs.out_dtype or None,
        primfunc_name_hint="resize2d",
    )
