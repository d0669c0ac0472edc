"""Rules of operators on images."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import library_rule


@library_rule("relax.image.resize2d")
def _resize2d(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(
        topi.image.resize2d,
        call.args[0],
        [float(one.value) for one in attrs.roi],
        call.args[1],
        attrs.layout,
        attrs.method,
        attrs.coordinate_transformation_mode,
        _rounding(call),
        attrs.cubic_alpha,
        attrs.cubic_exclude,
        attrs.extrapolation_value,
        attrs.out_dtype or None,
        primfunc_name_hint="resize2d",
    )


def _rounding(call: GraphCall) -> str:
    """The rounding method; TVM divides indices as integers for sizes that are multiples."""
    attrs = call.attrs
    if attrs.method != "nearest_neighbor" or attrs.coordinate_transformation_mode != "asymmetric":
        return str(attrs.rounding_method)
    axes = [one for one in attrs.layout if one.isalpha()]
    old = call.args[0].struct_info.shape.values
    pairs = zip([old[axes.index(one)] for one in "HW"], call.args[1].values, strict=True)
    known = [
        (one, new) for one, new in pairs if isinstance(one, IntImm) and isinstance(new, IntImm)
    ]
    is_multiple = len(known) == 2 and all(new.value % one.value == 0 for one, new in known)
    return "floor" if is_multiple else str(attrs.rounding_method)
