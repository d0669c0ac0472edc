"""Normalize: arguments of calls become variables, and every expression has its struct info."""

from __future__ import annotations

from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass


class Normalize(FunctionPass, opt_level=1):
    """The pass that brings functions into normal form, as a BlockBuilder writes them.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> nested = relax.Function([x], relax.op.add(relax.op.add(x, x), x), x.struct_info)
    >>> len(Normalize()(IRModule({"main": nested}))["main"].body.blocks[0].bindings)
    2
    """

    def transform_function(self, func: GraphFunction, mod: IRModule, *_: object) -> GraphFunction:
        return PyExprMutator(mod).visit_expr(func)
