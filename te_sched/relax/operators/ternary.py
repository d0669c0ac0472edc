"""Functions of three tensors, element by element, without broadcasting."""

from __future__ import annotations

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import common_dtype, common_vdevice, shape_of, tensors_of
from te_sched.relax.operators.legalization import te_rule, topi
from te_sched.relax.operators.registry import FOLLOWS, declare, make_call


def ewise_fma(x1: Value, x2: Value, x3: Value) -> GraphCall:
    """x1 * x2 + x3, of tensors of one shape."""
    return make_call("relax.ewise_fma", [x1, x2, x3])


def _infer_ewise_fma(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = tensors_of(call, 3)
    dtype, vdevice = common_dtype(call, infos), common_vdevice(call, infos)
    ranks = {info.ndim for info in infos if info.ndim != -1}
    if len(ranks) > 1:
        raise _different(call)
    first = infos[0].shape
    if first is not None and all(info.shape is first for info in infos):
        return TensorStructInfo(first, dtype, vdevice)
    shapes = [shape_of(info) for info in infos]
    if None not in shapes:
        pairs = [
            (size, other)
            for shape in shapes[1:]
            for size, other in zip(shapes[0], shape, strict=True)  # type: ignore[arg-type]
        ]
        if any(builder.analyzer.can_prove(ops.not_equal(*pair)) for pair in pairs):
            raise _different(call)
        if all(builder.analyzer.can_prove_equal(*pair) for pair in pairs):
            return TensorStructInfo(ShapeExpr(shapes[0]), dtype, vdevice)  # type: ignore[arg-type]
    return TensorStructInfo(None, dtype, vdevice, max(ranks, default=-1))


def _different(call: GraphCall) -> GraphError:
    return GraphError(
        f"the arguments of {call.op} have different shapes",
        f"it is called with {', '.join(str(arg.struct_info) for arg in call.args)}",
        "give tensors of one shape, or use relax.op.add(relax.op.multiply(x1, x2), x3)",
    )


def _fma(x: te.Tensor, y: te.Tensor, z: te.Tensor) -> te.Tensor:
    return topi.utils.compute(
        x.shape, lambda *i: ops.add(ops.multiply(x(*i), y(*i)), z(*i)), name="T_fma"
    )


declare(
    "relax.ewise_fma",
    _infer_ewise_fma,
    mixed_precision=FOLLOWS,
    legalize=te_rule(_fma, "ewise_fma"),
)
