"""Rows of operators of torch with weights: products, convolutions, pooling, norms, attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import Constant, GraphExpr, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import (
    Size,
    filled,
    fixed_size,
    has_size,
    product_of,
    several,
)
from te_sched.relax.frontend.torch.elementwise import promoted, refuse_dropout
from te_sched.relax.frontend.torch.importer import END, ROWS, Importer, row
from te_sched.relax.frontend.torch.indexing import common_shape
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.values import (
    Ints,
    OutputSize,
    Scalar,
    TorchLayer,
    Value,
)
from te_sched.relax.frontend.windows import (
    begun_inside,
    convolution,
    depth_to_space,
    layouts_of,
    places_of_maxima,
    transposed_convolution,
)

_T = TypeVar("_T")


class Border(NamedTuple):
    """What a module of convolutions pads with before it: its mode, and torch's widths."""

    mode: str
    widths: Sequence[int]


Padding = Ints | str | Border


# Products


@row("matmul", "bmm", "mm", "mv", "dot", "__matmul__")
def _matmul(imp: Importer, a: GraphExpr, b: GraphExpr) -> GraphExpr:
    a, b = promoted(imp, a, b)
    return imp.emit(R.matmul(a, b, out_dtype=imp.dtype(a)))


def _weights(imp: Importer, module: TorchLayer) -> dict[str, object]:
    return {"weight": imp.param(module.weight), "bias": imp.param(module.bias)}


@row("linear", Linear=_weights)
def _linear(
    imp: Importer, x: GraphExpr, weight: GraphExpr, bias: GraphExpr | None = None
) -> GraphExpr:
    return imp.emit(R.linear(x, weight, bias, imp.dtype(x)))


@row("addmm", "addmv")
def _addmm(
    imp: Importer, c: GraphExpr, a: GraphExpr, b: GraphExpr, *, beta: Scalar = 1, alpha: Scalar = 1
) -> GraphExpr:
    product = _matmul(imp, a, b)
    if alpha != 1:
        product = imp.emit(R.multiply(product, const(alpha, imp.dtype(product))))
    if beta == 0:
        return product
    if beta != 1:
        c = imp.emit(R.multiply(c, const(beta, imp.dtype(c))))
    return imp.emit(R.add(c, product))


@row("addbmm")
def _addbmm(
    imp: Importer, c: GraphExpr, a: GraphExpr, b: GraphExpr, *, beta: Scalar = 1, alpha: Scalar = 1
) -> GraphExpr:
    """The sum of the products of a batch: one product of wider matrices."""
    (batch, rows, inner), columns = imp.shape(a), imp.shape(b)[2]
    wide = imp.reshape(imp.emit(R.permute_dims(a, [1, 0, 2])), [rows, batch * inner])
    high = imp.reshape(b, [batch * inner, columns])
    return _addmm(imp, c, wide, high, beta=beta, alpha=alpha)


@row("baddbmm")
def _baddbmm(
    imp: Importer, c: GraphExpr, a: GraphExpr, b: GraphExpr, *, beta: Scalar = 1, alpha: Scalar = 1
) -> GraphExpr:
    product = imp.emit(R.matmul(a, b))
    if alpha != 1:
        product = imp.emit(R.multiply(product, const(alpha, imp.dtype(product))))
    if beta == 0:
        return product
    if beta != 1:
        c = imp.emit(R.multiply(c, const(beta, imp.dtype(c))))
    return imp.emit(R.add(product, c))


@row("einsum")
def _einsum(imp: Importer, subscripts: str, *operands: GraphExpr, path: object = None) -> GraphExpr:
    is_list = len(operands) == 1 and isinstance(operands[0], list | tuple)
    return imp.emit(R.einsum(operands[0] if is_list else operands, subscripts))


