"""ComputePrimValue: expressions of sizes that are values become calls of functions."""

from __future__ import annotations

from te_sched.ir.expr import Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction, PrimValue
from te_sched.ir.stmt import Evaluate, IRModule, PrimFunc
from te_sched.ir.visitor import substitute, walk
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.normalize_global_var import NormalizeGlobalVar
from te_sched.tir import ret


class ComputePrimValue(ModulePass):
    """The pass that computes the numbers of `R.prim_value(N % 16 == 0)` by PrimFuncs.

    >>> from te_sched import IRModule, relax, tir
    >>> n = tir.Var("n", "int64")
    >>> x = relax.Var("x", relax.ShapeStructInfo([n]))
    >>> func = relax.Function([x], relax.PrimValue(n * 2))
    >>> [str(name) for name in ComputePrimValue()(IRModule({"main": func})).functions]
    ['main', 'compute_symbolic_expr']
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        mutator = _Computer(mod)
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                new = mutator.visit_expr(func)
                if new is not func:
                    mutator.builder_.update_func(name, new)
        return NormalizeGlobalVar()(mutator.builder_.finalize())


class _Computer(PyExprMutator):
    def visit_prim_value_(self, op: PrimValue) -> GraphExpr:
        """A call of the function that computes the number."""
        if isinstance(op.value, Var) or not any(isinstance(node, Var) for node in walk(op.value)):
            return op
        variables = list(dict.fromkeys(node for node in walk(op.value) if isinstance(node, Var)))
        params = {var: Var(var.name, var.dtype) for var in variables}
        func = PrimFunc(
            tuple(params.values()),
            Evaluate(ret(substitute(op.value, dict(params)))),
            {},
            {"tir.is_host_func": True},
            op.value.dtype,
        )
        name = self.builder_.add_func(func, "compute_symbolic_expr")
        return GraphCall(name, tuple([PrimValue(var) for var in variables]))
