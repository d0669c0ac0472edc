"""Operators on images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import argument_error, as_float, shape_of, tensor_of
from te_sched.relax.operators.layouts import Layout, Order, Plan, layout_in_order
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.registry import FOLLOWS, declare, make_call
from te_sched.signatures import is_sequence


def resize2d(
    data: Value,
    size: Numbers,
    roi: Any = None,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "round",
    cubic_alpha: float = -0.5,
    cubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
    out_dtype: str | None = None,
) -> GraphCall:
    """The images with other heights and widths.

    Parameters
    ----------
    size : the height and width, as numbers or an expression of a shape; one number for both.
    roi : the part (y0, x0, y1, x1) of the image for "tf_crop_and_resize", relative to its size.
    layout : the dimensions of the data: "NCHW", "NHWC" or "NCHW4c".
    method : "nearest_neighbor", "linear" or "cubic".
    coordinate_transformation_mode : "half_pixel", "align_corners", "asymmetric" and others of ONNX.
    rounding_method : of "nearest_neighbor": "round", "round_prefer_floor", "floor" or "ceil". With
        "asymmetric" and sizes that are multiples, it is "floor", as in TVM.
    cubic_alpha, cubic_exclude : the parameter of the spline, and whether elements out of bounds
        are left out.
    extrapolation_value : what is outside of the image, for "tf_crop_and_resize".
    out_dtype : that of the data, by default.
    """
    region = (0.0,) * 4 if roi is None else tuple(roi) if is_sequence(roi) else (roi,) * 4
    if isinstance(size, int | Expr):
        size = (size, size)
    return make_call(
        "relax.image.resize2d",
        [data, ShapeExpr(tuple(size)) if is_sequence(size) else size],
        roi=tuple([ops.const(as_float(value, "a value of roi"), "float32") for value in region]),
        layout=layout,
        method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=rounding_method,
        cubic_alpha=float(cubic_alpha),
        cubic_exclude=int(cubic_exclude),
        extrapolation_value=float(extrapolation_value),
        out_dtype=dtypes.known(out_dtype),
    )


def _infer_resize2d(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info, target = tensor_of(call, 0), call.args[1].struct_info
    axes = _axes_of(call)
    if info.ndim not in (-1, len(axes)):
        raise argument_error(call, 0, f"a tensor of {len(axes)} dimensions, {call.attrs.layout}")
    if not isinstance(target, ShapeStructInfo) or target.ndim != 2:
        raise argument_error(call, 1, "a shape of two sizes")
    dtype = call.attrs.out_dtype or info.dtype
    sizes, new = shape_of(info), call.args[1]
    if sizes is None or not isinstance(new, ShapeExpr):
        return TensorStructInfo(None, dtype, info.vdevice, len(axes))
    height_and_width = dict(zip("HW", new.values, strict=True))
    new_sizes = [height_and_width.get(axis, size) for axis, size in zip(axes, sizes, strict=True)]
    return TensorStructInfo(ShapeExpr(tuple(new_sizes)), dtype, info.vdevice)


def _axes_of(call: GraphCall) -> list[str]:
    """The letters of the layout."""
    layout = call.attrs.layout
    axes = [axis for axis in layout if axis.isalpha()]
    if sorted(axis for axis in axes if axis.isupper()) != list("CHNW"):
        raise GraphError(
            f"{layout!r} is not a layout of images",
            "",
            'use the letters N, C, H and W, and a part of them as in "NCHW4c"',
        )
    return axes


def _legalize_resize2d(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    return builder.call_te(
        topi.image.resize2d,
        call.args[0],
        [float(value.value) for value in attrs.roi],
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


def _exact_resize2d(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """Cubic splines along one axis after the other, which are a tenth of the code of TVM's text."""
    attrs = call.attrs
    if attrs.method != "cubic" or attrs.coordinate_transformation_mode == "tf_crop_and_resize":
        return _legalize_resize2d(builder, call)
    places = [_axes_of(call).index(axis) for axis in "HW"]
    options = dict(alpha=attrs.cubic_alpha, excludes_outside=bool(attrs.cubic_exclude))

    def te_resize2d(data: te.Tensor, size: Sequence[Expr]) -> te.Tensor:
        rules = topi.image.resampling
        axes = [rules.ResampledAxis(*pair) for pair in zip(places, size, strict=True)]
        resampling = rules.Resampling(
            "cubic", attrs.coordinate_transformation_mode, is_separable=True, **options
        )
        return rules.resample(data, axes, resampling, attrs.out_dtype or None)

    return builder.call_te(te_resize2d, *call.args, primfunc_name_hint="resize2d")


def _rounding(call: GraphCall) -> str:
    """The rounding method; TVM divides indices as integers for sizes that are multiples."""
    attrs = call.attrs
    if attrs.method != "nearest_neighbor" or attrs.coordinate_transformation_mode != "asymmetric":
        return str(attrs.rounding_method)
    axes = [axis for axis in attrs.layout if axis.isalpha()]
    old = call.args[0].struct_info.shape.values
    pairs = zip([old[axes.index(axis)] for axis in "HW"], call.args[1].values, strict=True)
    static_pairs = [
        (size, new) for size, new in pairs if isinstance(size, IntImm) and isinstance(new, IntImm)
    ]
    is_multiple = len(static_pairs) == 2 and all(
        new.value % size.value == 0 for size, new in static_pairs
    )
    return "floor" if is_multiple else str(attrs.rounding_method)


def _layout_of_resize2d(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    return Plan({0: order}, order, {"layout": layout_in_order(order, call.attrs.layout)})


declare(
    "relax.image.resize2d",
    _infer_resize2d,
    mixed_precision=FOLLOWS,
    legalize=_legalize_resize2d,
    exact=_exact_resize2d,
    layout=Layout(_layout_of_resize2d, arguments=("layout",), result="layout"),
)
