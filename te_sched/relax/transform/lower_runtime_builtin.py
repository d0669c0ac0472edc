"""LowerRuntimeBuiltin: operators of memory, shapes and closures become those of the machine.

TVM 0.19 also calls it VMBuiltinLower.
"""

from __future__ import annotations

from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.op import Op
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.registry import find_operator
from te_sched.relax.transform.base import FunctionPass


class LowerRuntimeBuiltin(FunctionPass):
    """The pass that replaces operators by those of the virtual machine.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> function = relax.Function([x], relax.op.shape_of(x))
    >>> new = LowerRuntimeBuiltin()(IRModule({"main": function}))["main"]
    >>> new.body.blocks[0].bindings[0].value.op.global_symbol
    'vm.builtin.shape_of'
    """

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Lowered().visit_expr(func)


VMBuiltinLower = LowerRuntimeBuiltin


class _Lowered(PyExprMutator):
    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call of the machine."""
        call = self.visit_expr_post_order(op)
        operator = find_operator(call.op) if isinstance(call.op, Op) else None
        if operator is None or operator.lower is None:
            return call
        return operator.lower(call)
