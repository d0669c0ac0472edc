"""Pools: the maximum or mean of windows, and means of a number of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from te_sched import te
from te_sched.errors import GraphError, warn
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import shape_of, tensor_of
from te_sched.relax.operators.layouts import Layout, Order, Plan, layout_in_order
from te_sched.relax.operators.legalization import (
    TEFunc,
    for_floats,
    numbers_of,
    topi,
    topi_function,
)
from te_sched.relax.operators.registry import FOLLOWS, Rewrite, declare, make_call, named
from te_sched.relax.operators.sizes import as_padding, as_sizes, check_at_least, given_sizes
from te_sched.relax.operators.spatial_layouts import (
    check_layout,
    check_rank_of_layout,
    rank_of,
    to_layout,
)

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


_DIMENSIONS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


def pool_attrs(
    count: int,
    pool_size: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    layout: str,
    out_layout: str | None,
) -> dict[str, Any]:
    """The attributes of a pool of `count` dimensions."""
    return {
        "pool_size": as_sizes(pool_size, count, "pool_size", least=1),
        "strides": as_sizes(strides, count, "strides", least=1),
        "dilation": as_sizes(dilation, count, "dilation", least=1),
        "padding": as_padding(padding, count),
        "ceil_mode": bool(ceil_mode),
        "count_include_pad": bool(count_include_pad),
        "layout": layout,
        "out_layout": out_layout or layout,
    }


if TYPE_CHECKING:

    class _Pool(Protocol):
        """The function that makes calls of a pool."""

        def __call__(
            self,
            data: Value,
            pool_size: Numbers = ...,
            strides: Numbers = ...,
            padding: Numbers = ...,
            dilation: Numbers = ...,
            ceil_mode: bool = ...,
            count_include_pad: bool = ...,
            layout: str = ...,
            out_layout: str | None = ...,
        ) -> GraphCall:
            """A call."""


def _pool(kind: str, rank: int, words: str, parameters: str) -> _Pool:
    """The function that makes calls of a pool, which it declares."""
    name, ones = f"{kind}_pool{rank}d", (1,) * rank
    widths = (0, 0) if rank == 1 else (0,) * rank
    legalize = _pool_rule(topi_function(f"nn.pool{rank}d"), kind, name)
    declare(
        f"relax.nn.{name}",
        lambda call, builder: pooled_info(call, builder, rank),
        mixed_precision=FOLLOWS,
        legalize=legalize,
        exact=for_floats(_pool_rule(_exact_max, kind, name), legalize) if kind == "max" else None,
        layout=_LAYOUT if rank == 2 else None,
    )

    def call_operator(
        data: Value,
        pool_size: Numbers = ones,
        strides: Numbers = ones,
        padding: Numbers = widths,
        dilation: Numbers = ones,
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        layout: str = _LAYOUTS[rank],
        out_layout: str | None = None,
    ) -> GraphCall:
        windows = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
        attrs = pool_attrs(rank, *windows, layout, out_layout)
        return make_call(f"relax.nn.{name}", [data], **attrs)

    summary = f"{words} of each window, in {_DIMENSIONS[rank]}."
    return named(call_operator, name, summary + parameters)


def pooled_info(
    call: GraphCall, builder: BlockBuilder, count: int, index: int = 0
) -> TensorStructInfo:
    """The struct info of the pool of an argument: of its windows in `count` dimensions."""
    data, attrs, whole = tensor_of(call, index), call.attrs, _LAYOUTS[count]
    sizes = _checked(call, builder, data, whole, index)
    if sizes is None:
        return TensorStructInfo(None, data.dtype, data.vdevice, rank_of(attrs.out_layout))
    result_sizes = list(sizes[:2])
    for at in range(count):
        reach = ops.multiply(attrs.dilation[at], ops.subtract(attrs.pool_size[at], 1))
        padded = ops.add(sizes[2 + at], ops.add(attrs.padding[at], attrs.padding[at + count]))
        if attrs.ceil_mode:  # the last window may end after the data
            padded = ops.add(padded, ops.subtract(attrs.strides[at], 1))
        check_at_least(call, builder, padded, ops.add(reach, 1), "the padded size of the data")
        steps = ops.subtract(ops.subtract(padded, reach), 1)
        result_sizes.append(ops.add(ops.floordiv(steps, attrs.strides[at]), 1))
    return _result(builder, data, result_sizes, whole, attrs.out_layout)


def _checked(
    call: GraphCall, builder: BlockBuilder, data: TensorStructInfo, whole: str, index: int = 0
) -> list[Any] | None:
    """The sizes of the tensor in the order N, C, spatial dimensions, if they are known."""
    attrs = call.attrs
    check_layout(call, "layout", attrs.layout, whole)
    check_layout(call, "out_layout", attrs.out_layout, whole)
    check_rank_of_layout(call, index, data, attrs.layout)
    sizes = shape_of(data)
    return None if sizes is None else to_layout(builder, sizes, attrs.layout, whole)


def _result(
    builder: BlockBuilder, data: TensorStructInfo, sizes: list[Any], whole: str, layout: str
) -> TensorStructInfo:
    simple = [builder.analyzer.simplify(ops.cast("int64", size)) for size in sizes]
    layout_sizes = to_layout(builder, simple, whole, layout)
    return TensorStructInfo(ShapeExpr(tuple(layout_sizes)), data.dtype, data.vdevice)


def _layout_of_pool(call: GraphCall, orders: list[Order]) -> Plan | None:
    order, attrs = orders[0], call.attrs
    if attrs.layout != attrs.out_layout or len(attrs.layout) != len(order):
        return None
    layout = layout_in_order(order, attrs.layout)
    return Plan({0: order}, order, {"layout": layout, "out_layout": layout})


_LAYOUT = Layout(_layout_of_pool, arguments=("layout",))


def _pool_rule(te_func: TEFunc, kind: str, name: str) -> Rewrite:
    """The rule of a pool of windows."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs
        if attrs.out_layout != attrs.layout:
            warn(f"{call.op} from {attrs.layout} to {attrs.out_layout} has no rule")
            return call
        return builder.call_te(
            te_func,
            call.args[0],
            kernel=numbers_of(attrs.pool_size),
            stride=numbers_of(attrs.strides),
            dilation=numbers_of(attrs.dilation),
            padding=numbers_of(attrs.padding),
            pool_type=kind,
            ceil_mode=attrs.ceil_mode,
            layout=attrs.layout,
            count_include_pad=attrs.count_include_pad,
            primfunc_name_hint=name,
        )

    return legalize


