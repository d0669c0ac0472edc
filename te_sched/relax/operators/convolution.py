"""Convolutions and transposed convolutions of one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from te_sched import te
from te_sched.errors import GraphError, warn
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, size_text
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import common_dtype, common_vdevice, shape_of, tensors_of
from te_sched.relax.operators.layouts import Layout
from te_sched.relax.operators.legalization import numbers_of, topi
from te_sched.relax.operators.registry import ALWAYS, Rewrite, declare, make_call, named
from te_sched.relax.operators.sizes import (
    as_padding,
    as_sizes,
    check_at_least,
    check_equal,
    check_groups,
)
from te_sched.relax.operators.spatial_layouts import (
    check_layout,
    check_rank_of_layout,
    rank_of,
    to_layout,
)

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


_DIMENSIONS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}
_LAYOUT = Layout(arguments=("data_layout", "kernel_layout"))


if TYPE_CHECKING:

    class _Convolution(Protocol):
        def __call__(
            self,
            data: Value,
            weight: Value,
            strides: Numbers = ...,
            padding: Numbers = ...,
            dilation: Numbers = ...,
            groups: int = ...,
            data_layout: str = ...,
            kernel_layout: str = ...,
            out_layout: str | None = ...,
            out_dtype: Any = ...,
        ) -> GraphCall: ...


def _convolution(rank: int, example: str = "") -> _Convolution:
    """The function that makes calls of a convolution, which it declares."""
    full, letters = f"relax.nn.conv{rank}d", _SPATIAL[rank]
    stride, width = _of_each(1, rank), _of_each(0, rank)
    declare(
        full,
        lambda call, builder: _infer_conv(call, builder, rank),
        mixed_precision=ALWAYS,
        legalize=_convolution_rule(rank),
        layout=_LAYOUT,
    )

    def call_operator(
        data: Value,
        weight: Value,
        strides: Numbers = stride,
        padding: Numbers = width,
        dilation: Numbers = stride,
        groups: int = 1,
        data_layout: str = f"NC{letters}",
        kernel_layout: str = f"OI{letters}",
        out_layout: str | None = None,
        out_dtype: Any = None,
    ) -> GraphCall:
        check_groups(groups, f"conv{rank}d")
        return make_call(
            full,
            [data, weight],
            strides=as_sizes(strides, rank, "strides", least=1),
            padding=as_padding(padding, rank),
            **_attrs(rank, dilation, groups, (data_layout, kernel_layout, out_layout), out_dtype),
        )

    summary = f"The convolution of {_DIMENSIONS[rank]}."
    return named(call_operator, f"conv{rank}d", summary + example)


def _of_each(number: int, rank: int) -> Numbers:
    """A number for each dimension, as the default of an argument."""
    return number if rank == 1 else (number,) * rank


def _attrs(
    rank: int,
    dilation: Numbers,
    groups: int,
    layouts: tuple[str, str, str | None],
    out_dtype: object,
) -> dict[str, object]:
    """The attributes that all convolutions have after those of their windows."""
    data_layout, kernel_layout, out_layout = layouts
    return {
        "dilation": as_sizes(dilation, rank, "dilation", least=1),
        "groups": int(groups),
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout or data_layout,
        "out_dtype": dtypes.known(out_dtype),
    }


class _Arguments:
    """The sizes of a convolution in the order N, C, spatial dimensions; None if not known."""

    def __init__(self, call: GraphCall, builder: BlockBuilder, count: int, kernel: str) -> None:
        attrs, spatial = call.attrs, _SPATIAL[count]
        whole = "NC" + spatial
        for name, letters in (("data", whole), ("kernel", kernel + spatial), ("out", whole)):
            check_layout(call, f"{name}_layout", attrs[f"{name}_layout"], letters)
        data, weight = infos = tensors_of(call, 2)
        check_rank_of_layout(call, 0, data, attrs.data_layout)
        check_rank_of_layout(call, 1, weight, attrs.kernel_layout)
        self.dtype = attrs.out_dtype or common_dtype(call, infos)
        self.vdevice = common_vdevice(call, infos)
        self.whole, self.builder, self.out_layout = whole, builder, attrs.out_layout
        self.data, self.weight = shape_of(data), shape_of(weight)
        if self.data is not None:
            self.data = tuple(to_layout(builder, self.data, attrs.data_layout, whole))
        if self.weight is not None:
            sizes = to_layout(builder, self.weight, attrs.kernel_layout, kernel + spatial)
            self.weight = tuple(sizes)

    def unknown(self) -> TensorStructInfo:
        """A result of which the sizes are not known."""
        return TensorStructInfo(None, self.dtype, self.vdevice, rank_of(self.out_layout))

    def sized(self, sizes: Sequence[Expr]) -> TensorStructInfo:
        """The result, of sizes in the order N, C, spatial dimensions."""
        simple = [self.builder.analyzer.simplify(size) for size in sizes]
        layout_sizes = to_layout(self.builder, simple, self.whole, self.out_layout)
        return TensorStructInfo(ShapeExpr(tuple(layout_sizes)), self.dtype, self.vdevice)


def _infer_conv(call: GraphCall, builder: BlockBuilder, count: int) -> StructInfo:
    arguments = _Arguments(call, builder, count, "OI")
    data, weight, attrs = arguments.data, arguments.weight, call.attrs
    if data is None or weight is None:
        return arguments.unknown()
    groups = ops.const(attrs.groups, "int64")
    check_equal(call, builder, data[1], ops.multiply(weight[1], groups), "the input channels")
    _check_divides(call, builder, attrs.groups, weight[0], "output channels")
    result_sizes = [data[0], weight[0]]
    for at in range(count):
        reach = ops.multiply(attrs.dilation[at], ops.subtract(weight[2 + at], 1))
        padded = ops.add(data[2 + at], ops.add(attrs.padding[at], attrs.padding[at + count]))
        check_at_least(call, builder, padded, ops.add(reach, 1), "the padded size of the data")
        steps = ops.subtract(ops.subtract(padded, reach), 1)
        result_sizes.append(ops.add(ops.floordiv(steps, attrs.strides[at]), 1))
    return arguments.sized(result_sizes)


def _check_divides(
    call: GraphCall, builder: BlockBuilder, groups: int, size: Any, what: str
) -> None:
    rest = ops.floormod(size, ops.const(groups, "int64"))
    if groups == 1:
        return
    if builder.analyzer.can_prove(ops.not_equal(rest, 0)):
        raise GraphError(
            f"{call.op} has {groups} groups of {size_text(size)} {what}",
            f"{call.op} is called with {', '.join(str(arg.struct_info) for arg in call.args)}",
            "give a number of groups that divides the channels",
        )
    builder.require("equal", rest, 0, f"the rest of {what} in {groups} groups of {call.op}")


def _convolution_rule(rank: int) -> Rewrite:
    """The rule of a convolution; others than from a layout to itself are left to libraries."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs, dtype = call.attrs, call.struct_info.dtype  # type: ignore[attr-defined]
        if attrs.out_layout != attrs.data_layout or len(attrs.data_layout) != rank + 2:
            warn(f"{call.op} from {attrs.data_layout} to {attrs.out_layout} has no rule")
            return call
        return builder.call_te(
            topi.nn.conv,
            *call.args,
            stride=numbers_of(attrs.strides),
            padding=numbers_of(attrs.padding),
            dilation=numbers_of(attrs.dilation),
            groups=attrs.groups,
            data_layout=attrs.data_layout,
            kernel_layout=attrs.kernel_layout,
            out_dtype=dtype,
            primfunc_name_hint=f"conv{rank}d",
        )

    return legalize


