"""Parts of tensors: elements at indices, and slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import Constant, GraphCall, PrimValue, Tuple
from te_sched.ir.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.lazy_loading import lazy_function
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import (
    FOLLOWS,
    argument_error,
    as_int,
    check_indices,
    common_vdevice,
    number,
    operand_of,
    shape_of,
    tensor_of,
    tensors_of,
)
from te_sched.relax.op.sizes import axes_of, axis_of, check_at_least, known_sizes
from te_sched.relax.operators import make_call, register_operator
from te_sched.signatures import is_sequence

if TYPE_CHECKING:
    from te_sched.topi.slices import cut
else:
    cut = lazy_function("te_sched.topi.slices:cut")


def take(x: Value, indices: Value, axis: int | None = None) -> GraphCall:
    """The elements of `x` at indices along an axis; `x` of one dimension may go without it.

    The dimensions of `indices`, which may be a number, take the place of the axis.
    """
    along = None if axis is None else as_int(axis, "axis")
    return make_call("relax.take", [x, indices], axis=along)


@register_operator("relax.take")
def _infer_take(call: GraphCall, builder: Any) -> StructInfo:
    info, places = tensor_of(call, 0), operand_of(call, 1)
    check_indices(call, 1)
    axis = call.attrs.axis
    if axis is None and info.ndim != 1:
        raise GraphError(
            f"{call.op} has no axis, and {info} is not known to have one dimension",
            "without an axis, elements are taken of a tensor of one dimension",
            "give an axis, or flatten the tensor",
        )
    axis = 0 if axis is None else axis
    tensors = [one for one in (info, places) if isinstance(one, TensorStructInfo)]
    vdevice = common_vdevice(call, tensors)
    rank = places.ndim if isinstance(places, TensorStructInfo) else 0
    if -1 in (info.ndim, rank):
        return TensorStructInfo(None, info.dtype, vdevice)
    at = axis_of(call, axis, info.ndim)
    inner = shape_of(places) if isinstance(places, TensorStructInfo) else ()
    outer = shape_of(info)
    if inner is None or outer is None:
        return TensorStructInfo(None, info.dtype, vdevice, info.ndim - 1 + rank)
    largest = _largest_index(call.args[1])
    if largest is not None:
        least = ops.const(largest + 1, "int64")
        check_at_least(call, builder, outer[at], least, f"the size along axis {at}")
    sizes = (*outer[:at], *inner, *outer[at + 1 :])
    return TensorStructInfo(ShapeExpr(sizes), info.dtype, vdevice)


def _largest_index(indices: Any) -> int | None:
    """The largest of constant indices; None of others, and of none.

    A kernel checks the indices that it reads, but it reads none of a tensor without elements.
    """
    if isinstance(indices, PrimValue):
        return indices.value.value if isinstance(indices.value, IntImm) else None
    if not isinstance(indices, Constant) or not indices.data.size:
        return None
    return int(indices.data.numpy().max())


def strided_slice(
    x: Value,
    axes: Numbers,
    begin: Numbers,
    end: Numbers,
    strides: Numbers | None = None,
    assume_inbound: bool = False,
) -> GraphCall:
    """The slices begin:end:stride along axes, as in numpy.

    Parameters
    ----------
    axes, begin, end, strides : numbers for each axis that is sliced; the strides are 1 by default.
    assume_inbound : promises 0 <= begin <= end <= size for bounds that are not constants.
    """
    given = {"axes": axes, "begin": begin, "end": end, "strides": strides}
    made = {
        name: _numbers(one) for name, one in given.items() if one is not None or name != "strides"
    }
    known = made["axes"]
    for name, one in made.items():
        if isinstance(one, Tuple) and isinstance(known, Tuple) and len(one) != len(known):
            raise GraphError(
                f"strided_slice has {len(known)} axes and {len(one)} {name}",
                "",
                "give a number for each axis",
            )
    return make_call(
        "relax.strided_slice", [x, *made.values()], assume_inbound=bool(assume_inbound)
    )


def _numbers(given: Any) -> Any:
    return Tuple(tuple([number(one) for one in given])) if is_sequence(given) else given


@register_operator("relax.strided_slice", TMixedPrecisionPolicy=FOLLOWS)
def _infer_strided_slice(call: GraphCall, builder: Any) -> StructInfo:
    info = tensor_of(call, 0)
    axes, begin, end, strides = slice_arguments(call)
    if info.ndim == -1:
        return TensorStructInfo(None if axes else info.shape, info.dtype, info.vdevice)
    places = axes_of(call, axes, info.ndim)
    sizes = known_sizes(info)
    if sizes is None:
        return TensorStructInfo(None if axes else info.shape, info.dtype, info.vdevice, info.ndim)
    left = list(sizes)
    for at, first, last, step in zip(places, begin, end, strides, strict=True):
        left[at] = cut(first, last, step, sizes[at], call.attrs.assume_inbound, builder.analyzer)[1]
    return TensorStructInfo(
        ShapeExpr(tuple([ops.cast("int64", ops.convert(one)) for one in left])),
        info.dtype,
        info.vdevice,
    )


def slice_arguments(call: GraphCall) -> tuple[list[int], list[Any], list[Any], list[Any]]:
    """The axes, begins, ends and strides of a call of `strided_slice`."""
    axes, begin, end, *rest = [_values_of(call, place) for place in range(1, len(call.args))]
    if not all(isinstance(one, IntImm) for one in axes):
        raise argument_error(call, 1, "axes that are constants")
    strides = rest[0] if rest else [ops.const(1, "int64")] * len(axes)
    if not len(axes) == len(begin) == len(end) == len(strides):
        raise argument_error(call, 2, f"{len(axes)} numbers, one for each axis")
    return [one.value for one in axes], begin, end, strides


def _values_of(call: GraphCall, place: int) -> list[Any]:
    """The numbers of an argument that is a tuple or a shape, as expressions of int64."""
    info = call.args[place].struct_info
    values: Sequence[Any] | None = None
    if isinstance(info, ShapeStructInfo):
        values = info.values
    elif isinstance(info, TupleStructInfo):
        values = [getattr(one, "value", None) for one in info.fields]
        if not all(isinstance(one, PrimStructInfo) for one in info.fields):
            values = None
    if values is None or any(one is None for one in values):
        raise argument_error(call, place, "a tuple of numbers of known values")
    return [ops.cast("int64", one) for one in values]


def dynamic_strided_slice(x: Value, begin: Numbers, end: Numbers, strides: Numbers) -> GraphCall:
    """The slices begin:end:stride along all axes, of bounds that are tensors of int64."""
    return make_call("relax.dynamic_strided_slice", [x, begin, end, strides])


@register_operator("relax.dynamic_strided_slice", FDataDependent=True)
def _infer_dynamic_strided_slice(call: GraphCall, builder: Any) -> StructInfo:
    info, *bounds = tensors_of(call, 4)
    for place, one in enumerate(bounds, 1):
        if one.dtype not in ("", "int64"):
            raise argument_error(call, place, "a tensor of int64")
        sizes = shape_of(one)
        is_wrong = (
            sizes is not None
            and info.ndim != -1
            and (len(sizes) != 1 or builder.analyzer.can_prove(ops.not_equal(sizes[0], info.ndim)))
        )
        if one.ndim not in (-1, 1) or is_wrong:
            raise argument_error(call, place, "a tensor of one number for each dimension")
    return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)
