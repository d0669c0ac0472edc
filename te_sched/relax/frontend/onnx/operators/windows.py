"""Rows of convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, fixed_size
from te_sched.relax.frontend.windows import (
    LAYOUTS,
    begun_inside,
    convolution,
    transposed_convolution,
)


def padding_of(
    auto_pad: str,
    pads: Ints | None,
    sizes: Sequence[Size],
    kernel: Sequence[Size],
    strides: Ints,
    dilations: Ints,
) -> list[int]:
    """The padding before and after each dimension."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", "VALID"):
        return list(pads) if pads and auto_pad == "NOTSET" else [0] * (2 * rank)
    before, after = [], []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (fixed_size(k, "pad for windows of") - 1) * dilation + 1
        if isinstance(size, int):
            total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        elif stride == 1:
            total = reach - 1
        else:
            raise GraphError(
                f"auto_pad cannot pad a dimension of size {size} with stride {stride}",
                "the padding depends on the size, which a call gives",
                "give the size: from_onnx(model, shape_dict={...})",
            )
        small, great = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else great)
        after.append(great if auto_pad == "SAME_UPPER" else small)
    return before + after


@row("Conv")
def _conv(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Value:
    x, weight = imp.tensor(x), imp.tensor(weight)
    kernel = imp.shape(weight)[2:]
    rank = len(kernel)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    padding = padding_of(auto_pad, pads, imp.shape(x)[2:], kernel, strides, dilations)
    channels = None if bias is None else imp.tensor(bias)
    return convolution(imp.builder, x, weight, channels, strides, padding, dilations, group)


@row("ConvTranspose")
def _conv_transpose(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Value:
    x, weight = imp.tensor(x), imp.tensor(weight)
    rank = imp.rank(weight) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    output_padding = output_padding or [0] * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") and output_shape is None:
        output_shape = [
            fixed_size(one, "pad") * step
            for one, step in zip(imp.shape(x)[2:], strides, strict=True)
        ]
    if output_shape is not None:
        window = [(k - 1) * d + 1 for k, d in zip(imp.shape(weight)[2:], dilations, strict=True)]
        rows = zip(imp.shape(x)[2:], strides, output_padding, window, strict=True)
        whole = [(n - 1) * step + more + k for n, step, more, k in rows]
        rests = zip(whole, output_shape[-rank:], strict=True)
        cut = [fixed_size(n - wanted, "crop") for n, wanted in rests]
        pairs = zip(output_padding, cut, strict=True)
        output_padding = [more + max(-one, 0) for more, one in pairs]
        cut = [max(one, 0) for one in cut]
        small, large = [one // 2 for one in cut], [one - one // 2 for one in cut]
        pads = small + large if auto_pad == "SAME_UPPER" else large + small
    return transposed_convolution(
        imp.builder,
        x,
        weight,
        None if bias is None else imp.tensor(bias),
        strides=strides,
        padding=pads or [0] * (2 * rank),
        output_padding=output_padding,
        dilation=dilations,
        groups=group,
    )


def pool(kind: str) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter,
        x: Value,
        *,
        kernel_shape: Ints,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        count_include_pad: int = 0,
        dilations: Ints | None = None,
        pads: Ints | None = None,
        storage_order: int = 0,
        strides: Ints | None = None,
    ) -> GraphExpr:
        if imp.count > 1:
            raise GraphError("a pool gives the places of its elements", "", "use one output")
        x = imp.tensor(x)
        rank = len(kernel_shape)
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        extents = imp.shape(x)[2:]
        borders = padding_of(auto_pad, pads, extents, kernel_shape, strides, dilations)
        call = getattr(R.nn, f"{kind}_pool{rank}d")(
            x,
            pool_size=kernel_shape,
            strides=strides,
            padding=borders,
            dilation=dilations,
            ceil_mode=bool(ceil_mode),
            count_include_pad=bool(count_include_pad),
            layout=LAYOUTS[rank][0],
        )
        found = imp.emit(call)
        before = borders[:rank]
        return begun_inside(imp.builder, found, extents, before, strides) if ceil_mode else found

    return rule


row("MaxPool")(pool("max"))
row("AveragePool")(pool("avg"))


def _global_pool(make: str) -> Callable[..., GraphExpr]:
    def rule(imp: OnnxImporter, x: Value) -> GraphExpr:
        axes = list(range(2, imp.rank(x)))
        return imp.emit(getattr(R, make)(imp.tensor(x), axes, True))

    return rule


row("GlobalAveragePool")(_global_pool("mean"))
row("GlobalMaxPool")(_global_pool("max"))
