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
        GlobalVar(name): [
            global_var for global_var in all_global_vars(func) if global_var in mod.functions
        ]
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction)
    }
    reached = {name: _reachable(name, graph) for name in graph}
    groups: list[list[GlobalVar]] = []
    for name in graph:
        if name in reached[name] and not any(name in group for group in groups):
            groups.append(
                [other for other in graph if other in reached[name] and name in reached[other]]
            )
    return groups


def _reachable(name: GlobalVar, graph: dict[GlobalVar, list[GlobalVar]]) -> set[GlobalVar]:
    names: set[GlobalVar] = set()
    open_names = list(graph[name])
    while open_names:
        global_var = open_names.pop()
        if global_var not in names:
            names.add(global_var)
            open_names += graph.get(global_var, [])
    return names