conv1d = _convolution(1)
conv2d = _convolution(
    2,
    """

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([1, 3, 32, 32], "float32"))
    >>> w = relax.Var("w", relax.TensorStructInfo([8, 3, 3, 3], "float32"))
    >>> relax.BlockBuilder().normalize(conv2d(x, w, padding=1)).struct_info
    R.Tensor((1, 8, 32, 32), dtype="float32")
    """,
)
conv3d = _convolution(3)

# Transposed convolutions


if TYPE_CHECKING:

    class _TransposedConvolution(Protocol):
        def __call__(
            self,
            data: Value,
            weight: Value,
            strides: Numbers = ...,
            padding: Numbers = ...,
            output_padding: Numbers = ...,
            dilation: Numbers = ...,
            groups: int = ...,
            data_layout: str = ...,
            kernel_layout: str = ...,
            out_layout: str | None = ...,
            out_dtype: Any = ...,
        ) -> GraphCall: ...


def _transposed(rank: int, layout: Layout | None = None) -> _TransposedConvolution:
    """The function that makes calls of a transposed convolution, which it declares."""
    name, letters = f"conv{rank}d_transpose", _SPATIAL[rank]
    stride, width = _of_each(1, rank), _of_each(0, rank)
    declare(
        f"relax.nn.{name}",
        lambda call, builder: _infer_transposed(call, builder, rank),
        legalize=_transposed_rule(rank, in_phases=False),
        exact=_transposed_rule(rank, in_phases=True),
        layout=layout,
    )

    def call_operator(
        data: Value,
        weight: Value,
        strides: Numbers = stride,
        padding: Numbers = width,
        output_padding: Numbers = width,
        dilation: Numbers = stride,
        groups: int = 1,
        data_layout: str = f"NC{letters}",
        kernel_layout: str = f"IO{letters}",
        out_layout: str | None = None,
        out_dtype: Any = None,
    ) -> GraphCall:
        check_groups(groups, name)
        return make_call(
            f"relax.nn.{name}",
            [data, weight],
            strides=as_sizes(strides, rank, "strides", least=1),
            padding=as_padding(padding, rank),
            output_padding=as_sizes(output_padding, rank, "output_padding", least=0),
            **_attrs(rank, dilation, groups, (data_layout, kernel_layout, out_layout), out_dtype),
        )

    summary = f"The transposed convolution of {_DIMENSIONS[rank]}: the gradient of conv{rank}d"
    return named(call_operator, name, f"{summary} by its input.")


