"""Shapes as values, and as tensors."""

from __future__ import annotations

from te_sched.ir.expr import IntImm, Var
from te_sched.ir.graph import GraphCall, GraphExpr, as_expr
from te_sched.ir.op import Op
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.calls import call_pure_packed, machine_call
from te_sched.relax.operators.inference import argument_error, tensor_of
from te_sched.relax.operators.inference import shape_of as known_shape
from te_sched.relax.operators.registry import declare


def shape_of(expr: Value) -> GraphCall:
    """The shape of a tensor."""
    return GraphCall(Op.get("relax.shape_of"), (expr,))


def _infer_shape_of(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    return ShapeStructInfo(known_shape(info), info.ndim)


declare("relax.shape_of", _infer_shape_of, lower=machine_call("vm.builtin.shape_of"))


def tensor_to_shape(expr: Value) -> GraphCall:
    """A tensor of int64 with one dimension as a shape."""
    return GraphCall(Op.get("relax.tensor_to_shape"), (expr,))


def _infer_tensor_to_shape(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    if info.ndim not in (-1, 1) or info.dtype not in ("", "int64"):
        raise argument_error(call, 0, "a tensor of int64 with one dimension")
    sizes = known_shape(info)
    rank = sizes[0] if sizes is not None else None
    return ShapeStructInfo(None, rank.value if isinstance(rank, IntImm) else -1)


def _match_sizes(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """The sizes of the shape become variables, which are matched when the graph runs."""
    info = call.args[0].struct_info
    size = info.shape.values[0] if isinstance(info.shape, ShapeExpr) else None
    if not isinstance(size, IntImm):
        return call
    rank = ShapeStructInfo(None, size.value)
    packed = call_pure_packed("vm.builtin.tensor_to_shape", call.args[0], sinfo_args=(rank,))
    shape = builder.emit(packed)
    sizes = tuple([Var("x", "int64") for _ in range(size.value)])
    builder.match_cast(shape, ShapeStructInfo(sizes))
    return ShapeExpr(sizes)


declare(
    "relax.tensor_to_shape",
    _infer_tensor_to_shape,
    inference=_match_sizes,
    lower=machine_call("vm.builtin.tensor_to_shape"),
)


def shape_to_tensor(expr: Value) -> GraphCall:
    """A shape as a tensor of int64 with one dimension."""
    return GraphCall(
        Op.get("relax.shape_to_tensor"), (expr if isinstance(expr, GraphExpr) else as_expr(expr),)
    )


def _infer_shape_to_tensor(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = call.args[0].struct_info
    if not isinstance(info, ShapeStructInfo):
        raise argument_error(call, 0, "a shape")
    if info.ndim == -1:
        return TensorStructInfo(None, "int64", None, 1)
    return TensorStructInfo([info.ndim], "int64")


declare(
    "relax.shape_to_tensor",
    _infer_shape_to_tensor,
    packed="relax.run.shape_to_tensor",
    lower=machine_call("vm.builtin.shape_to_tensor"),
)
