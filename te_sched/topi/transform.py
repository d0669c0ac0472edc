"""Operators that move elements: transpose, reshape, slices, concatenation, gathering.

Each output element is an input element or a constant.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, FloatImm, IntImm
from te_sched.te.tensor import Tensor, tensor_label
from te_sched.topi.broadcast import broadcast_index, broadcast_shape
from te_sched.topi.slices import cut
from te_sched.topi.tag import BROADCAST
from te_sched.topi.utils import (
    Count,
    Number,
    Size,
    Sizes,
    as_constant,
    check_choice,
    check_lengths,
    check_rank,
    check_same,
    check_tensor,
    compute,
    get_const_int,
    get_const_tuple,
    is_different,
    normalized_axis,
    prod,
    ravel_index,
    shape_text,
    simplify,
    tensor_of,
    wrapped_index,
)


def transpose(a: Tensor, axes: Sequence[int] | None = None) -> Tensor:
    """The tensor with its dimensions permuted, by default reversed.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.transpose(A).op.body[0]
    A[ax1, ax0]
    """
    data = check_tensor(a, "transpose")
    axis_list = range(data.ndim)[::-1] if axes is None or len(axes) == 0 else axes
    order = [normalized_axis(axis, data.ndim, "transpose") for axis in axis_list]
    if sorted(order) != list(range(data.ndim)):
        raise DeclarationError(
            f"topi.transpose axes {tuple(axis_list)} are not a permutation of the "
            f"axes of {data.name}",
            f"it has {data.ndim} dimensions",
            f"give a permutation of 0 to {data.ndim - 1}",
            tensor_label(data),
        )
    places = [order.index(at) for at in range(data.ndim)]
    shape = [data.shape[at] for at in order]
    return tensor_of(shape, lambda *i: data(*[i[at] for at in places]), "T_transpose")


def reshape(a: Tensor, newshape: Sizes) -> Tensor:
    """The elements, in row-major order, in another shape; one extent may be -1 and is inferred.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.reshape(A, (2, -1)).shape
    [2, 16]
    """
    data = check_tensor(a, "reshape")
    shape = _known_shape(data, newshape)
    if is_different(prod(data.shape), prod(shape)):
        raise DeclarationError(
            f"topi.reshape: {shape_text(shape)} changes the number of elements of {data.name}",
            f"its shape is {shape_text(data.shape)}",
            "keep the product of the extents",
            tensor_label(data),
        )
    if any(as_constant(simplify(extent)) == 0 for extent in (*shape, *data.shape)):
        return tensor_of(shape, lambda *i: te.const(0, data.dtype), "T_reshape")
    return tensor_of(
        shape, lambda *i: data(*wrapped_index(ravel_index(i, shape), data.shape)), "T_reshape"
    )


def _known_shape(data: Tensor, newshape: Sizes) -> list[Any]:
    shape = list(newshape) if isinstance(newshape, list | tuple) else [newshape]
    unknown = [at for at, extent in enumerate(shape) if as_constant(extent) == -1]
    if len(unknown) > 1:
        raise DeclarationError(
            "topi.reshape: newshape has more than one -1",
            "only one extent can be inferred",
            "give the other extents",
        )
    if unknown:
        product = prod(extent for at, extent in enumerate(shape) if at != unknown[0])
        shape[unknown[0]] = simplify(ops.floordiv(prod(data.shape), product))
    return shape


def expand_dims(a: Tensor, axis: int, num_newaxis: Count = 1) -> Tensor:
    """The tensor with new dimensions of extent 1 before `axis`.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.expand_dims(A, axis=1).shape
    [4, 1, 8]
    """
    data = check_tensor(a, "expand_dims")
    at = normalized_axis(axis, data.ndim + 1, "expand_dims")
    shape = [*data.shape[:at], *[1] * num_newaxis, *data.shape[at:]]
    return tensor_of(
        shape, lambda *i: data(*i[:at], *i[at + num_newaxis :]), "T_expand_dims", BROADCAST
    )


def squeeze(a: Tensor, axis: Sizes | None = None) -> Tensor:
    """The tensor without its dimensions of extent 1, or without those of `axis`.

    >>> A = te.placeholder((1, 8, 1), name="A")
    >>> topi.squeeze(A).shape, topi.squeeze(A, axis=0).shape
    ([8], [8, 1])
    """
    data = check_tensor(a, "squeeze")
    if axis is None:
        lost = {at for at, extent in enumerate(data.shape) if as_constant(extent) == 1}
    else:
        axis_list = axis if isinstance(axis, list | tuple) else [axis]
        lost = {normalized_axis(number, data.ndim, "squeeze") for number in axis_list}
    for at in lost:
        check_same(data.shape[at], 1, "squeeze", f"extent of axis {at} of {data.name}")
    kept = [at for at in range(data.ndim) if at not in lost]

    def element(*i: Any) -> Any:
        outer = dict(zip(kept, i, strict=True))
        return data(*[outer.get(at, 0) for at in range(data.ndim)])

    return tensor_of([data.shape[at] for at in kept], element, "T_squeeze")


def concatenate(a_tuple: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors concatenated along an axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.concatenate([A, A], axis=1).shape
    [4, 16]
    """
    tensors = _tensors(a_tuple, "concatenate")
    first = tensors[0]
    along = normalized_axis(axis, first.ndim, "concatenate")
    for other in tensors[1:]:
        _check_alike(first, other, along)
    ends = itertools.accumulate(tensor.shape[along] for tensor in tensors)
    *starts, total = [simplify(end) for end in ends]
    shape = [*first.shape[:along], total, *first.shape[along + 1 :]]

    def element(*i: Any) -> Any:
        value: Any = first(*i)
        for tensor, start in zip(tensors[1:], starts, strict=True):
            inside = i[along] - start
            chosen = tensor(*i[:along], inside, *i[along + 1 :])
            value = te.if_then_else(inside >= 0, chosen, value)
        return value

    return tensor_of(shape, element, "T_concat")


