"""Struct infos in terms of what is known at another place."""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.ir.struct_info import (
    FuncStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    erase_unknown,
)
from te_sched.ir.visitor import replace, substitute
from te_sched.relax.core.sizes import map_sizes


def erase_to_well_defined(
    sinfo: StructInfo,
    shape_var_map: Mapping[Var, Expr | int] | None = None,
    var_map: Mapping[GraphVar, GraphExpr] | None = None,
) -> StructInfo:
    """A struct info with the values of variables; sizes with other variables are not known.

    Parameters
    ----------
    shape_var_map : the values of the variables of sizes that are known.
    var_map : the values of variables of the graph that are shapes.

    >>> from te_sched import relax, tir
    >>> n = tir.Var("n", "int64")
    >>> erase_to_well_defined(relax.TensorStructInfo([n, 4], "float32"), {n: 2})
    R.Tensor((2, 4), dtype="float32")
    """
    sizes = {
        var: ops.const(value, var.dtype) if isinstance(value, int) else value
        for var, value in (shape_var_map or {}).items()
    }
    return _erased(sinfo, sizes, var_map or {})


def _erased(
    info: StructInfo, sizes: dict[Var, Expr], shapes: Mapping[GraphVar, GraphExpr]
) -> StructInfo:
    if isinstance(info, FuncStructInfo):
        return info
    if isinstance(info, TupleStructInfo):
        return replace(info, fields=tuple([_erased(field, sizes, shapes) for field in info.fields]))
    if isinstance(info, TensorStructInfo) and isinstance(info.shape, GraphVar):
        return replace(info, shape=shapes.get(info.shape))
    new_info = erase_unknown(info, sizes)
    analyzer = Analyzer()

    def value(size: Expr) -> Expr:
        new = substitute(size, sizes)
        return size if new is size else analyzer.simplify(new)

    return map_sizes(new_info, value)
