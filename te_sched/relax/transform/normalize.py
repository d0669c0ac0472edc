"""Normalize: arguments of calls become variables, and every expression has its struct info."""

from __future__ import annotations

from te_sched.passes import PassInfo
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.base import FunctionPass


def Normalize() -> FunctionPass:
    """The pass that brings functions into normal form, as a BlockBuilder writes them.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> nested = relax.Function([x], relax.op.add(relax.op.add(x, x), x), x.struct_info)
    >>> len(Normalize()(IRModule({"main": nested}))["main"].body.blocks[0].bindings)
    2
    """
    return FunctionPass(
        lambda func, mod, context: PyExprMutator(mod).visit_expr(func), PassInfo(1, "Normalize")
    )
