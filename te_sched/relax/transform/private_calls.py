"""What passes that change the parameters or results of private functions share: the functions of
which all uses are calls, and the rewriting of these calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.visitor import CHILD_FIELDS
from te_sched.relax.analysis.variables import nodes_of
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.expr_functor import PyExprMutator, map_call


def called_private_functions(mod: IRModule, to_run: bool = False) -> dict[str, GraphFunction]:
    """The private functions of graphs that are only called, by functions of graphs; in graphs that
    are built (`to_run`), those with the attribute "Primitive": a virtual machine can call others.
    """
    functions = {
        str(name): func
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction)
        and func.body is not None
        and "global_symbol" not in func.attrs
        and (not to_run or func.attrs.get("Primitive"))
    }
    for func in mod.functions.values():
        for node in nodes_of(func) if isinstance(func, GraphFunction) else ():
            values = node.args if isinstance(node, GraphCall) else _values_of(node)
            for value in values:
                if isinstance(value, GlobalVar):
                    functions.pop(str(value), None)
    return functions


def _values_of(node: object) -> tuple[object, ...]:
    values: list[object] = []
    for name in CHILD_FIELDS.get(type(node), ()):
        if name in ("value", "fields", "body"):
            value = getattr(node, name)
            values += value if isinstance(value, tuple) else [value]
    return tuple(values)


# What makes another expression of a call.
Rewrite = Callable[[BlockBuilder, GraphCall], GraphExpr]


class CallRewriter(PyExprMutator):
    """Rewrites the calls of functions by name: a function (builder, call) -> expression."""

    def __init__(self, rewrites: Mapping[str, Rewrite]) -> None:
        super().__init__()
        self._rewrites = rewrites

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, rewritten."""
        call = map_call(self, op)
        if not isinstance(call.op, GlobalVar) or str(call.op) not in self._rewrites:
            return call
        return self._rewrites[str(call.op)](self.builder_, call)


def named_function(name: str, func: GraphFunction) -> GlobalVar:
    """The name of a function, with what is known of it."""
    gvar = GlobalVar(name)
    gvar.struct_info_ = func.struct_info
    return gvar
