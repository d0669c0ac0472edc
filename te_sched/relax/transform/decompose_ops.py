"""DecomposeOpsForInference and DecomposeOpsForTraining: calls of operators that mean something else
in each of them become calls of simpler ones, by the rules of their declarations.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphFunction,
)
from te_sched.ir.stmt import IRModule
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.registry import Operator, Rewrite, find_operator
from te_sched.relax.transform.base import FunctionPass
from te_sched.transform import Sequential


class DecomposeOpsForInference(FunctionPass, name="DecomposeOps"):
    """The pass that decomposes batch_norm with the moving mean and variance, and tensor_to_shape.

    Parameters
    ----------
    func_name : the function; by default all functions.
    to_run : whether operators with a rule for builds are decomposed, too, such as attention of one
        query: as in `relax.build`.
    """

    def __init__(self, func_name: str | None = None, *, to_run: bool = False) -> None:
        self.func_name, self.to_run = func_name, to_run

    def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> GraphFunction:
        """The function without these operators."""
        if self.func_name is not None and mod.functions.get(self.func_name) is not func:
            return func
        new: GraphFunction = _Decomposer(self.rule_of).visit_expr(func)
        return new

    def rule_of(self, operator: Operator) -> Rewrite | None:
        """What rewrites calls of an operator; None if they stay."""
        return operator.inference or (operator.composition if self.to_run else None)


class _MutateOpsForTraining(DecomposeOpsForInference, name="MutateOpsForTraining"):
    def rule_of(self, operator: Operator) -> Rewrite | None:
        return operator.training


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
    def __init__(self, rule_of: Callable[[Operator], Rewrite | None]) -> None:
        super().__init__()
        self._rule_of = rule_of

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, or what its rule makes of it."""
        call = self.visit_expr_post_order(op)
        operator = find_operator(call.op) if isinstance(call, GraphCall) else None
        rule = self._rule_of(operator) if operator is not None else None
        return call if rule is None else rule(self.builder_, call)
