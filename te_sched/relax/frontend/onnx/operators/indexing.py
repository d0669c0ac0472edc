"""Rows that take or replace elements at indices."""

from __future__ import annotations

import numpy as np

from te_sched import te
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, PrimValue
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import OnnxSizes, Value, is_known
from te_sched.relax.frontend.tensors import Size, first_elements
from te_sched.relax.frontend.windows import nonnegative_indices
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import tensor_of


@row("Slice")
def _slice(
    imp: OnnxImporter,
    x: Value,
    starts_input: Value | None = None,
    ends_input: Value | None = None,
    axes_input: Value | None = None,
    steps_input: Value | None = None,
    *,
    starts: Ints | None = None,
    ends: Ints | None = None,
    axes: Ints | None = None,
) -> Value:
    axes = axes if axes_input is None else imp.ints(axes_input, 3)
    inputs = [(1, starts_input), (2, ends_input)]
    if any(bound is not None and imp.known_numbers(bound, n) is None for n, bound in inputs):
        assert starts_input is not None
        assert ends_input is not None
        strides = None if steps_input is None else imp.ints(steps_input, 4)
        return _computed_slice(imp, x, starts_input, ends_input, axes, strides)
    begin = imp.sizes(starts if starts_input is None else starts_input, 1)
    end = imp.sizes(ends if ends_input is None else ends_input, 2)
    places = list(range(len(begin)) if axes is None else axes)
    steps: list[Size] = [1] * len(begin)
    steps = steps if steps_input is None else imp.sizes(steps_input, 4)
    if isinstance(x, OnnxSizes):
        return _sizes.as_sizes(list(x)[_cut(imp, begin[0], end[0], steps[0])], dtype=x.dtype)
    if isinstance(x, np.ndarray):
        cuts = [slice(None)] * x.ndim
        for axis, *bounds in zip(places, begin, end, steps, strict=True):
            cuts[axis] = _cut(imp, *bounds)
        return x[tuple(cuts)]
    return imp.emit(R.strided_slice(x, places, begin, end, steps))


def _computed_slice(
    imp: OnnxImporter,
    x: Value,
    starts: Value,
    ends: Value,
    axes: Ints | None,
    strides: Ints | None,
) -> GraphExpr:
    """A slice of which a call computes the begin or the end, and so the sizes."""
    tensor, count = imp.tensor(x), imp.fixed_size(imp.shape(starts)[0], "slice")
    rank = imp.rank(tensor)
    places = [axis % rank for axis in (range(count) if axes is None else axes)]
    order = [places.index(axis) if axis in places else count for axis in range(rank)]

    def of_all_axes(bound: Value, other: int) -> GraphExpr:
        """A bound for each axis, which is another one for those that are not sliced."""
        vector = imp.emit(R.astype(imp.tensor(bound), "int64"))
        longer = imp.emit(R.concat([vector, const(np.array([other]), "int64")], 0))
        return imp.emit(R.take(longer, const(np.array(order), "int64"), 0))

    steps = np.array([*(strides or [1] * count), 1])[order]
    bounds = of_all_axes(starts, 0), of_all_axes(ends, np.iinfo("int64").max)
    result = imp.emit(R.dynamic_strided_slice(tensor, *bounds, const(steps, "int64")))
    sizes = [
        Var("size", "int64") if axis in places else size
        for axis, size in enumerate(imp.shape(tensor))
    ]
    return imp.builder.match_cast(result, TensorStructInfo(tuple(sizes), imp.dtype(tensor)))


def _cut(imp: OnnxImporter, *bounds: Size) -> slice:
    """A slice of numbers that are known."""
    return slice(*[imp.fixed_size(bound, "slice") for bound in bounds])


@row("Gather")
def _gather(imp: OnnxImporter, x: Value, indices: Value, axis: int = 0) -> Value:
    if isinstance(x, OnnxSizes) and is_known(indices):
        if not isinstance(indices, OnnxSizes) and np.ndim(indices) < 2:
            elements = [x[int(index)] for index in np.asarray(indices).ravel()]
            return _sizes.as_sizes(elements, not np.ndim(indices), x.dtype)
        x = imp.tensor(x)
    if isinstance(x, np.ndarray) and isinstance(indices, np.ndarray | np.generic):
        return np.take(x, np.asarray(indices), axis)
    places = imp.tensor(indices)
    if isinstance(indices, np.ndarray | np.generic):
        extent = imp.shape(x)[axis]
        if not np.ndim(indices) and int(indices) < 0 and not isinstance(extent, int):
            return imp.emit(R.take(imp.tensor(x), PrimValue(extent + int(indices)), axis))
    places = nonnegative_indices(imp.builder, places, imp.shape(x)[axis])
    return imp.emit(R.take(imp.tensor(x), places, axis))


