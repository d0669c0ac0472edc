"""The pass `FastMathTransform`."""

from __future__ import annotations

from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.stmt import IRModule
from te_sched.ir.visitor import replace
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.registry import find_operator


class FastMathTransform(ModulePass):
    """The pass that computes exp, erf, tanh and softmax by faster approximations.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     gv = builder.emit_func_output(builder.emit(relax.op.exp(x)))
    >>> [str(name) for name in FastMathTransform()(builder.get()).functions]
    ['main', 'fast_exp']
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return approximated(mod)


def approximated(mod: IRModule) -> IRModule:
    """The module with faster approximations of functions."""
    rewriting = _Approximation(mod)
    changed = {
        name: rewriting.visit_expr(func)
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction)
    }
    new_module = rewriting.builder_.get()
    return replace(new_module, functions={**new_module.functions, **changed})


class _Approximation(PyExprMutator):
    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, of an approximation if there is one."""
        call = self.visit_expr_post_order(op)
        operator = find_operator(call.op) if isinstance(call, GraphCall) else None
        if operator is None or operator.approximate is None:
            return call
        return operator.approximate(self.builder_, call)
