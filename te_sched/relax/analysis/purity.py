"""Which calls have effects."""

from __future__ import annotations

from collections.abc import Iterator

from te_sched.ir.graph import GraphCall, GraphFunction, GraphValue
from te_sched.ir.op import Op
from te_sched.ir.struct_info import FuncStructInfo
from te_sched.relax.analysis.variables import nodes_of
from te_sched.relax.operators.registry import operator_of


def is_impure_call(call: GraphCall) -> bool:
    """Whether a call may have effects.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> is_impure_call(relax.op.add(x, x))
    False
    """
    if isinstance(call.op, Op):
        return not operator_of(call.op).is_pure
    info = getattr(call.op, "struct_info_", None)
    return not (isinstance(info, FuncStructInfo) and info.purity)


def calls_program(expr: GraphValue) -> bool:
    """Whether a call in a graph may run functions of the program: registered ones, or functions of
    graphs, which may call them. Functions that the graph defines are not searched.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> calls_program(relax.op.call_dps_packed("mine", (x,), x.struct_info))
    True
    """
    return any(
        isinstance(node, GraphCall)
        and not (isinstance(node.op, Op) and not operator_of(node.op).calls_program)
        for node in _outside_of_functions(expr)
    )


def contains_impure_call(expr: GraphValue, own_name: object = None) -> bool:
    """Whether a call in a graph may have effects. Functions that it defines are not searched, but
    for the graph itself.

    Parameters
    ----------
    own_name : the variable or name of the function, whose calls of itself do not count.
    """
    body = expr.body if isinstance(expr, GraphFunction) else expr
    return any(
        isinstance(node, GraphCall)
        and node.op is not own_name
        and _differs(node.op, own_name)
        and is_impure_call(node)
        for node in _outside_of_functions(body)
    )


def _differs(name: object, own_name: object) -> bool:
    return own_name is None or not isinstance(name, str) or name != own_name


def _outside_of_functions(node: GraphValue) -> Iterator[object]:
    """The nodes of a graph that are in none of the functions which it defines."""
    skipped: set[int] = set()
    for child in nodes_of(node):
        if id(child) in skipped:
            continue
        if isinstance(child, GraphFunction):
            skipped |= {id(part) for part in nodes_of(child)}
            continue
        yield child
