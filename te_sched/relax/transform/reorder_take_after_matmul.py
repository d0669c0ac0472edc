"""The pass `ReorderTakeAfterMatmul`."""

from __future__ import annotations

from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.relax.core.values import shape_of_value
from te_sched.relax.dpl.pattern import Matches, is_op, wildcard
from te_sched.relax.op import einsum, matmul, permute_dims, reshape, take
from te_sched.relax.transform.rewriting import Rules, RulesPass


class ReorderTakeAfterMatmul(RulesPass):
    """The pass that multiplies by a whole table of weights, and selects the results.

        matmul(x, take(table, index, axis=1))  ->  take(matmul(x, table), index, axis=-1)

    With a table of matrices (axis 0), each row of a batch selects its own one. Columns that nothing
    selects are computed, too: it pays off if the table is shared by all of a batch.
    """

    def rules(self, func: GraphFunction) -> Rules:
        """The rules for a function."""
        return _rules()


def _rules() -> Rules:
    x, table, index = wildcard(), wildcard(), wildcard()
    selected = is_op("relax.take")(table, index)
    pattern = is_op("relax.matmul")(x, selected)

    def reorder(expr: GraphCall, matches: Matches) -> GraphExpr:
        operands = [matches[pattern] for pattern in (x, table, index)]
        shapes = [shape for operand in operands if (shape := shape_of_value(operand)) is not None]
        axis = matches[selected].attrs["axis"]
        if len(shapes) < 3 or axis is None or len(shapes[2]) != 1:
            return expr
        dtype = expr.attrs["out_dtype"] or None
        ranks = [len(shape) for shape in shapes]
        axis = int(axis) % ranks[1]
        if ranks[1] == 2 and axis == 1:
            product = matmul(operands[0], operands[1], dtype)
            return take(product, operands[2], axis=ranks[0] - 1)
        if ranks[1] == 3 and ranks[0] == 3 and axis == 0:
            return _by_row(operands, shapes, dtype)
        return expr

    return [(pattern, reorder)]


def _by_row(
    operands: list[GraphExpr], shapes: list[tuple[Expr, ...]], dtype: str | None
) -> GraphCall:
    """Rows of a batch times the matrices that they select."""
    (batch, rows, inner), (count, _, columns), _ = shapes
    joined = reshape(permute_dims(operands[1], [1, 0, 2]), [inner, count * columns])
    product = reshape(matmul(operands[0], joined, dtype), [batch, rows, count, columns])
    return einsum([take(product, operands[2], axis=2)], "ijik->ijk")
