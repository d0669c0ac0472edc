"""RemovePurityChecking: pure functions may call others from here on.

A pure function has the attribute "relax.force_pure", and calls that are marked as pure become
ordinary ones. Later passes put calls into it that write memory.
"""

from __future__ import annotations

from te_sched.ir.graph import ExternFunc, GraphCall, GraphExpr, GraphFunction
from te_sched.ir.op import Op
from te_sched.relax.expr_functor import PyExprMutator, map_call, map_function
from te_sched.relax.transform.base import FunctionPass


class RemovePurityChecking(FunctionPass):
    """The pass that removes the marks of pure calls.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> RemovePurityChecking()(IRModule({"main": relax.Function([x], x)}))["main"].attrs
    {'relax.force_pure': True}
    """

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Unmarked().visit_expr(func)


class _Unmarked(PyExprMutator):
    def visit_function_(self, op: GraphFunction) -> GraphExpr:
        """The function; one that is pure is marked."""
        new = map_function(self, op)
        if not new.is_pure or new.attrs.get("relax.force_pure"):
            return new
        return new.with_attr("relax.force_pure", True)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A pure call as an ordinary one."""
        call = map_call(self, op)
        if not isinstance(call.op, Op):
            return call
        if call.op == "relax.invoke_pure_closure":
            return GraphCall(Op.get("relax.invoke_closure"), call.args, None, call.sinfo_args)
        if call.op in ("relax.call_pure_packed", "relax.call_inplace_packed"):
            function, *args = call.args
            infos = call.sinfo_args
            if not infos and isinstance(function, ExternFunc):
                infos = (call.struct_info,)
            return GraphCall(function, tuple(args), None, infos)
        return call