def _exact_max(data: te.Tensor, kernel: Sequence[Expr], **options: Any) -> te.Tensor:
    """The maximum of windows of floats, which is NaN if an element is."""
    names = ("stride", "dilation", "padding", "ceil_mode", "layout")
    return topi.nn.pooling.max_pool_of_floats(data, kernel, *[options[name] for name in names])


_OF_MAX = """

    Parameters
    ----------
    padding : elements around the tensor, that no window counts.
    ceil_mode : whether a window may reach over the end.
    count_include_pad : has no meaning for a maximum.
    """
_OF_MEAN = """

    Parameters
    ----------
    count_include_pad : whether the zeros of the padding are counted.
    """

max_pool1d = _pool("max", 1, "The maximum", _OF_MAX)
max_pool2d = _pool("max", 2, "The maximum", _OF_MAX)
max_pool3d = _pool("max", 3, "The maximum", _OF_MAX)
avg_pool1d = _pool("avg", 1, "The mean", _OF_MEAN)
avg_pool2d = _pool("avg", 2, "The mean", _OF_MEAN)
avg_pool3d = _pool("avg", 3, "The mean", _OF_MEAN)

# Pools of a number of parts


if TYPE_CHECKING:

    class _AdaptivePool(Protocol):
        def __call__(
            self,
            data: Value,
            output_size: Numbers | None = ...,
            layout: str = ...,
            out_layout: str | None = ...,
        ) -> GraphCall: ...


def _adaptive(rank: int, summary: str, te_name: str) -> _AdaptivePool:
    """The function that makes calls of a pool of parts, which it declares."""
    name = f"adaptive_avg_pool{rank}d"
    declare(
        f"relax.nn.{name}",
        lambda call, builder: _infer_adaptive(call, builder, rank),
        mixed_precision=FOLLOWS,
        legalize=_adaptive_rule(te_name, rank),
        layout=_LAYOUT if rank == 2 else None,
    )

    def call_operator(
        data: Value,
        output_size: Numbers | None = None,
        layout: str = _LAYOUTS[rank],
        out_layout: str | None = None,
    ) -> GraphCall:
        return make_call(
            f"relax.nn.{name}",
            [data],
            output_size=_output_sizes(output_size, rank),
            layout=layout,
            out_layout=out_layout or layout,
        )

    return named(call_operator, name, summary)


def _output_sizes(output_size: Numbers | None, rank: int) -> tuple[int, ...] | None:
    if output_size is None:
        return None
    sizes = given_sizes(output_size, "output_size")
    sizes = sizes * rank if len(sizes) == 1 else sizes
    if len(sizes) != rank:
        raise GraphError(
            f"output_size has {len(sizes)} values, expected 1 or {rank}",
            f"it is {output_size}",
            "give one number, or one for each spatial dimension",
        )
    return sizes


def _infer_adaptive(call: GraphCall, builder: BlockBuilder, count: int) -> StructInfo:
    data, attrs, whole = tensor_of(call, 0), call.attrs, _LAYOUTS[count]
    sizes = _checked(call, builder, data, whole)
    is_kept = attrs.output_size is None and attrs.layout == attrs.out_layout
    if is_kept and (data.shape is not None or data.ndim != -1):
        return data
    if sizes is None:
        return TensorStructInfo(None, data.dtype, data.vdevice, rank_of(attrs.out_layout))
    wanted = sizes[2:] if attrs.output_size is None else list(attrs.output_size)
    return _result(builder, data, [*sizes[:2], *wanted], whole, attrs.out_layout)


def _adaptive_rule(te_name: str, rank: int) -> Rewrite:
    """The rule of a pool of parts."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs
        if attrs.out_layout != attrs.layout:
            warn(f"{call.op} from {attrs.layout} to {attrs.out_layout} has no rule")
            return call

        def te_adaptive(data: te.Tensor, sizes: Sequence[Expr] | None, layout: str) -> te.Tensor:
            if sizes is None:
                sizes = [data.shape[layout.index(axis)] for axis in "DHW"[3 - rank :]]
            pool: te.Tensor = getattr(topi.nn, te_name)(data, sizes, "avg", layout)
            return pool

        name = f"adaptive_avg_pool{rank}d"
        sizes = None if attrs.output_size is None else list(attrs.output_size)
        return builder.call_te(
            te_adaptive, call.args[0], sizes, attrs.layout, primfunc_name_hint=name
        )

    return legalize


adaptive_avg_pool1d = _adaptive(
    1, "The means of `output_size` parts of one dimension; None keeps the size.", "adaptive_pool1d"
)
adaptive_avg_pool2d = _adaptive(
    2,
    "The means of parts, by `output_size` for each of two dimensions; None keeps the sizes.",
    "adaptive_pool",
)
adaptive_avg_pool3d = _adaptive(
    3,
    "The means of parts, by `output_size` for each of three dimensions; None keeps the sizes.",
    "adaptive_pool3d",
)
