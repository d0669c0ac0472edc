"""Rules of operators that take parts of tensors."""

from __future__ import annotations

from typing import Any

from te_sched import te, topi
from te_sched.ir import ops
from te_sched.ir.expr import Var
from te_sched.ir.graph import ExternFunc, GraphCall
from te_sched.ir.op import Op
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.op.index import slice_arguments
from te_sched.relax.transform.legalize_ops.common import library_rule


@library_rule("relax.take")
def _take(builder: BlockBuilder, call: GraphCall) -> Any:
    data, indices = call.args
    axis = call.attrs.axis
    return builder.call_te(topi.take, data, indices, axis, 0, "fast")


@library_rule("relax.strided_slice")
def _strided_slice(builder: BlockBuilder, call: GraphCall) -> Any:
    axes, begin, end, strides = slice_arguments(call)
    return builder.call_te(
        topi.strided_slice,
        call.args[0],
        begin,
        end,
        strides,
        axes,
        "end",
        call.attrs.assume_inbound,
    )


@library_rule("relax.dynamic_strided_slice")
def _dynamic_strided_slice(builder: BlockBuilder, call: GraphCall) -> Any:
    """The sizes are computed first, then matched, then the elements are read."""
    info = call.args[0].struct_info
    ndim = ShapeStructInfo(None, info.ndim)
    sizes = builder.emit(builder.call_te(_slice_sizes, *call.args, primfunc_name_hint="shape_func"))
    packed = GraphCall(
        Op.get("relax.call_pure_packed"),
        (ExternFunc("vm.builtin.tensor_to_shape"), sizes),
        None,
        (ndim,),
    )
    shape = builder.emit(packed)
    variables = [Var("s", "int64") for _ in range(info.ndim)]
    builder.match_cast(shape, ShapeStructInfo(tuple(variables)))
    made = builder.call_te(
        _slice_elements,
        *call.args,
        variables,
        primfunc_name_hint="dynamic_strided_slice",
    )
    return GraphCall(
        made.op,
        made.args[:2],
        made.attrs,
        (TensorStructInfo(ShapeExpr(tuple(variables)), info.dtype, info.vdevice),),
    )


def _bound(value: Any, extent: Any, stride: Any) -> Any:
    """A bound as numpy moves it, for a stride of either direction."""
    moved = te.select(value < 0, value + extent, value)
    down = ops.minimum(ops.maximum(moved, -1), extent - 1)
    up = ops.minimum(ops.maximum(moved, 0), extent)
    return te.select(stride < 0, down, up)


def _slice_sizes(data: Any, begin: Any, end: Any, strides: Any) -> Any:
    def size(i: Any) -> Any:
        extent: Any = ops.const(-1, "int64")
        for at, one in enumerate(data.shape):
            extent = te.select(i == at, ops.cast("int64", one), extent)
        step = strides[i]
        first, last = _bound(begin[i], extent, step), _bound(end[i], extent, step)
        down = ops.floordiv(first - last - step - 1, ops.multiply(step, -1))
        up = ops.floordiv(last - first + step - 1, step)
        size = ops.maximum(te.select(step < 0, down, up), 0)
        return te.select(ops.equal(step, 0), -1, size)  # which no shape has

    return te.compute((data.ndim,), size, name="T_shape_func_strided_slice_dynamic")


def _slice_elements(data: Any, begin: Any, end: Any, strides: Any, sizes: Any) -> Any:
    del end

    def element(*i: Any) -> Any:
        return data(
            *[
                _bound(begin[at], extent, strides[at]) + one * strides[at]
                for at, (one, extent) in enumerate(zip(i, data.shape, strict=True))
            ]
        )

    return topi.utils.tensor_of(sizes, element, "T_strided_slice_dynamic")