def _infer_transposed(call: GraphCall, builder: BlockBuilder, count: int) -> StructInfo:
    arguments = _Arguments(call, builder, count, "IO")
    data, weight, attrs = arguments.data, arguments.weight, call.attrs
    if data is None or weight is None:
        return arguments.unknown()
    check_equal(call, builder, data[1], weight[0], "the input channels")
    _check_divides(call, builder, attrs.groups, data[1], "input channels")
    steps_of = zip(attrs.output_padding, attrs.strides, attrs.dilation, strict=True)
    for extra, step, gap in steps_of:
        if builder.analyzer.can_prove(ops.greater_equal(extra, ops.maximum(step, gap))):
            raise GraphError(
                f"output_padding {extra} of {call.op} is not less than its stride {step}",
                "the padding chooses one of the sizes that a stride makes equal",
                "give a smaller one",
            )
    result_sizes = [data[0], ops.multiply(weight[1], ops.const(attrs.groups, "int64"))]
    for at in range(count):
        steps = ops.multiply(ops.subtract(data[2 + at], 1), attrs.strides[at])
        reach = ops.multiply(attrs.dilation[at], ops.subtract(weight[2 + at], 1))
        cut = ops.add(attrs.padding[at], attrs.padding[at + count])
        size = ops.add(ops.subtract(steps, cut), reach)
        result_sizes.append(ops.add(ops.add(size, attrs.output_padding[at]), 1))
    return arguments.sized(result_sizes)


def _transposed_rule(rank: int, in_phases: bool) -> Rewrite:
    """The rule of a transposed convolution of the layouts that topi has."""
    name, letters = f"conv{rank}d_transpose", _SPATIAL[rank]
    layouts = (f"NC{letters}", f"IO{letters}")

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs
        layouts_of_call = (attrs.data_layout, attrs.kernel_layout)
        dilation = numbers_of(attrs.dilation)
        if layouts_of_call != layouts or attrs.out_layout != layouts[0]:
            warn(f"{call.op} has no rule for layouts {layouts_of_call}")
            return call
        sizes = (numbers_of(attrs.strides), numbers_of(attrs.padding))
        extra = numbers_of(attrs.output_padding)
        dtype = call.struct_info.dtype  # type: ignore[attr-defined]
        te_name = f"{name}_nc{letters.lower()}"

        def te_transposed(data: te.Tensor, weight: te.Tensor) -> te.Tensor:
            is_grouped, is_spread = attrs.groups != 1, any(step != 1 for step in dilation)
            if in_phases and not is_spread and any(step != 1 for step in sizes[0]):
                return topi.nn.conv_transpose.conv_transpose_in_phases(
                    data, weight, *sizes, dtype, extra, rank, attrs.groups
                )
            if is_spread:  # of elements and zeros between them
                weight = topi.nn.dilate(weight, [1, 1, *dilation])
            function = getattr(topi.nn, f"group_{te_name}" if is_grouped else te_name)
            groups = [attrs.groups] if is_grouped else []
            result: te.Tensor = function(data, weight, *sizes, dtype, extra, *groups)
            return result

        return builder.call_te(te_transposed, *call.args, primfunc_name_hint=name)

    return legalize


conv1d_transpose = _transposed(1)
conv2d_transpose = _transposed(2, _LAYOUT)
conv3d_transpose = _transposed(3)
