"""Operators that move elements: reshapes, transposes, joins and splits, gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from te_sched.errors import GraphError, GraphTypeError, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, FloatImm, IntImm, Mul
from te_sched.ir.graph import GraphCall, PrimValue, as_expr
from te_sched.ir.index_map import IndexMap
from te_sched.ir.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    size_text,
)
from te_sched.relax.op.arguments import Numbers, Shape, Value, Values
from te_sched.relax.op.common import (
    FOLLOWS,
    argument_error,
    common_dtype,
    shape_of,
    tensor_of,
    tensors_of,
)
from te_sched.relax.op.sizes import (
    as_axes,
    as_shape,
    axes_of,
    axis_of,
    check_equal,
    check_integers,
    common_vdevice,
    fields_of,
    given_sizes,
    known_sizes,
    product,
    shape_argument,
    shaped,
    sized,
    unknown,
)
from te_sched.relax.operators import make_call, register_operator
from te_sched.signatures import is_index, is_sequence
from te_sched.tir.index_map import IndexMap as _make_index_map

# Shapes


def broadcast_to(x: Value, shape: Shape) -> GraphCall:
    """The tensor with dimensions of size 1 repeated, and new dimensions in front."""
    return make_call("relax.broadcast_to", [x, as_shape(shape)])


@register_operator("relax.broadcast_to", TMixedPrecisionPolicy=FOLLOWS)
def _infer_broadcast_to(call: GraphCall, builder: Any) -> StructInfo:
    data, target = tensor_of(call, 0), shape_argument(call, 1)
    if -1 not in (data.ndim, target.ndim) and data.ndim > target.ndim:
        raise argument_error(call, 1, f"a shape of at least {data.ndim} sizes")
    sizes = known_sizes(data)
    if sizes is not None and target.values is not None:
        _check_broadcast(call, builder, sizes, target.values)
    return shaped(data, call.args[1])


def _check_broadcast(call: GraphCall, builder: Any, sizes: Any, target: Any) -> None:
    for one, wanted in zip(reversed(sizes), reversed(target), strict=False):
        is_open = ops.is_const(one if isinstance(one, IntImm) else wanted, 1)
        if not is_open:
            check_equal(call, builder, one, wanted, "the sizes")


def reshape(x: Value, shape: Shape) -> GraphCall:
    """The tensor with other sizes and the same elements.

    A size 0 is that of the tensor at the same place, one size -1 is what remains.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2, 3, 4], "float32"))
    >>> reshape(x, (0, -1)).args[1]
    R.shape([2, 12])
    """
    return make_call("relax.reshape", [x, _resolved(x, as_shape(shape))])


def _resolved(x: Any, shape: Any) -> Any:
    """A shape without the sizes 0 and -1."""
    if not isinstance(shape, ShapeExpr):
        return shape
    values = list(shape.values)
    if any(isinstance(one, IntImm) and one.value < -1 for one in values):
        raise GraphError(
            f"shape {shape} has a negative size", "only -1 has a meaning", "give sizes"
        )
    rest = [at for at, one in enumerate(values) if ops.is_const(one, -1)]
    kept = [at for at, one in enumerate(values) if ops.is_const(one, 0)]
    if len(rest) > 1:
        raise GraphError(f"shape {shape} has several sizes -1", "", "give at most one size -1")
    if not rest and not kept:
        return shape
    info = getattr(x, "struct_info_", None)
    sizes = known_sizes(info) if isinstance(info, TensorStructInfo) else None
    if sizes is None:
        raise GraphError(
            f"shape {shape} has a size 0 or -1, but the shape of the tensor is not known",
            f"the tensor is {info}",
            "match its shape first: builder.match_cast(value, struct_info)",
        )
    for at in kept:
        if at >= len(sizes):
            raise GraphError(
                f"shape {shape} has a size 0 at place {at}, the tensor has {len(sizes)} dimensions",
                f"the tensor is {info}",
                "give the size",
            )
        values[at] = sizes[at]
    if rest:
        others = [one for at, one in enumerate(values) if at != rest[0]]
        values[rest[0]] = _quotient(list(sizes), others)
    return ShapeExpr(tuple(values))


def _quotient(sizes: Sequence[Any], others: Sequence[Any]) -> Expr:
    """A product by another one; equal factors are cancelled."""
    upper, lower = _factors(sizes), []
    for one in _factors(others):
        at = next((at for at, other in enumerate(upper) if _is_same(one, other)), None)
        if at is None:
            lower.append(one)
        else:
            del upper[at]
    return ops.floordiv(product(upper), product(lower))


def _factors(sizes: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for one in sizes:
        found += _factors([one.a, one.b]) if isinstance(one, Mul) else [one]
    number = 1
    for one in found:
        number *= one.value if isinstance(one, IntImm) else 1
    symbols = [one for one in found if not isinstance(one, IntImm)]
    return symbols if number == 1 else [ops.const(number, "int64"), *symbols]


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (
        isinstance(one, IntImm) and isinstance(other, IntImm) and one.value == other.value
    )


@register_operator("relax.reshape", TMixedPrecisionPolicy=FOLLOWS)
def _infer_reshape(call: GraphCall, builder: Any) -> StructInfo:
    if len(call.args) != 2:
        raise GraphError(
            f"{call.op} is called with {len(call.args)} arguments",
            "it takes a tensor and a shape",
            "give both",
        )
    data, target = tensor_of(call, 0), shape_argument(call, 1)
    sizes = known_sizes(data)
    if sizes is not None and target.values is not None:
        check_equal(
            call, builder, product(sizes), product(target.values), "the numbers of elements"
        )
    shape = call.args[1] if target.values is None else ShapeExpr(target.values)
    return shaped(data, shape)


def flatten(x: Value) -> GraphCall:
    """The tensor as one of one dimension."""
    return make_call("relax.flatten", [x])


@register_operator("relax.flatten", TMixedPrecisionPolicy=FOLLOWS)
def _infer_flatten(call: GraphCall, builder: Any) -> StructInfo:
    data = tensor_of(call, 0)
    if data.ndim == 0:
        return sized(data, [1])
    if data.ndim == 1:
        return data
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, 1)
    return sized(data, [builder.analyzer.simplify(product(sizes))])


def expand_dims(x: Value, axis: Numbers) -> GraphCall:
    """The tensor with new dimensions of size 1, at the places `axis` of the result."""
    return make_call("relax.expand_dims", [x], axis=as_axes(axis))


@register_operator("relax.expand_dims", TMixedPrecisionPolicy=FOLLOWS)
def _infer_expand_dims(call: GraphCall) -> StructInfo:
    data, axes = tensor_of(call, 0), call.attrs.axis
    if not axes:
        return data
    if data.ndim == -1:
        return unknown(data)
    ndim = data.ndim + len(axes)
    places = axes_of(call, axes, ndim)
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, ndim)
    left = iter(sizes)
    return sized(data, [1 if at in places else next(left) for at in range(ndim)])


def squeeze(x: Value, axis: Numbers | None = None) -> GraphCall:
    """The tensor without dimensions of size 1: those of `axis`, or all of them."""
    return make_call("relax.squeeze", [x], axis=as_axes(axis))


@register_operator("relax.squeeze", TMixedPrecisionPolicy=FOLLOWS)
def _infer_squeeze(call: GraphCall, builder: Any) -> StructInfo:
    data, axes = tensor_of(call, 0), call.attrs.axis
    if axes is not None and not axes:
        return data
    sizes = known_sizes(data)
    if axes is None:
        return _infer_squeeze_all(call, data, sizes)
    if data.ndim == -1:
        return unknown(data)
    places = axes_of(call, axes, data.ndim)
    for at, one in enumerate(sizes or ()):
        if at in places:
            check_equal(call, builder, one, ops.const(1, "int64"), "the squeezed size and 1")
    if not isinstance(data.shape, ShapeExpr) or sizes is None:
        return unknown(data, data.ndim - len(places))
    return sized(data, [one for at, one in enumerate(sizes) if at not in places])


def _infer_squeeze_all(call: GraphCall, data: TensorStructInfo, sizes: Any) -> StructInfo:
    if sizes is None or not all(isinstance(one, IntImm) for one in sizes):
        return unknown(data)
    left = [one for one in sizes if not ops.is_const(one, 1)]
    if len(left) == len(sizes):
        return data
    return sized(data, left) if isinstance(data.shape, ShapeExpr) else unknown(data)


def permute_dims(x: Value, axes: Numbers | None = None) -> GraphCall:
    """The tensor with its dimensions in another order; by default reversed."""
    return make_call("relax.permute_dims", [x], axes=as_axes(axes))


@register_operator("relax.permute_dims", TMixedPrecisionPolicy=FOLLOWS)
def _infer_permute_dims(call: GraphCall) -> StructInfo:
    data, axes = tensor_of(call, 0), call.attrs.axes
    if axes is None:
        if data.ndim == -1:
            return unknown(data)
        axes = range(data.ndim)[::-1]
    elif data.ndim == -1:
        raise argument_error(call, 0, "a tensor of a known number of dimensions")
    elif data.ndim != len(axes):
        raise GraphError(
            f"{call.op} has {len(axes)} axes, the tensor has {data.ndim} dimensions",
            f"the tensor is {data}",
            "give each axis once",
        )
    places = axes_of(call, axes, len(axes))
    if places == sorted(places):
        return data
    sizes = shape_of(data)
    return unknown(data, len(axes)) if sizes is None else sized(data, [sizes[at] for at in places])


def layout_transform(
    x: Value,
    index_map: Callable[..., Any] | IndexMap,
    pad_value: Value | None = None,
    axis_separators: Any = None,
    input_axis_separators: Any = None,
) -> GraphCall:
    """The tensor with its elements at other places.

    Parameters
    ----------
    index_map : the new indices, as a function of the old ones.
    pad_value : the elements that have no old index; by default they are not defined: passes may
        rely on that, `LegalizeOps` makes them 0.
    axis_separators : the dimensions of the result before which the index into memory is split.
    input_axis_separators : those of the tensor.
    """
    if callable(index_map):
        index_map = _make_index_map.from_func(index_map, index_dtype="int64")
    if pad_value is not None and not isinstance(pad_value, PrimValue):
        pad_value = _padding(x, pad_value)
    return make_call(
        "relax.layout_transform",
        [x],
        index_map=index_map,
        pad_value=pad_value,
        axis_separators=as_axes(axis_separators or ()),
        input_axis_separators=as_axes(input_axis_separators or ()),
    )


def _padding(x: Any, value: Any) -> PrimValue:
    """A number with the dtype of a tensor, if it is one of that kind."""
    info = getattr(x, "struct_info_", None)
    dtype = info.dtype if isinstance(info, TensorStructInfo) else ""
    if isinstance(value, int) and (not dtype or "int" in dtype or "float" in dtype):
        return PrimValue(ops.const(value, dtype or "int64"))
    if isinstance(value, float) and (not dtype or "float" in dtype):
        return PrimValue(ops.const(value, dtype or "float32"))
    raise GraphError(
        f"pad_value is {repr_of(value)}, expected a number of {dtype}",
        f"it is {kind_of(value)}",
        "give a number of the dtype of the tensor",
    )


@register_operator("relax.layout_transform", TMixedPrecisionPolicy=FOLLOWS)
def _infer_layout_transform(call: GraphCall, builder: Any) -> StructInfo:
    data, index_map = tensor_of(call, 0), call.attrs.index_map
    value = call.attrs.pad_value
    if value is not None and data.dtype and value.value.dtype != data.dtype:
        raise GraphError(
            f"pad_value {value.value} of {call.op} has dtype {value.value.dtype}, "
            f"expected {data.dtype}",
            f"the tensor is {data}",
            "give a value of the dtype of the tensor",
        )
    if data.ndim not in (-1, len(index_map.initial_indices)):
        raise GraphError(
            f"the index map of {call.op} takes {len(index_map.initial_indices)} indices, "
            f"the tensor has {data.ndim} dimensions",
            f"the tensor is {data}",
            "give a map of as many indices as the tensor has dimensions",
        )
    sizes = known_sizes(data)
    if sizes is None:
        return unknown(data, len(index_map.final_indices))
    return sized(data, [builder.analyzer.simplify(one) for one in index_map.map_shape(sizes)])


# Joins and splits


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


@register_operator("relax.concat", TMixedPrecisionPolicy=FOLLOWS)
def _infer_concat(call: GraphCall, builder: Any) -> StructInfo:
    infos = fields_of(call, 0)
    dtype, vdevice = common_dtype(call, infos), common_vdevice(call, infos)
    ranks = {one.ndim for one in infos} - {-1}
    if len(ranks) > 1:
        raise GraphError(
            f"{call.op} joins tensors of {sorted(ranks)} dimensions",
            f"they are {', '.join(str(one) for one in infos)}",
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
    known = [known_sizes(one) for one in infos]
    joined = _joined(call, builder, [one for one in known if one is not None], axis)
    is_static = all(isinstance(one.shape, ShapeExpr) for one in infos)
    if ndim == -1 or joined is None or not is_static:
        return TensorStructInfo(None, dtype, vdevice, ndim)
    return TensorStructInfo(ShapeExpr(tuple(joined)), dtype, vdevice)


def _joined(call: GraphCall, builder: Any, shapes: list[Any], axis: Any) -> list[Any] | None:
    """The sizes of joined tensors; None if those of other axes are not known to be equal."""
    if not shapes:
        return None
    is_known = True
    found = list(shapes[0])
    for other in shapes[1:]:
        for at, (one, size) in enumerate(zip(shapes[0], other, strict=True)):
            if at == axis:
                is_twice = found[at] is size
                found[at] = ops.multiply(size, 2) if is_twice else ops.add(found[at], size)
                continue
            check_equal(call, builder, one, size, "the sizes")
            is_known = is_known and builder.analyzer.can_prove_equal(one, size)
    if not is_known:
        return None
    return found


def split(x: Value, indices_or_sections: Numbers, axis: int = 0) -> GraphCall:
    """Parts of a tensor along an axis, as a tuple.

    Parameters
    ----------
    indices_or_sections : the number of parts, of which the last may be smaller; or the indices
        at which a part begins.
    """
    if is_sequence(indices_or_sections):
        places = given_sizes(indices_or_sections, "indices_or_sections")
        parts: Any = tuple([ops.const(one, "int64") for one in places])
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


@register_operator("relax.split", TMixedPrecisionPolicy=FOLLOWS)
def _infer_split(call: GraphCall, builder: Any) -> StructInfo:
    data, parts = tensor_of(call, 0), call.attrs.indices_or_sections
    axis = axis_of(call, call.attrs.axis, data.ndim) if data.ndim != -1 else 0
    count = len(parts) + 1 if isinstance(parts, tuple) else parts.value
    if count == 1:
        return TupleStructInfo((data,))
    sizes = shape_of(data)
    if sizes is None:
        return TupleStructInfo((unknown(data, data.ndim),) * count)
    extents = extents_between if isinstance(parts, tuple) else _extents_of
    found = [
        sized(data, [*sizes[:axis], builder.analyzer.simplify(one), *sizes[axis + 1 :]])
        for one in extents(sizes[axis], parts)
    ]
    return TupleStructInfo(tuple(found))


def _extents_of(size: Any, parts: IntImm) -> list[Any]:
    """The sizes of equal parts, of which the last one is what remains."""
    count = parts.value
    one = ops.ceildiv(size, parts)
    rest = ops.subtract(size, ops.multiply(one, ops.const(count - 1, "int64")))
    return [one] * (count - 1) + [rest]


def extents_between(size: Any, places: tuple[IntImm, ...]) -> list[Any]:
    """The sizes of the parts between places."""
    ends = [ops.const(0, "int64"), *places, size]
    found = []
    for begin, end in pairwise([clamped_place(one, size) for one in ends]):
        found.append(ops.maximum(ops.subtract(end, begin), ops.const(0, "int64")))
    return found


def clamped_place(place: Any, size: Any) -> Any:
    """A place at which a part begins, inside of an axis."""
    number = place.value if isinstance(place, IntImm) else 0
    return ops.minimum(ops.const(max(number, 0), "int64") if number < 0 else place, size)


# Repetition and order


def repeat(data: Value, repeats: int, axis: int | None = None) -> GraphCall:
    """Each element of an axis several times; None repeats the elements of the flattened tensor."""
    count = given_sizes(repeats, "repeats")[0]
    return make_call(
        "relax.repeat", [data], repeats=count, axis=None if axis is None else int(axis)
    )


@register_operator("relax.repeat")
def _infer_repeat(call: GraphCall, builder: Any) -> StructInfo:
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


def tile(data: Value, repeats: Numbers) -> GraphCall:
    """The whole tensor several times along each axis."""
    return make_call("relax.tile", [data], repeats=given_sizes(repeats, "repeats"))


@register_operator("relax.tile")
def _infer_tile(call: GraphCall, builder: Any) -> StructInfo:
    data, repeats = tensor_of(call, 0), call.attrs.repeats
    if data.ndim == -1:
        return unknown(data)
    ndim = max(data.ndim, len(repeats))
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, ndim)
    whole = [ops.const(1, "int64")] * (ndim - len(sizes)) + list(sizes)
    times = [1] * (ndim - len(repeats)) + list(repeats)
    found = [
        builder.analyzer.simplify(ops.multiply(one, ops.const(count, "int64")))
        for one, count in zip(whole, times, strict=True)
    ]
    return sized(data, found)


def flip(data: Value, axis: int) -> GraphCall:
    """The tensor with an axis in reverse order."""
    return make_call("relax.flip", [data], axis=int(axis))


@register_operator("relax.flip")
def _infer_flip(call: GraphCall) -> StructInfo:
    data = tensor_of(call, 0)
    if data.ndim != -1:
        axis_of(call, call.attrs.axis, data.ndim)
    return data


# Sums over broadcast dimensions


def collapse_sum_like(data: Value, collapse_target: Value) -> GraphCall:
    """The sum over the dimensions along which a tensor like `collapse_target` was broadcast."""
    return make_call("relax.collapse_sum_like", [data, collapse_target])


@register_operator("relax.collapse_sum_like")
def _infer_collapse_sum_like(call: GraphCall, builder: Any) -> StructInfo:
    data, target = tensors_of(call, 2)
    vdevice = common_vdevice(call, [data, target])
    _check_collapse(call, builder, data, known_sizes(target), target.ndim)
    return TensorStructInfo(
        target.shape, data.dtype, vdevice, -1 if target.shape is not None else target.ndim
    )


def collapse_sum_to(data: Value, shape: Shape) -> GraphCall:
    """The sum over the dimensions along which a tensor of a shape was broadcast."""
    return make_call("relax.collapse_sum_to", [data, as_shape(shape)])


@register_operator("relax.collapse_sum_to")
def _infer_collapse_sum_to(call: GraphCall, builder: Any) -> StructInfo:
    data, target = tensor_of(call, 0), shape_argument(call, 1)
    _check_collapse(call, builder, data, target.values, target.ndim)
    return shaped(data, call.args[1])


def _check_collapse(
    call: GraphCall, builder: Any, data: TensorStructInfo, target: Any, ndim: int
) -> None:
    if -1 not in (data.ndim, ndim) and data.ndim < ndim:
        raise argument_error(call, 1, f"at most {data.ndim} dimensions")
    sizes = known_sizes(data)
    if sizes is None or target is None:
        return
    for one, wanted in zip(reversed(sizes), reversed(target), strict=False):
        if not ops.is_const(wanted, 1) and not builder.analyzer.can_prove_equal(one, wanted):
            raise argument_error(
                call, 1, f"the size {size_text(one)} or 1 instead of {size_text(wanted)}"
            )


# Gathers and scatters


def gather_elements(data: Value, indices: Value, axis: int = 0) -> GraphCall:
    """Elements at the places of `indices`, with the axis replaced by the index."""
    return make_call("relax.gather_elements", [data, indices], axis=int(axis))


@register_operator("relax.gather_elements")
def _infer_gather_elements(call: GraphCall, builder: Any) -> StructInfo:
    data, indices = tensors_of(call, 2)
    check_integers(call, 1, indices)
    vdevice = common_vdevice(call, [data, indices])
    if -1 in (data.ndim, indices.ndim):
        return TensorStructInfo(None, data.dtype, vdevice)
    if data.ndim != indices.ndim:
        raise argument_error(call, 1, f"a tensor of {data.ndim} dimensions")
    axis = axis_of(call, call.attrs.axis, data.ndim)
    sizes, wanted = shape_of(data), shape_of(indices)
    for at in range(data.ndim) if sizes and wanted else ():
        if at != axis:
            check_equal(call, builder, sizes[at], wanted[at], "the sizes")  # type: ignore[index]
    if wanted is None:
        return TensorStructInfo(None, data.dtype, vdevice, data.ndim)
    return TensorStructInfo(indices.shape, data.dtype, vdevice)


def gather_nd(data: Value, indices: Value, batch_dims: int = 0) -> GraphCall:
    """Slices at the indices that the last axis of `indices` holds, after `batch_dims` axes."""
    return make_call("relax.gather_nd", [data, indices], batch_dims=int(batch_dims))


@register_operator("relax.gather_nd")
def _infer_gather_nd(call: GraphCall, builder: Any) -> StructInfo:
    data, indices = tensors_of(call, 2)
    check_integers(call, 1, indices)
    batch, vdevice = call.attrs.batch_dims, common_vdevice(call, [data, indices])
    if batch < 0 or (-1 not in (data.ndim, indices.ndim) and batch > min(data.ndim, indices.ndim)):
        raise GraphError(
            f"{call.op} has batch_dims={batch}, the tensors have {data.ndim} and {indices.ndim} "
            "dimensions",
            "both begin with the same dimensions of batches",
            "give a smaller number",
        )
    depth = (shape_of(indices) or [None])[-1]
    if data.ndim == -1 or not isinstance(depth, IntImm):
        return TensorStructInfo(None, data.dtype, vdevice)
    used = batch + int(depth.value)
    if used > data.ndim:
        raise argument_error(call, 1, f"a tensor with a last size of at most {data.ndim - batch}")
    sizes, places = shape_of(data), shape_of(indices) or ()
    for one, other in zip(places[:batch], (sizes or ())[:batch], strict=False):
        check_equal(call, builder, one, other, "the sizes of batches")
    if sizes is None:
        rank = len(places) - 1 + data.ndim - used
        return TensorStructInfo(None, data.dtype, vdevice, rank)
    return TensorStructInfo(ShapeExpr((*places[:-1], *sizes[used:])), data.dtype, vdevice)


def scatter_elements(
    data: Value, indices: Value, updates: Value, axis: int = 0, reduction: str = "update"
) -> GraphCall:
    """The tensor with elements exchanged: the axis is replaced by the index.

    `reduction` says how an old and a new element are combined: "update", "add", "mul", "mean",
    "max" or "min".
    """
    return make_call(
        "relax.scatter_elements", [data, indices, updates], axis=int(axis), reduction=str(reduction)
    )


@register_operator("relax.scatter_elements")
def _infer_scatter_elements(call: GraphCall, builder: Any) -> StructInfo:
    data, indices, updates = infos = tensors_of(call, 3)
    check_integers(call, 1, indices)
    common_dtype(call, [data, updates])
    vdevice = common_vdevice(call, infos)
    ranks = {one.ndim for one in infos} - {-1}
    if len(ranks) > 1:
        raise argument_error(call, 1, "as many dimensions as the tensor and the updates have")
    if data.ndim != -1:
        axis_of(call, call.attrs.axis, data.ndim)
    places, values = shape_of(indices), shape_of(updates)
    if places is not None and values is not None:
        for one, other in zip(places, values, strict=True):
            check_equal(call, builder, one, other, "the sizes of indices and updates")
    if shape_of(data) is None:
        return TensorStructInfo(None, data.dtype, vdevice, data.ndim)
    return TensorStructInfo(data.shape, data.dtype, vdevice)


def scatter_nd(data: Value, indices: Value, updates: Value, reduction: str = "update") -> GraphCall:
    """The tensor with slices exchanged, at the indices that the last axis of `indices` holds."""
    return make_call("relax.scatter_nd", [data, indices, updates], reduction=str(reduction))


@register_operator("relax.scatter_nd")
def _infer_scatter_nd(call: GraphCall, builder: Any) -> StructInfo:
    data, indices, updates = infos = tensors_of(call, 3)
    check_integers(call, 1, indices)
    common_dtype(call, [data, updates])
    vdevice = common_vdevice(call, infos)
    sizes, places, values = (shape_of(one) for one in infos)
    if sizes is None:
        return TensorStructInfo(None, data.dtype, vdevice, data.ndim)
    if places is not None and values is not None and isinstance(places[-1], IntImm):
        depth = places[-1].value
        expected = (*places[:-1], *sizes[depth:])
        if depth > len(sizes) or len(values) != len(expected):
            raise argument_error(call, 2, f"a tensor of the shape {ShapeExpr(expected)}")
        for one, other in zip(values, expected, strict=True):
            check_equal(call, builder, one, other, "the sizes of updates and of the slices")
    return TensorStructInfo(data.shape, data.dtype, vdevice)


def one_hot(
    indices: Value, on_value: Value, off_value: Value, depth: int, axis: int = -1
) -> GraphCall:
    """A new axis of `depth` values: `on_value` at the index, `off_value` elsewhere."""
    numbers = [_number(one) for one in (on_value, off_value)]
    return make_call(
        "relax.one_hot", [indices, *numbers], depth=given_sizes(depth, "depth")[0], axis=int(axis)
    )


def _number(value: Any) -> Any:
    """A number of a graph; those of Python's floats are float32, as TVM has it."""
    found = value if isinstance(value, PrimValue) else as_expr(value)
    if isinstance(found, PrimValue) and isinstance(found.value, FloatImm):
        return PrimValue(ops.const(found.value.value, "float32"))
    return found


@register_operator("relax.one_hot")
def _infer_one_hot(call: GraphCall) -> StructInfo:
    indices = tensor_of(call, 0)
    values = [one.struct_info for one in call.args[1:3]]
    for place, one in enumerate(values):
        if not isinstance(one, PrimStructInfo):
            raise argument_error(call, place + 1, "a number")
    if values[0].dtype != values[1].dtype:
        raise argument_error(call, 2, f"a number of {values[0].dtype}")
    check_integers(call, 0, indices)
    depth = call.attrs.depth
    if depth <= 0:
        raise GraphError(f"{call.op} has depth={depth}", "", "give a positive number")
    dtype = values[0].dtype
    sizes = shape_of(indices)
    if sizes is None:
        ndim = -1 if indices.ndim == -1 else indices.ndim + 1
        return unknown(indices, ndim, dtype)
    at = axis_of(call, call.attrs.axis, len(sizes) + 1)
    return sized(indices, [*sizes[:at], depth, *sizes[at:]], dtype)
