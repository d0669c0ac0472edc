"""Rows of operators of torch for special functions, which torch.special lists."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.errors import GraphError, repr_of
from te_sched.ir.graph import GraphExpr
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend import special_functions
from te_sched.relax.frontend.torch.elementwise import dtype_kind, promoted
from te_sched.relax.frontend.torch.importer import ROWS, Importer, TorchRow, row
from te_sched.relax.frontend.torch.indexing import common_shape
from te_sched.relax.frontend.torch.values import Value


def _of_floats(function: Callable[..., GraphExpr], *options: object) -> TorchRow:
    """The row of a function of floats, which integers become."""

    def rule(imp: Importer, x: GraphExpr, **_: object) -> GraphExpr:
        x = imp.cast(x, "float32") if dtype_kind(imp.dtype(x)) < 2 else x
        return function(imp.builder, x, *options)

    return TorchRow(rule)


_FUNCTIONS: dict[str, Callable[[BlockBuilder, GraphExpr], GraphExpr]] = {
    "erfinv": special_functions.erfinv,
    "erf_inv": special_functions.erfinv,
    "special_erfcx": special_functions.erfcx,
    "erfcx": special_functions.erfcx,
    "lgamma": special_functions.lgamma,
    "gammaln": special_functions.lgamma,
    "digamma": special_functions.digamma,
}
ROWS.update({name: _of_floats(function) for name, function in _FUNCTIONS.items()})
for _order in (0, 1):
    for _suffix in ("", "e"):
        _row = _of_floats(special_functions.bessel_i, _order, bool(_suffix))
        for _name in ("i", "special_i", "bessel_i"):
            ROWS[f"{_name}{_order}{_suffix}"] = _row
    ROWS[f"special_modified_bessel_i{_order}"] = ROWS[f"i{_order}"]


@row("polygamma", "special_polygamma")
def _polygamma(imp: Importer, n: int | GraphExpr, x: GraphExpr | int) -> Value:
    """The derivative of digamma of order n; as a method, the tensor comes first."""
    order, numbers = (x, n) if isinstance(n, GraphExpr) else (n, x)
    if type(order) is not int or order < 0 or not isinstance(numbers, GraphExpr):
        raise GraphError(
            f"the order of a polygamma function is {repr_of(order)}",
            "orders are the numbers of derivatives",
            "give an int that is not negative",
        )
    if not order:
        return ROWS["digamma"].rule(imp, numbers)
    return _of_floats(special_functions.polygamma, order).rule(imp, numbers)


@row("special_zeta", "zeta")
def _zeta(imp: Importer, x: GraphExpr | float, other: GraphExpr | float) -> GraphExpr:
    powers, numbers = promoted(imp, x, other)
    if dtype_kind(imp.dtype(powers)) < 2:
        powers, numbers = (imp.cast(value, "float32") for value in (powers, numbers))
    shape = common_shape([imp.shape(powers), imp.shape(numbers)])
    parts = [imp.broadcast(value, shape) for value in (powers, numbers)]
    return special_functions.zeta(imp.builder, *parts)