@row("GatherElements")
def _gather_elements(imp: OnnxImporter, x: Value, indices: Value, axis: int = 0) -> GraphExpr:
    x = imp.tensor(x)
    places = nonnegative_indices(imp.builder, imp.tensor(indices), imp.shape(x)[axis])
    sizes = imp.shape(places)
    x = first_elements(imp.builder, x, sizes, axis % len(sizes))
    return imp.emit(R.gather_elements(x, places, axis))


@row("GatherND")
def _gather_nd(imp: OnnxImporter, x: Value, indices: Value, batch_dims: int = 0) -> GraphExpr:
    x, places = imp.tensor(x), imp.tensor(indices)
    depth = imp.fixed_size(imp.shape(places)[-1], "index with")
    extents = imp.shape(x)[batch_dims : batch_dims + depth]
    places = nonnegative_indices(imp.builder, places, extents)
    return imp.emit(R.gather_nd(x, places, batch_dims))


@row("ScatterElements", "Scatter")
def _scatter_elements(
    imp: OnnxImporter,
    x: Value,
    indices: Value,
    updates: Value,
    axis: int = 0,
    reduction: str = "none",
) -> GraphExpr:
    mode = {"none": "update"}.get(reduction, reduction)
    x, indices, updates = [imp.tensor(value) for value in (x, indices, updates)]
    return imp.emit(R.scatter_elements(x, indices, updates, axis, mode))


@row("ScatterND")
def _scatter_nd(
    imp: OnnxImporter, x: Value, indices: Value, updates: Value, reduction: str = "none"
) -> GraphExpr:
    mode = {"none": "update"}.get(reduction, reduction)
    x, indices, updates = [imp.tensor(value) for value in (x, indices, updates)]
    extents = imp.shape(x)[: imp.fixed_size(imp.shape(indices)[-1], "index with")]
    places = nonnegative_indices(imp.builder, indices, extents)
    return imp.emit(R.scatter_nd(x, places, updates, mode))


@row("OneHot")
def _one_hot(
    imp: OnnxImporter, indices: Value, depth: Value, values: Value, axis: int = -1
) -> GraphExpr:
    off, on = imp.numbers(values, 2)
    (count,) = imp.ints(depth, 1)
    dtype = imp.dtype(values)
    wide = imp.emit(R.astype(imp.tensor(indices), "int64"))
    places = nonnegative_indices(imp.builder, wide, count)
    values_of = [PrimValue(ops.const(value, dtype)) for value in (on, off)]
    y = imp.emit(R.one_hot(places, values_of[0], values_of[1], count, axis))
    return y if imp.dtype(y) == dtype else imp.emit(R.astype(y, dtype))


@row("ReverseSequence")
def _reverse_sequence(
    imp: OnnxImporter, x: Value, lengths: Value, *, batch_axis: int = 1, time_axis: int = 0
) -> GraphExpr:
    rank = imp.rank(x)
    batch, time = batch_axis % rank, time_axis % rank

    def reverse_sequence(data: Tensor, ends: Tensor) -> Tensor:
        def element(*index: Expr) -> Expr:
            end = ops.cast("int64", ends(index[batch]))
            source_time = te.select(index[time] < end, end - 1 - index[time], index[time])
            return data(*index[:time], source_time, *index[time + 1 :])

        return tensor_of(data.shape, element, "T_reverse_sequence", "")

    return imp.builder.emit_te(reverse_sequence, imp.tensor(x), imp.tensor(lengths))


@row("TensorScatter")
def _tensor_scatter(
    imp: OnnxImporter,
    cache: Value,
    update: Value,
    write_indices: Value | None = None,
    *,
    axis: int = -2,
    mode: str = "linear",
) -> GraphExpr:
    dim = axis % imp.rank(cache)
    first = np.zeros(1, "int64") if write_indices is None else write_indices
    is_shared = write_indices is None  # one index for all batches

    def tensor_scatter(old: Tensor, new: Tensor, begins: Tensor) -> Tensor:
        def element(*index: Expr) -> Expr:
            offset = index[dim] - ops.cast("int64", begins(0 if is_shared else index[0]))
            if mode == "circular":
                offset = te.select(offset < 0, offset + old.shape[dim], offset)
            is_new = te.all(offset >= 0, offset < new.shape[dim])
            written = new(*index[:dim], offset, *index[dim + 1 :])
            return te.if_then_else(is_new, written, old(*index))

        return tensor_of(old.shape, element, "T_tensor_scatter", "")

    tensors = [imp.tensor(value) for value in (cache, update, first)]
    return imp.builder.emit_te(tensor_scatter, *tensors)
