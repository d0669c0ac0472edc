"""Joins, splits and repetitions of tensors along axes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from te_sched import te
from te_sched.errors import GraphError, GraphTypeError, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import GraphCall, GraphExpr, Tuple, as_expr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value, Values
from te_sched.relax.operators.inference import (
    common_dtype,
    common_vdevice,
    shape_of,
    tensor_of,
)
from te_sched.relax.operators.layouts import ALONG_AXIS, Layout, Order, Plan
from te_sched.relax.operators.legalization import fields_of_tuple, topi
from te_sched.relax.operators.registry import FOLLOWS, declare, make_call
from te_sched.relax.operators.sizes import (
    axis_of,
    check_equal,
    fields_of,
    given_sizes,
    known_sizes,
    product,
    sized,
    unknown,
)
from te_sched.signatures import is_index, is_sequence


def concat(tensors: Values, axis: Any = 0) -> GraphCall:
    """Tensors one after another along an axis; None joins tensors of one dimension."""
    fields = as_expr(tensors) if is_sequence(tensors) else tensors
    if axis is not None and not is_index(axis):
        raise GraphTypeError(
            f"the axis of relax.concat is {repr_of(axis)}, expected an int",
            f"it is {kind_of(axis)}",
            "give the tensors as a tuple: concat((a, b), axis=0)",
        )
    return make_call("relax.concat", [fields], axis=None if axis is None else int(axis))


def _infer_concat(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = fields_of(call, 0)
    dtype, vdevice = common_dtype(call, infos), common_vdevice(call, infos)
    ranks = {info.ndim for info in infos} - {-1}
    if len(ranks) > 1:
        raise GraphError(
            f"{call.op} joins tensors of {sorted(ranks)} dimensions",
            f"they are {', '.join(str(info) for info in infos)}",
            "join tensors of one rank",
        )
    ndim = next(iter(ranks), -1)
    axis = call.attrs.axis
    if axis is None and ndim not in (-1, 1):
        raise GraphError(
            f"{call.op} with axis=None joins tensors of {ndim} dimensions",
            "",
            "give an axis, or tensors of one dimension",
        )
    if ndim != -1:
        axis = axis_of(call, 0 if axis is None else axis, ndim)
    if len(infos) == 1:
        return infos[0]
    shapes = [known_sizes(info) for info in infos]
    joined = _joined(call, builder, [shape for shape in shapes if shape is not None], axis)
    is_static = all(isinstance(info.shape, ShapeExpr) for info in infos)
    if ndim == -1 or joined is None or not is_static:
        return TensorStructInfo(None, dtype, vdevice, ndim)
    return TensorStructInfo(ShapeExpr(tuple(joined)), dtype, vdevice)


def _joined(
    call: GraphCall, builder: BlockBuilder, shapes: list[Any], axis: Any
) -> list[Any] | None:
    """The sizes of joined tensors; None if those of other axes are not known to be equal."""
    if not shapes:
        return None
    is_known = True
    sizes = list(shapes[0])
    for other in shapes[1:]:
        for at, (first_size, size) in enumerate(zip(shapes[0], other, strict=True)):
            if at == axis:
                is_twice = sizes[at] is size
                sizes[at] = ops.multiply(size, 2) if is_twice else ops.add(sizes[at], size)
                continue
            check_equal(call, builder, first_size, size, "the sizes")
            is_known = is_known and builder.analyzer.can_prove_equal(first_size, size)
    if not is_known:
        return None
    return sizes


def _legalize_concat(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    axis = 0 if call.attrs.axis is None else call.attrs.axis
    return builder.call_te(topi.concatenate, fields_of_tuple(builder, call.args[0]), axis)


def _layout_of_concat(call: GraphCall, orders: list[Order]) -> Plan | None:
    fields = orders[0]
    if not isinstance(fields, list) or call.attrs.axis is None:
        return None
    order = next(field for field in fields if field is not None)
    axis = order.index(call.attrs.axis % len(order))
    return Plan({0: [order] * len(fields)}, order, {"axis": axis})


declare(
    "relax.concat",
    _infer_concat,
    mixed_precision=FOLLOWS,
    legalize=_legalize_concat,
    layout=Layout(_layout_of_concat),
)


def split(x: Value, indices_or_sections: Numbers, axis: int = 0) -> GraphCall:
    """Parts of a tensor along an axis, as a tuple.

    Parameters
    ----------
    indices_or_sections : the number of parts, of which the last may be smaller; or the indices
        at which a part begins.
    """
    if is_sequence(indices_or_sections):
        places = given_sizes(indices_or_sections, "indices_or_sections")
        parts: Any = tuple([ops.const(index, "int64") for index in places])
    else:
        count = given_sizes(indices_or_sections, "indices_or_sections")[0]
        if count <= 0:
            raise GraphError(
                f"relax.split has {count} parts, expected at least 1",
                "",
                "give a positive number of parts",
            )
        parts = ops.const(count, "int64")
    return make_call("relax.split", [x], indices_or_sections=parts, axis=int(axis))


def _infer_split(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, parts = tensor_of(call, 0), call.attrs.indices_or_sections
    axis = axis_of(call, call.attrs.axis, data.ndim) if data.ndim != -1 else 0
    count = len(parts) + 1 if isinstance(parts, tuple) else parts.value
    if count == 1:
        return TupleStructInfo((data,))
    sizes = shape_of(data)
    if sizes is None:
        return TupleStructInfo((unknown(data, data.ndim),) * count)
    extents = extents_between if isinstance(parts, tuple) else _extents_of
    infos = [
        sized(data, [*sizes[:axis], builder.analyzer.simplify(extent), *sizes[axis + 1 :]])
        for extent in extents(sizes[axis], parts)
    ]
    return TupleStructInfo(tuple(infos))


def _extents_of(size: Any, parts: IntImm) -> list[Expr]:
    """The sizes of equal parts, of which the last one is what remains."""
    count = parts.value
    extent = ops.ceildiv(size, parts)
    rest = ops.subtract(size, ops.multiply(extent, ops.const(count - 1, "int64")))
    return [extent] * (count - 1) + [rest]


def extents_between(size: Any, places: tuple[IntImm, ...]) -> list[Any]:
    """The sizes of the parts between places."""
    ends = [ops.const(0, "int64"), *places, size]
    extents = []
    for begin, end in pairwise([clamped_place(index, size) for index in ends]):
        extents.append(ops.maximum(ops.subtract(end, begin), ops.const(0, "int64")))
    return extents


def clamped_place(index: Any, size: Any) -> Any:
    """A place at which a part begins, inside of an axis."""
    number = index.value if isinstance(index, IntImm) else 0
    return ops.minimum(ops.const(max(number, 0), "int64") if number < 0 else index, size)


def _legalize_split(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    parts = call.attrs.indices_or_sections
    data = call.args[0].struct_info
    count = len(call.struct_info.fields)  # type: ignore[attr-defined]
    size = data.shape.values[call.attrs.axis]
    is_even = isinstance(parts, IntImm) and builder.analyzer.can_prove_equal(
        ops.floormod(size, parts), ops.const(0, "int64")
    )
    is_inside = isinstance(parts, tuple) and isinstance(size, IntImm)
    is_inside = is_inside and all(0 <= index.value <= size.value for index in parts)
    if not is_inside and not (is_even and isinstance(size, IntImm)):
        result = _unequal_parts(builder, call, is_even)
        return Tuple((builder.emit(result),)) if count == 1 else result
    places = [index.value for index in parts] if isinstance(parts, tuple) else parts.value
    result = builder.call_te(topi.split, call.args[0], places, call.attrs.axis)
    return Tuple((builder.emit(result),)) if count == 1 else result


def _unequal_parts(builder: BlockBuilder, call: GraphCall, is_even: bool) -> Any:
    """Parts of an axis of a symbolic size, or of which the last one is smaller."""
    parts = call.attrs.indices_or_sections

    def split(data: te.Tensor, axis: int) -> list[te.Tensor]:
        size, at = data.shape[axis], axis % data.ndim
        if isinstance(parts, IntImm):
            step = (ops.floordiv if is_even else ops.ceildiv)(size, parts)
            begins = [ops.multiply(step, ops.const(k, "int64")) for k in range(parts.value)]
            extents = [ops.subtract(end, begin) for begin, end in pairwise([*begins, size])]
        else:
            begins = [ops.const(0, "int64"), *[clamped_place(index, size) for index in parts]]
            extents = extents_between(size, parts)

        def part(begin: Expr, extent: Expr) -> te.Tensor:
            return te.compute(
                [*data.shape[:at], extent, *data.shape[at + 1 :]],
                lambda *i: data(*i[:at], begin + i[at], *i[at + 1 :]),
                name="T_split_sections",
            )

        return [part(*bounds) for bounds in zip(begins, extents, strict=True)]

    return builder.call_te(split, call.args[0], call.attrs.axis)


def _layout_of_split(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    count = len(call.struct_info.fields)  # type: ignore[attr-defined]
    axis = order.index(call.attrs.axis % len(order))
    return Plan({0: order}, [order] * count, {"axis": axis})


declare(
    "relax.split",
    _infer_split,
    mixed_precision=FOLLOWS,
    legalize=_legalize_split,
    layout=Layout(_layout_of_split),
)

# Repetition and order


def repeat(data: Value, repeats: int, axis: int | None = None) -> GraphCall:
    """Each element of an axis several times; None repeats the elements of the flattened tensor."""
    count = given_sizes(repeats, "repeats")[0]
    return make_call(
        "relax.repeat", [data], repeats=count, axis=None if axis is None else int(axis)
    )


def _infer_repeat(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, axis, count = tensor_of(call, 0), call.attrs.axis, call.attrs.repeats
    sizes = shape_of(data)
    times = ops.const(count, "int64")
    if axis is None:
        if sizes is None:
            return unknown(data, 1)
        return sized(data, [builder.analyzer.simplify(ops.multiply(product(sizes), times))])
    if data.ndim == -1:
        return unknown(data)
    axis = axis_of(call, axis, data.ndim)
    if sizes is None:
        return data if count == 1 else unknown(data, data.ndim)
    size = builder.analyzer.simplify(ops.multiply(sizes[axis], times))
    return sized(data, [*sizes[:axis], size, *sizes[axis + 1 :]])


def _legalize_repeat(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    return builder.call_te(
        _te_repeat, call.args[0], attrs.repeats, attrs.axis, primfunc_name_hint="repeat"
    )


def _te_repeat(data: te.Tensor, repeats: int, axis: int | None) -> te.Tensor:
    if axis is None:  # of the flattened tensor
        size = topi.utils.prod(data.shape)
        return topi.repeat(topi.reshape(data, [size]), repeats, 0)
    return topi.repeat(data, repeats, axis)


declare("relax.repeat", _infer_repeat, legalize=_legalize_repeat)


def tile(data: Value, repeats: Numbers) -> GraphCall:
    """The whole tensor several times along each axis."""
    return make_call("relax.tile", [data], repeats=given_sizes(repeats, "repeats"))


def _infer_tile(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, repeats = tensor_of(call, 0), call.attrs.repeats
    if data.ndim == -1:
        return unknown(data)
    ndim = max(data.ndim, len(repeats))
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, ndim)
    whole = [ops.const(1, "int64")] * (ndim - len(sizes)) + list(sizes)
    times = [1] * (ndim - len(repeats)) + list(repeats)
    tiled_sizes = [
        builder.analyzer.simplify(ops.multiply(size, ops.const(count, "int64")))
        for size, count in zip(whole, times, strict=True)
    ]
    return sized(data, tiled_sizes)


def _legalize_tile(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(topi.tile, call.args[0], list(call.attrs.repeats))


declare("relax.tile", _infer_tile, legalize=_legalize_tile)


def flip(data: Value, axis: int) -> GraphCall:
    """The tensor with an axis in reverse order."""
    return make_call("relax.flip", [data], axis=int(axis))


def _infer_flip(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data = tensor_of(call, 0)
    if data.ndim != -1:
        axis_of(call, call.attrs.axis, data.ndim)
    return data


def _legalize_flip(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(topi.flip, call.args[0], call.attrs.axis)


declare("relax.flip", _infer_flip, legalize=_legalize_flip, layout=ALONG_AXIS)
