"""Functions of a module that call themselves, or each other."""

from __future__ import annotations

from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.relax.analysis.variables import all_global_vars


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """Groups of functions of graphs that refer to each other, and single ones that refer to
    themselves.

    >>> from te_sched import IRModule
    >>> detect_recursion(IRModule())
    []
    """
    graph = {
        GlobalVar(name): [one for one in all_global_vars(func) if one in mod.functions]
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction)
    }
    reached = {name: _reachable(name, graph) for name in graph}
    groups: list[list[GlobalVar]] = []
    for name in graph:
        if name in reached[name] and not any(name in group for group in groups):
            groups.append([one for one in graph if one in reached[name] and name in reached[one]])
    return groups


def _reachable(name: GlobalVar, graph: dict[GlobalVar, list[GlobalVar]]) -> set[GlobalVar]:
    found: set[GlobalVar] = set()
    open_names = list(graph[name])
    while open_names:
        one = open_names.pop()
        if one not in found:
            found.add(one)
            open_names += graph.get(one, [])
    return found
