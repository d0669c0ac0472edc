"""The pass `ExpandMatmulOfSum`."""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.relax.analysis.compile_time import computable_at_compile_time
from te_sched.relax.core.sizes import are_equal_sizes
from te_sched.relax.core.values import shape_of_value
from te_sched.relax.dpl.pattern import Matches, is_op, wildcard
from te_sched.relax.op import add, matmul, permute_dims
from te_sched.relax.transform.rewriting import Rules, RulesPass


class ExpandMatmulOfSum(RulesPass):
    """The pass that multiplies by each term of a sum, so that the products can be combined.

        matmul(x, a + b)  ->  matmul(x, a) + matmul(x, b)

    The terms must have the same shape. Sums of parameters that are known before a model runs (those
    from the attribute "num_input" on) stay. Products of floats are rounded in another order.
    """

    def rules(self, func: GraphFunction) -> Rules:
        """The rules for a function."""
        return _rules(func)


def _rules(func: GraphFunction) -> Rules:
    constant_vars = set(computable_at_compile_time(func)) if "num_input" in func.attrs else set()
    x, a, b = wildcard(), wildcard(), wildcard()
    total = is_op("relax.add")(a, b)
    turned = is_op("relax.permute_dims")(total)
    analyzer = Analyzer()

    def expand(expr: GraphCall, matches: Matches) -> GraphExpr:
        terms = [matches[a], matches[b]]
        shape, other = (shape_of_value(term) for term in terms)
        if all(term in constant_vars for term in terms) or not are_equal_sizes(
            shape, other, analyzer
        ):
            return expr
        if turned in matches:
            axes = matches[turned].attrs["axes"]
            terms = [permute_dims(term, axes) for term in terms]
        dtype = expr.attrs["out_dtype"] or None
        return add(*[matmul(matches[x], term, dtype) for term in terms])

    return [(is_op("relax.matmul")(x, total | turned), expand)]
