"""The mutator that substitutes: values for variables of a graph, and for variables of sizes.

Sizes in which a variable gets a value are simplified. Must not know which values, and why.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax.core.sizes import with_values
from te_sched.relax.expr_functor import PyExprMutator


class Substitution(PyExprMutator):
    """Puts values in the place of variables, and of variables of sizes.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> y = relax.Var("y", relax.TensorStructInfo([4], "float32"))
    >>> Substitution({x: y}).visit_expr(relax.op.add(x, x)).args
    (y, y)
    """

    def __init__(
        self,
        values: Mapping[GraphVar, GraphExpr] | None = None,
        sizes: Mapping[Var, Expr] | None = None,
    ) -> None:
        super().__init__()
        self.values: Mapping[GraphVar, GraphExpr] = {} if values is None else values
        self.sizes = dict(sizes or {})
        self._analyzer = Analyzer()

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """The value of a variable."""
        return self.values[op] if op in self.values else super().visit_var_(op)

    visit_dataflow_var_ = visit_var_

    def visit_prim_expr(self, expr: Expr) -> Expr:
        """The size with the values of its variables."""
        return with_values(expr, self.sizes, self._analyzer)
