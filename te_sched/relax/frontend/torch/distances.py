"""Rows of operators of torch for distances between the rows of matrices."""

from __future__ import annotations

from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.frontend.torch.importer import ROWS, Importer, row
from te_sched.relax.frontend.torch.values import Value


@row("cdist", "_cdist_forward")
def _cdist(
    imp: Importer, x: GraphExpr, y: GraphExpr, p: float = 2.0, compute_mode: object = None
) -> Value:
    """The norm of the difference of each row of x and each row of y."""
    column, line = imp.emit(R.expand_dims(x, -2)), imp.emit(R.expand_dims(y, -3))
    return ROWS["linalg_vector_norm"].rule(imp, imp.emit(R.subtract(column, line)), p, [-1])