@row("_trilinear")
def _trilinear(
    imp: Importer,
    a: GraphExpr,
    b: GraphExpr,
    c: GraphExpr,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> GraphExpr:
    """The sums of products of three tensors, to which dimensions are added first."""
    lists = zip((a, b, c), (expand1, expand2, expand3), strict=True)
    a, b, c = [imp.emit(R.expand_dims(x, list(axes))) if axes else x for x, axes in lists]
    return imp.emit(R.sum(imp.emit(R.multiply(imp.emit(R.multiply(a, c)), b)), list(sumdim)))


@row("outer")
def _outer(imp: Importer, a: GraphExpr, b: GraphExpr) -> GraphExpr:
    column = imp.emit(R.expand_dims(a, 1))
    return imp.emit(R.multiply(column, b))


# Convolutions


def _unbatched(imp: Importer, x: GraphExpr, rank: int) -> tuple[GraphExpr, bool]:
    """The input with a batch, and whether it had none."""
    if imp.info(x).ndim == rank + 2:
        return x, False
    return imp.emit(R.expand_dims(x, 0)), True


def _convolve(
    imp: Importer,
    rank: int,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None,
    stride: Ints,
    padding: Padding,
    dilation: Ints,
    groups: int,
) -> GraphExpr:
    x, is_single = _unbatched(imp, x, rank)
    if isinstance(padding, Border):
        x, padding = _pad(imp, x, padding.widths, padding.mode), 0
    if isinstance(padding, str):
        padding = _padding_of(imp, padding, weight, stride, dilation, rank)
    sizes = (several(stride, rank), several(padding, rank), several(dilation, rank))
    y = convolution(imp.builder, x, weight, bias, *sizes, groups, imp.dtype(x))
    return imp.emit(R.squeeze(y, [0])) if is_single else y


def _padding_of(
    imp: Importer, mode: str, weight: GraphExpr, stride: Ints, dilation: Ints, rank: int
) -> list[int]:
    """The padding of "same" or "valid", before and after each dimension."""
    if mode == "valid":
        return [0] * rank
    kernel = imp.shape(weight)[2:]
    pairs = zip(several(dilation, rank), kernel, strict=True)
    total = [d * (fixed_size(k, "pad for windows of") - 1) for d, k in pairs]
    return [width // 2 for width in total] + [width - width // 2 for width in total]


def _conv_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    has_border = m.padding_mode != "zeros"
    return {
        **_weights(imp, m),
        "stride": m.stride,
        "padding": Border(m.padding_mode, m._reversed_padding_repeated_twice)
        if has_border
        else m.padding,
        "dilation": m.dilation,
        "groups": m.groups,
    }


@row("conv1d", Conv1d=_conv_arguments)
def _conv1d(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None = None,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> GraphExpr:
    return _convolve(imp, 1, x, weight, bias, stride, padding, dilation, groups)


@row("conv2d", Conv2d=_conv_arguments)
def _conv2d(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None = None,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> GraphExpr:
    return _convolve(imp, 2, x, weight, bias, stride, padding, dilation, groups)


@row("conv3d", Conv3d=_conv_arguments)
def _conv3d(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None = None,
    stride: Ints = 1,
    padding: Padding = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> GraphExpr:
    return _convolve(imp, 3, x, weight, bias, stride, padding, dilation, groups)


def _transposed(
    imp: Importer,
    rank: int,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    groups: int,
    dilation: Ints,
) -> GraphExpr:
    x, is_single = _unbatched(imp, x, rank)
    y = transposed_convolution(
        imp.builder,
        x,
        weight,
        bias,
        strides=several(stride, rank),
        padding=several(padding, rank),
        output_padding=several(output_padding, rank),
        dilation=several(dilation, rank),
        groups=groups,
        out_dtype=imp.dtype(x),
    )
    return imp.emit(R.squeeze(y, [0])) if is_single else y


def _transposed_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {**_conv_arguments(imp, m), "output_padding": m.output_padding}


def _transposed_rule(rank: int) -> Callable[..., GraphExpr]:
    def rule(
        imp: Importer,
        x: GraphExpr,
        weight: GraphExpr,
        bias: GraphExpr | None = None,
        stride: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        groups: int = 1,
        dilation: Ints = 1,
    ) -> GraphExpr:
        args = (stride, padding, output_padding, groups, dilation)
        return _transposed(imp, rank, x, weight, bias, *args)

    return rule


for _rank in (1, 2, 3):
    row(f"conv_transpose{_rank}d", **{f"ConvTranspose{_rank}d": _transposed_arguments})(
        _transposed_rule(_rank)
    )


@row("convolution", "_convolution")
def _convolution(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
    *flags: object,
) -> GraphExpr:
    rank = imp.info(weight).ndim - 2
    if transposed:
        return _transposed(
            imp, rank, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _convolve(imp, rank, x, weight, bias, stride, padding, dilation, groups)


# Pooling


def _pool_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    names = (
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "ceil_mode",
        "count_include_pad",
        "divisor_override",
        "return_indices",
    )
    return {name: getattr(m, name) for name in names if hasattr(m, name)}


def _max_pool(
    imp: Importer,
    rank: int,
    x: GraphExpr,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    return_indices: bool,
) -> Value:
    """The largest elements of windows; a pair of them and their places if `return_indices`."""
    x, is_single = _unbatched(imp, x, rank)
    kernel, pads = several(kernel_size, rank), several(padding, rank)
    steps = several(stride, rank) if stride else kernel
    gaps = several(dilation, rank)
    call = getattr(R.nn, f"max_pool{rank}d")(
        x,
        pool_size=kernel,
        strides=steps,
        padding=pads,
        dilation=gaps,
        ceil_mode=ceil_mode,
        layout=layouts_of(rank)[0],
    )
    y = imp.emit(call)
    y = begun_inside(imp.builder, y, imp.shape(x)[2:], pads, steps) if ceil_mode else y
    results = [y]
    if return_indices:
        places = places_of_maxima(kernel, steps, pads, gaps)
        results.append(imp.builder.emit_te(places, x, y, primfunc_name_hint="max_pool_places"))
    results = [imp.emit(R.squeeze(result, [0])) for result in results] if is_single else results
    return tuple(results) if return_indices else results[0]


def _max_pool_rule(rank: int, returns_indices: bool = False) -> Callable[..., Value]:
    def rule(
        imp: Importer,
        x: GraphExpr,
        kernel_size: Ints,
        stride: Ints | None = None,
        padding: Ints = 0,
        dilation: Ints = 1,
        ceil_mode: bool = False,
        return_indices: bool = returns_indices,
    ) -> Value:
        sizes = (kernel_size, stride, padding, dilation)
        return _max_pool(imp, rank, x, *sizes, ceil_mode, return_indices or returns_indices)

    return rule


for _rank in (1, 2, 3):
    _others = ("boolean_dispatch",) if _rank == 2 else ()
    row(f"max_pool{_rank}d", *_others, **{f"MaxPool{_rank}d": _pool_arguments})(
        _max_pool_rule(_rank)
    )
    row(f"max_pool{_rank}d_with_indices")(_max_pool_rule(_rank, True))


def _avg_pool(
    imp: Importer,
    rank: int,
    x: GraphExpr,
    kernel_size: Ints,
    stride: Ints | None,
    padding: Ints,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> GraphExpr:
    x, is_single = _unbatched(imp, x, rank)
    kernel = several(kernel_size, rank)
    pads = several(padding, rank)
    steps = several(stride, rank) if stride else kernel
    area = int(np.prod(kernel))
    is_sum = divisor_override is not None and divisor_override != area
    if is_sum and dtypes.is_integral(imp.dtype(x)):  # whole quotients of sums
        dtype, flags = imp.dtype(x), (ceil_mode, count_include_pad)
        x = imp.cast(x, "float64")
        sums = _avg_pool(imp, rank, x, kernel, steps, pads, *flags, 1)
        sums = imp.cast(imp.emit(R.round(sums)), dtype)
        y = imp.emit(R.divide(sums, const(divisor_override, dtype)))
        return imp.emit(R.squeeze(y, [0])) if is_single else y
    extents, borders = imp.shape(x)[2:], pads
    if is_sum and (ceil_mode or any(pads)):  # so that all windows have the same number of elements
        ends = [pad + (step - 1) * ceil_mode for pad, step in zip(pads, steps, strict=True)]
        widths = [width for pair in zip(pads, ends, strict=True) for width in pair]
        x, borders = imp.emit(R.nn.pad(x, [0] * 4 + widths)), [0] * rank
    call = getattr(R.nn, f"avg_pool{rank}d")(
        x,
        pool_size=kernel,
        strides=steps,
        padding=borders,
        ceil_mode=ceil_mode and not is_sum,
        count_include_pad=bool(count_include_pad) and any(borders),
        layout=layouts_of(rank)[0],
    )
    y = imp.emit(call)
    y = begun_inside(imp.builder, y, extents, pads, steps) if ceil_mode else y
    if is_sum:
        assert divisor_override is not None
        y = imp.emit(R.multiply(y, const(area / divisor_override, imp.dtype(y))))
    return imp.emit(R.squeeze(y, [0])) if is_single else y


@row("avg_pool1d", AvgPool1d=_pool_arguments)
def _avg_pool1d(
    imp: Importer,
    x: GraphExpr,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> GraphExpr:
    return _avg_pool(imp, 1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@row("avg_pool2d", AvgPool2d=_pool_arguments)
def _avg_pool2d(
    imp: Importer,
    x: GraphExpr,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> GraphExpr:
    flags = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(imp, 2, x, kernel_size, stride, padding, *flags)


@row("avg_pool3d", AvgPool3d=_pool_arguments)
def _avg_pool3d(
    imp: Importer,
    x: GraphExpr,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> GraphExpr:
    flags = (ceil_mode, count_include_pad, divisor_override)
    return _avg_pool(imp, 3, x, kernel_size, stride, padding, *flags)


def _adaptive(imp: Importer, rank: int, x: GraphExpr, output_size: OutputSize) -> GraphExpr:
    x, is_single = _unbatched(imp, x, rank)
    spatial = imp.shape(x)[2:]
    targets = enumerate(several(output_size, rank))
    sizes = [spatial[n] if size is None else size for n, size in targets]
    pool = getattr(R.nn, f"adaptive_avg_pool{rank}d")
    y = imp.emit(pool(x, sizes, layout=layouts_of(rank)[0]))
    return imp.emit(R.squeeze(y, [0])) if is_single else y


def _output_size(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {"output_size": m.output_size}


@row("adaptive_avg_pool1d", AdaptiveAvgPool1d=_output_size)
def _adaptive_avg_pool1d(imp: Importer, x: GraphExpr, output_size: OutputSize) -> GraphExpr:
    return _adaptive(imp, 1, x, output_size)


@row("adaptive_avg_pool2d", "_adaptive_avg_pool2d", AdaptiveAvgPool2d=_output_size)
def _adaptive_avg_pool2d(imp: Importer, x: GraphExpr, output_size: OutputSize) -> GraphExpr:
    return _adaptive(imp, 2, x, output_size)


@row("adaptive_avg_pool3d", "_adaptive_avg_pool3d", AdaptiveAvgPool3d=_output_size)
def _adaptive_avg_pool3d(imp: Importer, x: GraphExpr, output_size: OutputSize) -> GraphExpr:
    return _adaptive(imp, 3, x, output_size)


def _maxima(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {"output_size": m.output_size, "return_indices": m.return_indices}


def _adaptive_max(
    imp: Importer, rank: int, x: GraphExpr, output_size: OutputSize, has_places: bool
) -> tuple[GraphExpr, GraphExpr | None]:
    """The largest element of each part of all dimensions, and its place in an image."""
    first, shape = imp.info(x).ndim - rank, imp.shape(x)
    if has_places and all(isinstance(size, int) for size in shape[first:]):
        return _adaptive_max_and_places(imp, rank, x, output_size)
    for n, size in enumerate(several(output_size, rank)):
        axis, extent = first + n, imp.shape(x)[first + n]
        if size is None or imp.is_equal(size, extent):
            continue
        if size == 1:
            x = imp.emit(R.max(x, [axis], True))
            continue
        windows = const(_parts_of(extent, size), "int64")
        x = imp.emit(R.max(imp.emit(R.take(x, windows, axis)), [axis + 1]))
    return x, None


def _parts_of(extent: Size, size: int) -> NDArray[np.int64]:
    """The places in a dimension of the elements of its parts, the last of which may be repeated."""
    if not isinstance(extent, int):
        raise GraphError(
            f"cannot divide a dimension of size {extent} into {size} parts",
            "its size is not constant",
            "use fixed sizes, or 1 part",
        )
    begins = np.arange(size) * extent // size
    ends = -(-(np.arange(size) + 1) * extent // size)
    steps = np.arange((ends - begins).max())
    return np.minimum(begins[:, None] + steps, ends[:, None] - 1)


def _adaptive_max_and_places(
    imp: Importer, rank: int, x: GraphExpr, output_size: OutputSize
) -> tuple[GraphExpr, GraphExpr]:
    batch = imp.shape(x)[:-rank]
    extents = [fixed_size(extent, "divide") for extent in imp.shape(x)[-rank:]]
    sizes = [
        extent if size is None else int(size)
        for size, extent in zip(several(output_size, rank), extents, strict=True)
    ]
    places = np.zeros((1,) * 2 * rank, "int64")  # [*parts, *elements of a part]
    for n, (extent, size) in enumerate(zip(extents, sizes, strict=True)):
        windows = _parts_of(extent, size)
        kept = [1] * 2 * rank
        kept[n], kept[rank + n] = windows.shape
        places = places * extent + windows.reshape(kept)
    table = const(places.reshape(math.prod(sizes), -1), "int64")
    flat = imp.reshape(x, [*batch, math.prod(extents)])
    elements = imp.emit(R.take(flat, table, len(batch)))
    number = imp.emit(R.expand_dims(imp.emit(R.argmax(elements, -1)), -1))
    values = imp.emit(R.gather_elements(elements, number, -1))
    every = imp.broadcast(table, imp.shape(elements))
    indices = imp.emit(R.gather_elements(every, number, -1))
    values, indices = [imp.reshape(part, [*batch, *sizes]) for part in (values, indices)]
    return values, indices


def _adaptive_max_rule(rank: int, returns_indices: bool = False) -> Callable[..., Value]:
    def rule(
        imp: Importer,
        x: GraphExpr,
        output_size: OutputSize,
        return_indices: bool = returns_indices,
    ) -> Value:
        is_aten = hasattr(imp.node.target, "overloadpacket") or hasattr(
            imp.node.target, "overloads"
        )
        users = [user for user in imp.node.users if base_name(user) == "getitem"]
        is_read = return_indices or any(user.args[1] == 1 for user in users)
        values, places = _adaptive_max(imp, rank, x, output_size, is_read)
        return (values, places) if return_indices or is_aten else values

    return rule


for _rank in (1, 2, 3):
    row(f"adaptive_max_pool{_rank}d", **{f"AdaptiveMaxPool{_rank}d": _maxima})(
        _adaptive_max_rule(_rank)
    )
    row(f"adaptive_max_pool{_rank}d_with_indices")(_adaptive_max_rule(_rank, True))


def _max_unpool(
    imp: Importer, x: GraphExpr, indices: GraphExpr, output_size: Sequence[Size], *options: Ints
) -> GraphExpr:
    """Images of zeros with elements at places, each of which counts the elements of an image."""
    rank = len(output_size)
    outer = imp.shape(x)[:-rank]
    rows = [product_of(outer), product_of(imp.shape(x)[-rank:])]
    zeros = filled(imp.builder, [rows[0], product_of(output_size)], 0, imp.dtype(x))
    places, elements = imp.reshape(indices, rows), imp.reshape(x, rows)
    image = imp.emit(R.scatter_elements(zeros, places, elements, 1))
    return imp.reshape(image, [*outer, *output_size])


row("max_unpool2d")(_max_unpool)
row("max_unpool3d")(_max_unpool)


# Norms


def _or_filled(
    imp: Importer, tensor: GraphExpr | None, shape: Sequence[Size], dtype: str, value: int
) -> GraphExpr:
    return filled(imp.builder, shape, value, dtype) if tensor is None else tensor


def _batch_norm(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr | None,
    bias: GraphExpr | None,
    mean: GraphExpr | None,
    var: GraphExpr | None,
    eps: float,
    momentum: float = 0.1,
) -> GraphExpr:
    if mean is None or var is None:
        raise GraphError(
            "batch_norm normalizes with the statistics of the batch",
            "a model is imported for inference",
            "call model.eval() before it is exported, with track_running_stats=True",
        )
    channels = [imp.shape(x)[1]]
    dtype = imp.dtype(x)
    call = R.nn.batch_norm(
        x,
        _or_filled(imp, weight, channels, dtype, 1),
        _or_filled(imp, bias, channels, dtype, 0),
        mean,
        var,
        axis=1,
        epsilon=eps,
        momentum=0.1 if momentum is None else momentum,
    )
    return imp.emit(TupleGetItem(imp.emit(call), 0))


def _batch_norm_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {
        **_weights(imp, m),
        "running_mean": imp.param(m.running_mean),
        "running_var": imp.param(m.running_var),
        "eps": m.eps,
        "momentum": m.momentum,
    }


@row(
    "batch_norm",
    BatchNorm1d=_batch_norm_arguments,
    BatchNorm2d=_batch_norm_arguments,
    BatchNorm3d=_batch_norm_arguments,
)
def _batch_norm_function(
    imp: Importer,
    x: GraphExpr,
    *args: Any,
    weight: GraphExpr | None = None,
    bias: GraphExpr | None = None,
    running_mean: GraphExpr | None = None,
    running_var: GraphExpr | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> GraphExpr:
    """aten's order is weight, bias, mean, variance; that of torch.nn.functional the reverse."""
    arguments = list(args)
    names = {"weight": weight, "bias": bias, "mean": running_mean, "var": running_var}
    if arguments:
        first = min(4, len(arguments))
        order = (
            ("weight", "bias", "mean", "var")
            if len(arguments) >= 8
            else ("mean", "var", "weight", "bias")
        )
        names.update(zip(order, arguments[:first], strict=False))
        rest = arguments[4:]
        training = rest[0] if rest else training
        momentum = rest[1] if len(rest) > 1 else momentum
        eps = rest[2] if len(rest) > 2 else eps
    if training:
        names["mean"] = None
    return _batch_norm(imp, x, **names, eps=eps, momentum=momentum)


@row("_native_batch_norm_legit_no_training")
def _native_batch_norm(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr | None,
    bias: GraphExpr | None,
    mean: GraphExpr | None,
    var: GraphExpr | None,
    momentum: float,
    eps: float,
) -> Value:
    return (_batch_norm(imp, x, weight, bias, mean, var, eps, momentum), None, None)


def _layer_norm_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {**_weights(imp, m), "normalized_shape": m.normalized_shape, "eps": m.eps}


@row("layer_norm", LayerNorm=_layer_norm_arguments)
def _layer_norm(
    imp: Importer,
    x: GraphExpr,
    normalized_shape: Ints,
    weight: GraphExpr | None = None,
    bias: GraphExpr | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> GraphExpr:
    shape = several(normalized_shape, 1)
    dtype = imp.dtype(x)
    gamma = _or_filled(imp, weight, shape, dtype, 1)
    beta = _or_filled(imp, bias, shape, dtype, 0)
    axes = list(range(-len(shape), 0))
    return imp.emit(R.nn.layer_norm(x, gamma, beta, axes=axes, epsilon=eps))


@row("native_layer_norm")
def _native_layer_norm(
    imp: Importer,
    x: GraphExpr,
    shape: Ints,
    weight: GraphExpr | None,
    bias: GraphExpr | None,
    eps: float,
) -> Value:
    return (_layer_norm(imp, x, shape, weight, bias, eps), None, None)


@row(
    "rms_norm",
    RMSNorm=lambda imp, m: {
        "weight": imp.param(m.weight),
        "normalized_shape": m.normalized_shape,
        "eps": m.eps,
    },
)
def _rms_norm(
    imp: Importer,
    x: GraphExpr,
    normalized_shape: Ints,
    weight: GraphExpr | None = None,
    eps: float | None = None,
) -> GraphExpr:
    shape = several(normalized_shape, 1)
    gamma = _or_filled(imp, weight, shape, imp.dtype(x), 1)
    small = float(np.finfo(imp.dtype(x)).eps) if eps is None else eps
    return imp.emit(R.nn.rms_norm(x, gamma, list(range(-len(shape), 0)), small))


@row(
    "group_norm",
    GroupNorm=lambda imp, m: {**_weights(imp, m), "num_groups": m.num_groups, "eps": m.eps},
)
def _group_norm(
    imp: Importer,
    x: GraphExpr,
    num_groups: int,
    weight: GraphExpr | None = None,
    bias: GraphExpr | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> GraphExpr:
    channels = [imp.shape(x)[1]]
    dtype = imp.dtype(x)
    call = R.nn.group_norm(
        x,
        _or_filled(imp, weight, channels, dtype, 1),
        _or_filled(imp, bias, channels, dtype, 0),
        num_groups=num_groups,
        channel_axis=1,
        axes=list(range(2, imp.info(x).ndim)),
        epsilon=eps,
    )
    return imp.emit(call)


@row("native_group_norm")
def _native_group_norm(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr | None,
    bias: GraphExpr | None,
    n: object,
    c: GraphExpr,
    hxw: object,
    group: int,
    eps: float,
) -> Value:
    return (_group_norm(imp, x, group, weight, bias, eps), None, None)


def _instance_norm_arguments(imp: Importer, m: TorchLayer) -> dict[str, object]:
    is_tracked = m.track_running_stats
    statistics = {} if is_tracked else {"running_mean": None, "running_var": None}
    return {**_batch_norm_arguments(imp, m), **statistics, "use_input_stats": not is_tracked}


@row(
    "instance_norm",
    InstanceNorm1d=_instance_norm_arguments,
    InstanceNorm2d=_instance_norm_arguments,
    InstanceNorm3d=_instance_norm_arguments,
)
def _instance_norm(
    imp: Importer,
    x: GraphExpr,
    weight: GraphExpr | None = None,
    bias: GraphExpr | None = None,
    running_mean: GraphExpr | None = None,
    running_var: GraphExpr | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    *rest: object,
) -> GraphExpr:
    if not use_input_stats:
        return _batch_norm(imp, x, weight, bias, running_mean, running_var, eps, momentum)
    return _group_norm(imp, x, fixed_size(imp.shape(x)[1], "normalize"), weight, bias, eps)


@row("normalize")
def _normalize(
    imp: Importer,
    x: GraphExpr,
    p: float = 2.0,
    dim: int = 1,
    eps: float = 1e-12,
    out: object = None,
) -> GraphExpr:
    size = ROWS["norm"].rule(imp, x, p, dim, True)
    return imp.emit(R.divide(x, imp.emit(R.maximum(size, const(eps, imp.dtype(x))))))


# Attention, images


@row("scaled_dot_product_attention")
def _attention(
    imp: Importer,
    q: GraphExpr,
    k: GraphExpr,
    v: GraphExpr,
    attn_mask: GraphExpr | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> GraphExpr:
    refuse_dropout(dropout_p)
    if enable_gqa:  # several queries for each key
        times = fixed_size(imp.shape(q)[-3] // imp.shape(k)[-3], "repeat")
        k, v = [imp.emit(R.repeat(x, times, imp.info(x).ndim - 3)) for x in (k, v)]
    shapes = [imp.shape(x) for x in (q, k, v)]
    batch = common_shape([shape[:-2] for shape in shapes])
    q, k, v = [
        imp.broadcast(x, [*batch, *shape[-2:]]) for x, shape in zip((q, k, v), shapes, strict=True)
    ]
    rank = len(batch) + 2
    if rank > 4:
        return _attention_of_batches(imp, (q, k, v), attn_mask, is_causal, scale)
    added = {2: [0, 1], 3: [1], 4: []}[rank]
    if added:
        q, k, v = [imp.emit(R.expand_dims(tensor, added)) for tensor in (q, k, v)]
    axes = [0, 2, 1, 3]
    q, k, v = [imp.emit(R.permute_dims(tensor, axes)) for tensor in (q, k, v)]
    bias = attn_mask
    if attn_mask is not None:
        if rank == imp.info(attn_mask).ndim == 3:
            attn_mask = imp.emit(R.expand_dims(attn_mask, 1))
        bias = _bias_of(imp, attn_mask, q)
    mask = "TopLeft" if is_causal else None
    scores = imp.emit(R.nn.attention(q, k, v, bias, scale, mask))
    result: GraphExpr = imp.emit(R.permute_dims(scores, axes))
    if attn_mask is not None and imp.dtype(attn_mask) == "bool":
        result = _where_some(imp, attn_mask, result)
    return imp.emit(R.squeeze(result, added)) if added else result


def _attention_of_batches(
    imp: Importer,
    operands: Sequence[GraphExpr],
    mask: GraphExpr | None,
    is_causal: bool,
    scale: float | None,
) -> GraphExpr:
    """Attention of tensors of more than four dimensions, of which the first ones become one."""
    batch = imp.shape(operands[0])[:-3]
    count = product_of(batch)
    q, k, v = [imp.reshape(x, [count, *imp.shape(x)[-3:]]) for x in operands]
    if mask is not None:
        sizes = [imp.shape(operands[0])[-2], imp.shape(operands[1])[-2]]
        heads = imp.shape(operands[0])[-3]
        mask = imp.reshape(imp.broadcast(mask, [*batch, heads, *sizes]), [count, heads, *sizes])
    result = _attention(imp, q, k, v, mask, 0.0, is_causal, scale=scale)
    return imp.reshape(result, [*batch, *imp.shape(result)[1:]])


def _where_some(imp: Importer, mask: GraphExpr, result: GraphExpr) -> GraphExpr:
    """The results of queries for which a mask has keys; 0 for others."""
    if isinstance(mask, Constant) and mask.data.numpy().any(-1).all():
        return result
    has_key = ROWS["any"].rule(imp, mask, -1, True)
    return imp.emit(R.where(has_key, result, const(0, imp.dtype(result))))


def _bias_of(imp: Importer, mask: GraphExpr, q: GraphExpr) -> GraphExpr:
    """A mask as what is added to the scores, of four dimensions."""
    dtype = imp.dtype(q)
    if imp.dtype(mask) == "bool":
        zero, least = const(0, dtype), const(-float("inf"), dtype)
        mask = imp.emit(R.where(mask, zero, least))
    shape = imp.shape(mask)
    if len(shape) < 4:
        mask = imp.reshape(mask, [1] * (4 - len(shape)) + shape)
    return mask


@row("pad", "constant_pad_nd")
def _pad(
    imp: Importer,
    x: GraphExpr,
    pad: Sequence[int],
    mode: str | float = "constant",
    value: float = 0,
) -> GraphExpr:
    if not isinstance(mode, str):
        value = mode
        mode = "constant"
    pairs = [tuple(pad[n : n + 2]) for n in range(0, len(pad), 2)]
    rank = imp.info(x).ndim
    widths = [(0, 0)] * (rank - len(pairs)) + pairs[::-1]
    shape = imp.shape(x)
    if has_size(shape[: rank - len(pairs)], 0):  # padded dimensions have elements, others have none
        sizes = [size + sum(pair) for size, pair in zip(shape, widths, strict=True)]
        return imp.emit(R.zeros(sizes, imp.dtype(x)))
    if mode == "circular":
        x = _cropped(imp, x, widths)
    flat = [max(width, 0) for pair in widths for width in pair]
    if any(flat):
        fill = 0.0 if value is None else float(value)
        x = imp.emit(R.nn.pad(x, flat, pad_mode=mode, pad_value=fill))
    return x if mode == "circular" else _cropped(imp, x, widths)


def _cropped(imp: Importer, x: GraphExpr, widths: Sequence[tuple[int, ...]]) -> GraphExpr:
    """A tensor without the elements that negative widths of a padding take away."""
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            x = imp.emit(R.strided_slice(x, [axis], [max(-before, 0)], [min(after, 0) or END]))
    return x


@row("pixel_shuffle", PixelShuffle=lambda imp, m: {"upscale_factor": m.upscale_factor})
def _pixel_shuffle(imp: Importer, x: GraphExpr, upscale_factor: int) -> GraphExpr:
    return depth_to_space(imp.builder, x, upscale_factor, is_depth_first=False)
