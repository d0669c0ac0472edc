"""Variables of sizes in a graph: where they get a value, and those that get none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from te_sched.ir.expr import Expr, IntImm, Node, Var
from te_sched.ir.graph import GraphFunction, MatchCast
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import walk
from te_sched.relax.analysis.variables import bindings_of, bound_vars, nodes_of
from te_sched.relax.core.sizes import sizes_of


def tir_vars_in_struct_info(sinfo: StructInfo) -> list[Var]:
    """The variables in the sizes of a struct info, in order of their first occurrence.

    >>> from te_sched import relax, tir
    >>> n = tir.Var("n", "int64")
    >>> tir_vars_in_struct_info(relax.ShapeStructInfo([4, n * 2]))
    [n]
    """
    variables: list[Var] = []
    for part in [*_params_of(sinfo), sinfo.ret] if isinstance(sinfo, FuncStructInfo) else [sinfo]:
        variables += [node for node in _all_nodes(part) if type(node) is Var]
    return list(dict.fromkeys(variables))


def _params_of(node: object) -> Sequence[StructInfo]:
    return (node.params or ()) if isinstance(node, FuncStructInfo) else ()


def _all_nodes(sinfo: StructInfo) -> Iterator[object]:
    for node in walk(sinfo):
        yield node
        for param in _params_of(node):
            yield from _all_nodes(param)


def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> list[Var]:
    """The variables to which a value of a struct info gives a value: those that are a size.

    >>> from te_sched import relax, tir
    >>> n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    >>> definable_tir_vars_in_struct_info(relax.ShapeStructInfo([m, n * 2]))
    [m]
    """
    if isinstance(sinfo, TupleStructInfo):
        parts: Sequence[StructInfo] = sinfo.fields
    elif isinstance(sinfo, FuncStructInfo):
        parts = [*(sinfo.params or ()), sinfo.ret]
    else:
        return [size for size in dict.fromkeys(sizes_of(sinfo) or ()) if type(size) is Var]
    variables = [var for part in parts for var in definable_tir_vars_in_struct_info(part)]
    return list(dict.fromkeys(variables))


def defined_symbolic_vars(func: GraphFunction) -> list[Var]:
    """The variables of sizes that parameters and casts of a function define."""
    variables: list[Var] = []
    for node in nodes_of(func):
        if isinstance(node, GraphFunction):
            infos = [param.struct_info_ for param in node.params]
        else:
            infos = [node.struct_info] if isinstance(node, MatchCast) else []
        for info in infos:
            if info is not None and not isinstance(info, FuncStructInfo):
                variables += definable_tir_vars_in_struct_info(info)
    return list(dict.fromkeys(variables))


def used_symbolic_vars(expr: Node) -> list[Var]:
    """The variables of sizes that occur in a graph: in its expressions and struct infos."""
    infos = [var.struct_info_ for var in bound_vars(expr)]
    infos += [
        binding.struct_info for binding in bindings_of(expr) if isinstance(binding, MatchCast)
    ]
    variables = [node for node in nodes_of(expr, True) if type(node) is Var]
    for info in infos:
        if info is not None and not isinstance(info, FuncStructInfo):
            variables += tir_vars_in_struct_info(info)
    return list(dict.fromkeys(variables))


def free_symbolic_vars(func: GraphFunction) -> list[Var]:
    """The variables of sizes that a function uses but does not define."""
    defined = set(defined_symbolic_vars(func))
    return [var for var in used_symbolic_vars(func) if var not in defined]


def collect_non_negative_expressions(sinfo: StructInfo) -> list[Expr]:
    """The sizes of tensors and shapes that are not constants: they are 0 or more.

    >>> from te_sched import relax, tir
    >>> n = tir.Var("n", "int64")
    >>> collect_non_negative_expressions(relax.ShapeStructInfo([4, n - 2]))
    [n - T.int64(2)]
    """
    sizes: list[Expr] = []
    for node in _all_nodes(sinfo):
        if isinstance(node, TensorStructInfo | ShapeStructInfo):
            for size in sizes_of(node) or ():
                is_new = not any(structural_equal(size, other) for other in sizes)
                if is_new and not isinstance(size, IntImm):
                    sizes.append(size)
    return sizes
