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
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from te_sched.passes import PassInfo
from te_sched.relax import op
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass
from te_sched.transform import Sequential

Rule = Callable[[BlockBuilder, GraphCall], Any]


def DecomposeOpsForInference(func_name: str | None = None) -> FunctionPass:
    """The pass that decomposes batch_norm with the moving mean and variance, and tensor_to_shape.

    Parameters
    ----------
    func_name : the function; by default all functions.
    """
    return _decompose("DecomposeOps", func_name, _INFERENCE)


def DecomposeOpsForTraining(func_name: str | None = None) -> Sequential:
    """The pass that decomposes batch_norm with the mean and variance of the data, and layer_norm.

    Parameters
    ----------
    func_name : the function; by default all functions.
    """
    passes = [
        _decompose("MutateOpsForTraining", func_name, _TRAINING),
        _decompose("DecomposeOps", func_name, _INFERENCE),
    ]
    return Sequential(passes, name="DecomposeOpsForTraining")


def _decompose(name: str, func_name: str | None, rules: Mapping[str, Rule]) -> FunctionPass:
    def run(func: GraphFunction, mod: Any, *_: object) -> GraphFunction:
        if func_name is not None and mod.functions.get(func_name) is not func:
            return func
        new: GraphFunction = _Decomposer(rules).visit_expr(func)
        return new

    return FunctionPass(run, PassInfo(0, name))


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
