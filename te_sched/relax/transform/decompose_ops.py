"""DecomposeOpsForInference and DecomposeOpsForTraining: calls of operators that mean something else
in each of them become calls of simpler ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from te_sched.ir.expr import IntImm, Var
from te_sched.ir.graph import (
    Constant,
    GraphCall,
    GraphFunction,
    Tuple,
    TupleGetItem,
)
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from te_sched.relax import op
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass
from te_sched.transform import Sequential

Rule = Callable[[BlockBuilder, GraphCall], Any]


class DecomposeOpsForInference(FunctionPass, name="DecomposeOps"):
    """The pass that decomposes batch_norm with the moving mean and variance, and tensor_to_shape.

    Parameters
    ----------
    func_name : the function; by default all functions.
    """

    def __init__(self, func_name: str | None = None) -> None:
        self.func_name = func_name

    def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> GraphFunction:
        """The function without these operators."""
        if self.func_name is not None and mod.functions.get(self.func_name) is not func:
            return func
        new: GraphFunction = _Decomposer(self.rules()).visit_expr(func)
        return new

    def rules(self) -> Mapping[str, Rule]:
        """What calls of operators become, by name."""
        return _INFERENCE


class _MutateOpsForTraining(DecomposeOpsForInference, name="MutateOpsForTraining"):
    def rules(self) -> Mapping[str, Rule]:
        return _TRAINING


class DecomposeOpsForTraining(Sequential):
    """The pass that decomposes batch_norm with the mean and variance of the data, and layer_norm.

    Parameters
    ----------
    func_name : the function; by default all functions.
    """

    def __init__(self, func_name: str | None = None) -> None:
        passes = [_MutateOpsForTraining(func_name), DecomposeOpsForInference(func_name)]
        super().__init__(passes, name="DecomposeOpsForTraining")


class _Decomposer(PyExprMutator):
    def __init__(self, rules: Mapping[str, Rule]) -> None:
        super().__init__()
        self._rules = rules

    def visit_call_(self, op: GraphCall) -> Any:
        """The call, or what its rule makes of it."""
        call = self.visit_expr_post_order(op)
        rule = self._rules.get(str(call.op)) if isinstance(call, GraphCall) else None
        return call if rule is None else rule(self.builder_, call)


def _number(value: float, like: Any) -> Constant:
    return const(value, like.struct_info.dtype)


def _normalized(call: GraphCall, mean: Any, variance: Any) -> Any:
    """(data - mean) / sqrt(variance + epsilon) * gamma + beta, by channels."""
    data, gamma, beta, attrs = *call.args[:3], call.attrs
    info = data.struct_info
    assert isinstance(info, TensorStructInfo)
    axes = [at for at in range(info.ndim) if at != attrs.axis % info.ndim]
    return _scaled(
        call,
        op.subtract(data, op.expand_dims(mean, axes)),
        op.expand_dims(variance, axes),
        op.expand_dims(gamma, axes),
        op.expand_dims(beta, axes),
    )


def _scaled(call: GraphCall, centered: Any, variance: Any, gamma: Any, beta: Any) -> Any:
    attrs = call.attrs
    spread = op.sqrt(op.add(variance, _number(attrs.epsilon, call.args[0])))
    found = op.divide(centered, spread)
    found = op.multiply(found, gamma) if attrs.scale else found
    return op.add(found, beta) if attrs.center else found


def _batch_norm(builder: BlockBuilder, call: GraphCall) -> Any:
    """batch_norm of inference: the moving mean and variance are used and stay."""
    del builder
    mean, variance = call.args[3:]
    return Tuple((_normalized(call, mean, variance), mean, variance))


def _batch_norm_of_training(builder: BlockBuilder, call: GraphCall) -> Any:
    """batch_norm of training: the mean and variance are those of the data, and move."""
    data, gamma, beta, moving_mean, moving_variance = call.args
    info = data.struct_info
    assert isinstance(info, TensorStructInfo)
    axes = [at for at in range(info.ndim) if at != call.attrs.axis % info.ndim]
    mean, variance = builder.emit(op.mean(data, axes)), builder.emit(op.variance(data, axes))
    parts = builder.emit(GraphCall(call.op, (data, gamma, beta, mean, variance), call.attrs))
    found = builder.emit(TupleGetItem(parts, 0))
    rate = call.attrs.momentum
    kept, added = _number(1 - rate, moving_mean), _number(rate, moving_mean)
    return Tuple(
        (
            found,
            op.add(op.multiply(kept, moving_mean), op.multiply(added, mean)),
            op.add(op.multiply(kept, moving_variance), op.multiply(added, variance)),
        )
    )


def _layer_norm(builder: BlockBuilder, call: GraphCall) -> Any:
    del builder
    data, gamma, beta = call.args
    axes = list(call.attrs.axes)
    centered = op.subtract(data, op.mean(data, axes, keepdims=True))
    return _scaled(call, centered, op.variance(data, axes, keepdims=True), gamma, beta)


def _tensor_to_shape(builder: BlockBuilder, call: GraphCall) -> Any:
    """The sizes of the shape become variables, which are matched when the graph runs."""
    info = call.args[0].struct_info
    size = info.shape.values[0] if isinstance(info.shape, ShapeExpr) else None
    if not isinstance(size, IntImm):
        return call
    known = ShapeStructInfo(None, size.value)
    packed = op.call_pure_packed("vm.builtin.tensor_to_shape", call.args[0], sinfo_args=(known,))
    shape = builder.emit(packed)
    sizes = tuple([Var("x", "int64") for _ in range(size.value)])
    builder.match_cast(shape, ShapeStructInfo(sizes))
    return ShapeExpr(sizes)


_COMMON: dict[str, Rule] = {"relax.tensor_to_shape": _tensor_to_shape}
_INFERENCE: dict[str, Rule] = {**_COMMON, "relax.nn.batch_norm": _batch_norm}
_TRAINING: dict[str, Rule] = {
    "relax.nn.batch_norm": _batch_norm_of_training,
    "relax.nn.layer_norm": _layer_norm,
}