def _tensors(tensor_list: Any, what: str) -> list[Tensor]:
    tensors = [check_tensor(tensor, what) for tensor in tensor_list]
    if not tensors:
        raise DeclarationError(
            f"topi.{what} needs at least one tensor, got none", "", "give at least one tensor"
        )
    return tensors


def _check_alike(first: Tensor, other: Tensor, along: int | None) -> None:
    pairs = enumerate(zip(first.shape, other.shape, strict=False))
    if first.ndim != other.ndim or any(at != along and is_different(a, b) for at, (a, b) in pairs):
        raise DeclarationError(
            f"cannot join {first.name} and {other.name}: their shapes differ",
            f"their shapes are {shape_text(first.shape)} and {shape_text(other.shape)}",
            "make the shapes equal" + ("" if along is None else f" except in dimension {along}"),
            tensor_label(other),
        )


def stack(a: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape stacked along a new dimension.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.stack([A, A, A]).shape
    [3, 4, 8]
    """
    tensors = _tensors(a, "stack")
    first = tensors[0]
    for other in tensors[1:]:
        _check_alike(first, other, None)
    at = normalized_axis(axis, first.ndim + 1, "stack")

    def element(*i: Any) -> Any:
        rest = (*i[:at], *i[at + 1 :])
        value: Any = first(*rest)
        for number, tensor in enumerate(tensors[1:], 1):
            value = te.if_then_else(ops.equal(i[at], number), tensor(*rest), value)
        return value

    shape = [*first.shape[:at], len(tensors), *first.shape[at:]]
    return tensor_of(shape, element, "T_stack")


def split(ary: Tensor, indices_or_sections: Sizes, axis: int = 0) -> list[Tensor]:
    """The tensor split along an axis into equal sections, or before each of the indices.

    >>> A = te.placeholder((4, 8), name="A")
    >>> [one.shape for one in topi.split(A, [3], axis=1)]
    [[4, 3], [4, 5]]
    """
    data = check_tensor(ary, "split")
    along = normalized_axis(axis, data.ndim, "split")
    extent = data.shape[along]
    if isinstance(indices_or_sections, list | tuple):
        bounds = [0, *get_const_tuple(indices_or_sections), extent]
        name = "T_split"
    else:
        bounds = _equal_bounds(data, along, get_const_int(indices_or_sections))
        name = "T_split_sections"
    pieces = itertools.pairwise(bounds)
    return [_piece(data, along, begin, end, name) for begin, end in pieces]


def _equal_bounds(data: Tensor, along: int, sections: int) -> list[int]:
    extent = get_const_int(data.shape[along])
    if sections <= 0 or extent % sections:
        raise DeclarationError(
            f"topi.split: {sections} sections do not divide extent {extent} of axis {along}"
            f" of {data.name}",
            "",
            "give a divisor, or the indices to cut at",
            tensor_label(data),
        )
    return [extent // sections * at for at in range(sections + 1)]


def _piece(data: Tensor, along: int, begin: Any, end: Any, name: str) -> Tensor:
    shape = [*data.shape[:along], simplify(end - begin), *data.shape[along + 1 :]]
    return tensor_of(shape, lambda *i: data(*i[:along], i[along] + begin, *i[along + 1 :]), name)


def strided_slice(
    a: Tensor,
    begin: Sequence[Size],
    end: Sequence[Size],
    strides: Sequence[Any] | None = None,
    axes: Sequence[int] | None = None,
    slice_mode: str = "end",
    assume_inbound: bool = True,
) -> Tensor:
    """The slice begin:end:strides of each dimension, as in numpy.

    axes : the dimensions to slice, by default the first ones.
    slice_mode : "end", or "size" if `end` has numbers of elements (-1 for all remaining).
    assume_inbound : for bounds or extents that are not constants: 0 <= begin <= end <= extent.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.strided_slice(A, begin=[1, 0], end=[4, 8], strides=[1, 2]).op.body[0]
    A[ax0 + 1, ax1 * 2]
    """
    data = check_tensor(a, "strided_slice")
    check_choice(slice_mode, ("end", "size"), "strided_slice", "slice_mode")
    where = range(len(begin)) if axes is None else axes
    check_lengths("strided_slice", begin=begin, end=end, axes=where)
    if strides is not None and len(strides) > len(begin):
        check_lengths("strided_slice", begin=begin, strides=strides)
    chosen = [normalized_axis(axis, data.ndim, "strided_slice") for axis in where]
    steps = [*(strides or ()), *[1] * (len(begin) - len(strides or ()))]
    numbers = (*begin, *end, *steps, *data.shape)
    if slice_mode == "end" and any(as_constant(number) is None for number in numbers):
        bounds = zip(begin, end, steps, [data.shape[at] for at in chosen], strict=True)
        cuts = [(*cut(*bound, assume_inbound), bound[2]) for bound in bounds]
        return _dynamic_slice(data, dict(zip(chosen, cuts, strict=True)), axes)
    ranges = [range(get_const_int(extent)) for extent in [data.shape[at] for at in chosen]]
    slices = {
        at: _cut(whole, first, last, step, slice_mode)
        for at, whole, first, last, step in zip(chosen, ranges, begin, end, steps, strict=True)
    }
    shape = [len(slices[at]) if at in slices else data.shape[at] for at in range(data.ndim)]

    def element(*i: Any) -> Any:
        return data(
            *[
                index * slices[at].step + slices[at].start if at in slices else index
                for at, index in enumerate(i)
            ]
        )

    name = "T_strided_slice" if axes is None else "T_strided_slice_with_axes"
    return tensor_of(shape, element, name)


def _dynamic_slice(data: Tensor, cuts: dict[int, Any], axes: Sequence[int] | None) -> Tensor:
    """The slice of given first indices, numbers and strides by dimension."""
    shape = [cuts[at][1] if at in cuts else size for at, size in enumerate(data.shape)]

    def element(*i: Any) -> Any:
        places = list(i)
        for at, (first, _, step) in cuts.items():
            places[at] = ops.add(ops.multiply(i[at], step), first)
        return data(*places)

    name = "T_dynamic_strided_slice"
    return tensor_of(shape, element, f"{name}_with_axes" if axes else name)


def _cut(whole: builtins.range, begin: Any, end: Any, step: Any, mode: str) -> builtins.range:
    first, last, stride = as_constant(begin), as_constant(end), as_constant(step)
    if first is None or last is None or stride is None:
        raise DeclarationError(
            "topi.strided_slice: begin, end and strides must be constant",
            "the shape of the result depends on them",
            "give integers, or use te.compute",
        )
    if mode == "size":
        first = first + len(whole) if first < 0 else first
        return whole[first : len(whole) if last < 0 else first + last]
    if stride == 0:
        raise DeclarationError(
            "topi.strided_slice: strides must not be 0",
            "",
            "use a positive or negative stride",
        )
    return whole[first:last:stride]


def flip(a: Tensor, axis: int = 0) -> Tensor:
    """The tensor reversed along an axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.flip(A, axis=1).op.body[0]
    A[ax0, 7 - ax1]
    """
    data = check_tensor(a, "flip")
    at = normalized_axis(axis, data.ndim, "flip")
    last = data.shape[at] - 1
    return tensor_of(
        data.shape, lambda *i: data(*i[:at], last - i[at], *i[at + 1 :]), "T_reverse_sequence"
    )


def repeat(a: Tensor, repeats: Count, axis: int) -> Tensor:
    """The tensor with each element repeated along an axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.repeat(A, 3, axis=0).op.body[0]
    A[ax0 // 3, ax1]
    """
    data = check_tensor(a, "repeat")
    at = normalized_axis(axis, data.ndim, "repeat")
    shape = [*data.shape[:at], repeats * data.shape[at], *data.shape[at + 1 :]]
    return tensor_of(
        shape,
        lambda *i: data(*i[:at], ops.floordiv(i[at], repeats), *i[at + 1 :]),
        "T_repeat",
        BROADCAST,
    )


def tile(a: Tensor, reps: Sizes) -> Tensor:
    """The tensor repeated reps[d] times along each dimension d; missing dimensions are prepended.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.tile(A, (2, 1)).op.body[0]
    A[ax0 % 4, ax1 % 8]
    """
    data = check_tensor(a, "tile")
    times = list(reps) if isinstance(reps, list | tuple) else [reps]
    rank = max(data.ndim, len(times))
    counts = [1] * (rank - len(times)) + times
    extents = [1] * (rank - data.ndim) + list(data.shape)
    shape = [simplify(extent * count) for extent, count in zip(extents, counts, strict=True)]
    lead = rank - data.ndim

    def element(*i: Any) -> Any:
        pairs = zip(i[lead:], data.shape, strict=True)
        return data(*[x if ops.is_const(e, 0) else ops.floormod(x, e) for x, e in pairs])

    return tensor_of(shape, element, "T_tile", BROADCAST)


class _Number:
    """A number in place of a tensor without dimensions."""

    ndim, shape = 0, ()

    def __init__(self, value: Expr) -> None:
        self._value, self.dtype = value, value.dtype

    def __call__(self) -> Expr:
        return self._value


def take(
    a: Tensor, indices: Any, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> Tensor:
    """The elements at indices along an axis, or at flat row-major indices if axis is None.

    indices : a tensor, or a number.
    mode : treatment of indices out of bounds: "clip", "wrap", or "fast" (undefined).

    >>> A, I = te.placeholder((4, 8), name="A"), te.placeholder((3,), "int32", name="I")
    >>> topi.take(A, I, axis=0, mode="fast").op.body[0]
    A[I[ax0], ax1]
    """
    data = check_tensor(a, "take")
    where = _Number(indices) if isinstance(indices, Expr) else check_tensor(indices, "take")
    check_choice(mode, ("clip", "wrap", "fast"), "take", "mode")
    if not dtypes.is_integral(where.dtype):
        raise DeclarationError(
            f"topi.take: indices has dtype {where.dtype}, expected integers",
            "",
            'cast it: topi.cast(indices, "int32")',
        )
    if axis is None:
        count = prod(data.shape)
        return tensor_of(
            where.shape,
            lambda *i: data(*wrapped_index(_inside(where(*i), count, mode), data.shape)),
            "T_take",
        )
    at = normalized_axis(axis, data.ndim, "take")
    batch = batch_dims + where.ndim if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(at, where.ndim):
        raise DeclarationError(
            f"topi.take along axis {at} cannot have batch_dims={batch_dims}",
            f"the batch dimensions precede the axis, and indices has {where.ndim} dimensions",
            f"give a number from 0 to {min(at, where.ndim)}",
        )
    extra = where.ndim - batch
    shape = [*data.shape[:at], *where.shape[batch:], *data.shape[at + 1 :]]

    def element(*i: Any) -> Any:
        index = where(*i[:batch], *i[at : at + extra])
        return data(*i[:at], _inside(index, data.shape[at], mode), *i[at + extra :])

    return tensor_of(shape, element, "T_take")


def _inside(index: Any, extent: Any, mode: str) -> Any:
    if mode == "clip":
        return ops.minimum(ops.maximum(0, index), extent - 1)
    if mode == "wrap":
        return ops.truncmod(ops.truncmod(index, extent) + extent, extent)
    return index


def gather(data: Tensor, axis: int, indices: Tensor) -> Tensor:
    """The elements whose position along `axis` is given by `indices`, as numpy.take_along_axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> I = te.placeholder((4, 3), "int32", name="I")
    >>> topi.gather(A, 1, I).op.body[0]
    A[ax0, I[ax0, ax1]]
    """
    source, where = check_tensor(data, "gather"), check_tensor(indices, "gather")
    check_same(where.ndim, source.ndim, "gather", "rank of indices")
    at = normalized_axis(axis, source.ndim, "gather")
    return tensor_of(where.shape, lambda *i: source(*i[:at], where(*i), *i[at + 1 :]), "T_gather")


def gather_nd(a: Tensor, indices: Tensor, batch_dims: int = 0) -> Tensor:
    """The elements, or slices, at index vectors.

    indices : index vectors along the first dimension.

    >>> A = te.placeholder((4, 8), name="A")
    >>> I = te.placeholder((2, 5), "int32", name="I")
    >>> topi.gather_nd(A, I).op.body[0]
    A[I[0, ax0], I[1, ax0]]
    """
    data, where = check_tensor(a, "gather_nd"), check_tensor(indices, "gather_nd")
    depth, points = index_depth(where, "gather_nd"), where.ndim - 1
    if not 0 <= batch_dims <= points or batch_dims + depth > data.ndim:
        raise DeclarationError(
            f"topi.gather_nd: {depth} indices do not fit {data.name} of rank {data.ndim}",
            f"batch_dims is {batch_dims}, and indices has {points} dimensions besides the first",
            "use shorter vectors or fewer batch dimensions",
        )
    shape = [*where.shape[1:], *data.shape[batch_dims + depth :]]

    def element(*i: Any) -> Any:
        index = [where(part, *i[:points]) for part in range(depth)]
        return data(*i[:batch_dims], *index, *i[points:])

    return tensor_of(shape, element, "T_gather_nd")


def index_depth(where: Tensor, what: str) -> int:
    """The length of the index vectors along the first dimension."""
    depth = as_constant(where.shape[0]) if where.ndim else None
    if not depth:
        raise DeclarationError(
            f"topi.{what} cannot take indices of shape {shape_text(where.shape)}",
            "the first extent, the length of the index vectors, must be a constant from 1 on",
            "give a tensor of shape (indices, ...)",
            tensor_label(where),
        )
    return depth


def adv_index(data: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """data[indices[0], indices[1], ...], with the index tensors broadcast.

    >>> A, I = te.placeholder((4, 8), name="A"), te.placeholder((3,), "int32", name="I")
    >>> topi.adv_index(A, [I, I]).op.body[0]
    A[I[ax0], I[ax0]]
    """
    source = check_tensor(data, "adv_index")
    tensors = _tensors(indices, "adv_index")
    if len(tensors) > source.ndim:
        raise DeclarationError(
            f"topi.adv_index has {len(tensors)} index tensors for the {source.ndim} dimensions of"
            f" {source.name}",
            "",
            "give at most one tensor of indices for each dimension",
            tensor_label(source),
        )
    common = broadcast_shape([tensor.shape for tensor in tensors], "adv_index")
    rank = len(common)

    def element(*i: Any) -> Any:
        inner = [tensor(*broadcast_index(tensor, i[:rank], common)) for tensor in tensors]
        return source(*inner, *i[rank:])

    shape = [*common, *source.shape[len(tensors) :]]
    return tensor_of(shape, element, "advanced_index")


def arange(
    start: Number, stop: Number | None = None, step: Number = 1, dtype: str = "float32"
) -> Tensor:
    """The vector start, start + step, ... below stop; arange(n) is arange(0, n).

    >>> topi.arange(2, 10, 2, dtype="int32").op.body[0]
    2 + 2 * ax0
    >>> topi.arange(2, 10, 2).shape
    [4]
    """
    first, last = (0, start) if stop is None else (start, stop)
    if not any(ops.convert(bound).dtype.startswith("float") for bound in (first, last, step)):
        extent = simplify(ops.floordiv(ops.convert(last) - first + step - 1, step))
        if as_constant(step) is not None and get_const_int(step) < 0:
            extent = simplify(ops.floordiv(ops.convert(last) - first + step + 1, step))
    else:
        extent = _steps_of_floats(first, last, step)
    return tensor_of(
        [extent], lambda i: ops.cast(dtype, ops.add(first, ops.mul(step, i))), "T_arange"
    )


def _steps_of_floats(first: Any, last: Any, step: Any) -> int:
    begin, end, width = (ops.convert(bound) for bound in (first, last, step))
    numbers = [
        number.value for number in (begin, end, width) if isinstance(number, IntImm | FloatImm)
    ]
    if len(numbers) < 3 or not all(map(math.isfinite, numbers)) or not numbers[2]:
        raise DeclarationError(
            f"topi.arange from {begin} to {end} in steps of {width} has unknown length",
            "",
            "give finite constants, and a step that is not 0; or integers",
        )
    return math.ceil((numbers[1] - numbers[0]) / numbers[2])


def meshgrid(a_tuple: Sequence[Tensor], indexing: str) -> list[Tensor]:
    """A coordinate tensor for each vector, as numpy.meshgrid.

    indexing : "ij" (matrix), or "xy" (Cartesian: the first two dimensions are exchanged).

    >>> X, Y = te.placeholder((3,), name="X"), te.placeholder((5,), name="Y")
    >>> [one.shape for one in topi.meshgrid([X, Y], "ij")]
    [[3, 5], [3, 5]]
    """
    vectors = _tensors(a_tuple, "meshgrid")
    for vector in vectors:
        if vector.ndim > 1:
            check_rank(vector, 1, "meshgrid")
    check_choice(indexing, ("ij", "xy"), "meshgrid", "indexing")
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    shape = [vectors[at].shape[0] if vectors[at].ndim else 1 for at in order]

    def grid(number: int, vector: Tensor) -> Tensor:
        dim = order.index(number)
        return tensor_of(
            shape, lambda *i: vector(i[dim]) if vector.ndim else vector(), "T_meshgrid"
        )

    return [grid(number, vector) for number, vector in enumerate(vectors)]


def one_hot(
    indices: Tensor, on_value: Number, off_value: Number, depth: int, axis: int, dtype: str
) -> Tensor:
    """on_value where the index along a new dimension equals indices, else off_value.

    depth : extent of the new dimension. axis : its position.

    >>> I = te.placeholder((3,), "int32", name="I")
    >>> topi.one_hot(I, 1, 0, depth=10, axis=-1, dtype="int32").op.body[0]
    T.Select(I[ax0] == ax1, 1, 0)
    """
    where = check_tensor(indices, "one_hot")
    at = normalized_axis(axis, where.ndim + 1, "one_hot")
    on, off = (ops.cast(dtype, ops.convert(value)) for value in (on_value, off_value))
    shape = [*where.shape[:at], depth, *where.shape[at:]]
    return tensor_of(
        shape,
        lambda *i: te.select(ops.equal(where(*i[:at], *i[at + 1 :]), i[at]), on, off),
        "T_one_hot",
    )


def eye(n: Size, m: Size | None = None, k: Size = 0, dtype: str = "float32") -> Tensor:
    """The n x m matrix with ones on diagonal k and zeros elsewhere.

    >>> topi.eye(3).op.body[0]
    T.if_then_else(i == j, T.float32(1), T.float32(0))
    """
    unit, zero = te.const(1, dtype), te.const(0, dtype)
    return compute(
        (n, n if m is None else m),
        lambda i, j: te.if_then_else(ops.equal(i, j - k), unit, zero),
        name="eye",
    )


def trilu(data: Tensor, k: Sizes, upper: bool) -> Tensor:
    """The upper or lower triangle of matrices, bounded by diagonal k, and zeros elsewhere.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.trilu(A, k=0, upper=True).op.body[0]
    T.Select(i0 <= i1, A[i0, i1], T.float32(0))
    """
    source = check_tensor(data, "trilu")
    if source.ndim < 2:
        check_rank(source, 2, "trilu")

    def element(*i: Any) -> Any:
        row, column = i[-2], ops.sub(i[-1], k)
        inside = row <= column if upper else row >= column
        return te.select(inside, source(*i), te.const(0, source.dtype))

    return compute(source.shape, lambda *i: element(*i), name="trilu", tag="elemwise")


def sequence_mask(
    data: Tensor, valid_length: Tensor, mask_value: float = 0, axis: int = 0
) -> Tensor:
    """The tensor with mask_value after the valid length of each sequence.

    axis : of the sequences, 0 or 1; the other one is the batch.

    >>> A, L = te.placeholder((4, 8), name="A"), te.placeholder((8,), "int32", name="L")
    >>> topi.sequence_mask(A, L).op.body[0]
    T.if_then_else(ax0 >= L[ax1], T.float32(0), A[ax0, ax1])
    """
    source = check_tensor(data, "sequence_mask")
    lengths = check_tensor(valid_length, "sequence_mask")
    if axis not in (0, 1) or source.ndim < 2:
        raise DeclarationError(
            f"topi.sequence_mask cannot mask {source.name} along axis {axis}",
            "the first two dimensions are the sequence and the batch",
            "use axis 0 or 1 of a tensor of at least two dimensions",
        )
    mask = te.const(mask_value, source.dtype)
    return tensor_of(
        source.shape,
        lambda *i: te.if_then_else(i[axis] >= lengths(i[1 - axis]), mask, source(*i)),
        "T_sequence_mask",
    )


def shape(array: Tensor, dtype: str = "int32") -> Tensor:
    """The shape of a tensor as a vector.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.shape(A)
    Tensor(shape=[2], op.name=T_shape)
    """
    data = check_tensor(array, "shape")

    def element(i: Any) -> Any:
        value: Any = te.const(0, dtype)
        for at, extent in enumerate(data.shape):
            value = te.if_then_else(ops.equal(i, at), ops.cast(dtype, extent), value)
        return value

    return tensor_of([data.ndim], element, "T_shape")


def ndarray_size(array: Tensor, dtype: str = "int32") -> Tensor:
    """The number of elements as a tensor of rank 0.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.ndarray_size(A).op.body[0]
    32
    """
    data = check_tensor(array, "ndarray_size")
    count = ops.cast(dtype, ops.convert(prod(data.shape)))
    return tensor_of([], lambda: count, "ndarray_size")


def expand_like(a: Tensor, shape_like: Tensor, axis: Sequence[int]) -> Tensor:
    """The tensor broadcast along new dimensions `axis` to the shape of another.

    >>> A, V = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V")
    >>> topi.expand_like(V, A, axis=[0]).op.body[0]
    V[i1]
    """
    data, target = check_tensor(a, "expand_like"), check_tensor(shape_like, "expand_like")
    new = {normalized_axis(number, target.ndim, "expand_like") for number in axis}
    kept = [at for at in range(target.ndim) if at not in new]
    check_same(data.ndim, len(kept), "expand_like", f"rank of {data.name}")
    for at, extent in zip(kept, data.shape, strict=True):
        check_same(extent, target.shape[at], "expand_like", f"extent of {data.name}")
    return te.compute(target.shape, lambda *i: data(*[i[at] for at in kept]))
