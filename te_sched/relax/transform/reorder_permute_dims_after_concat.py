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
    parts = [is_op("relax.permute_dims")(source) for source in sources]
    pattern = is_op("relax.concat")(is_tuple(parts))

    def reorder(expr: GraphCall, matches: Matches) -> GraphExpr:
        operands = [matches[source] for source in sources]
        axes = [matches[part].attrs["axes"] for part in parts]
        rank = operands[0].struct_info.ndim
        if rank == -1 or any(operand.struct_info.ndim != rank for operand in operands):
            return expr
        orders = [permutation(axis_order, rank) for axis_order in axes]
        axis = expr.attrs["axis"]
        if axis is None or any(order != orders[0] for order in orders):
            return expr
        return permute_dims(concat(operands, orders[0][int(axis) % rank]), axes[0])

    return pattern, reorder
