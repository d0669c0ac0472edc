"""The pass `ReorderPermuteDimsAfterConcat`."""

from __future__ import annotations

from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.relax.dpl.pattern import DFPattern, Matches, is_op, is_tuple, wildcard
from te_sched.relax.dpl.rewrite import Rewriter
from te_sched.relax.op import concat, permute_dims
from te_sched.relax.transform.rewriting import Rules, RulesPass, permutation

MAX_CONCATENATED = 12


class ReorderPermuteDimsAfterConcat(RulesPass):
    """The pass that permutes the axes of what was concatenated, not those of each part.

        concat([permute_dims(a), permute_dims(b)], 1)  ->  permute_dims(concat([a, b], 0))

    All parts must have the same permutation. `CombineParallelMatmul` leaves such products.
    """

    def rules(self, func: GraphFunction) -> Rules:
        """The rules for a function."""
        return _rules()


def _rules() -> Rules:
    return [_rule(count) for count in range(2, MAX_CONCATENATED + 1)]


def _rule(count: int) -> tuple[DFPattern, Rewriter]:
    sources = [wildcard() for _ in range(count)]
    parts = [is_op("relax.permute_dims")(one) for one in sources]
    pattern = is_op("relax.concat")(is_tuple(parts))

    def reorder(expr: GraphCall, matches: Matches) -> GraphExpr:
        given = [matches[one] for one in sources]
        axes = [matches[one].attrs["axes"] for one in parts]
        rank = given[0].struct_info.ndim
        if rank == -1 or any(one.struct_info.ndim != rank for one in given):
            return expr
        orders = [permutation(one, rank) for one in axes]
        axis = expr.attrs["axis"]
        if axis is None or any(one != orders[0] for one in orders):
            return expr
        return permute_dims(concat(given, orders[0][int(axis) % rank]), axes[0])

    return pattern, reorder
