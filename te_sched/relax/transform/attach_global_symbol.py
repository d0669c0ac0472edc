"""AttachGlobalSymbol: each function has its name as the attribute "global_symbol"."""

from __future__ import annotations

from te_sched.ir.graph import GraphFunction, GraphValue
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule, PrimFunc
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator


class AttachGlobalSymbol(ModulePass):
    """The pass that gives functions their symbols; functions of loops that have one keep it.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> AttachGlobalSymbol()(IRModule({"main": relax.Function([x], x)}))["main"].attrs
    {'global_symbol': 'main'}
    """

    def transform_module(self, mod: IRModule, *_: object) -> dict[str, BaseFunc]:
        return _attach(mod)


def _attach(mod: IRModule) -> dict[str, BaseFunc]:
    prefix = str(mod.attrs.get("system_lib_prefix", ""))
    changed: dict[str, BaseFunc] = {}
    renamed: dict[str, str] = {}
    for name, func in mod.functions.items():
        symbol = func.attrs.get("global_symbol") if hasattr(func, "attrs") else None
        if isinstance(func, PrimFunc) and not symbol:
            changed[name] = func.with_attr("global_symbol", prefix + name)
            renamed |= {name: prefix + name} if prefix else {}
        elif isinstance(func, GraphFunction) and symbol != name:
            changed[name] = func.with_attr("global_symbol", name)
    functions = {**mod.functions, **changed}
    return _renamed(functions, renamed) if renamed else functions


def _renamed(functions: dict[str, BaseFunc], names: dict[str, str]) -> dict[str, BaseFunc]:
    """The functions with other names, and calls of them by these."""
    renaming = _Renaming(names)
    return {
        names.get(name, name): renaming.visit_expr(func)
        if isinstance(func, GraphFunction)
        else func
        for name, func in functions.items()
    }


class _Renaming(PyExprMutator):
    def __init__(self, names: dict[str, str]) -> None:
        super().__init__()
        self._names = names

    def visit_global_var_(self, expr: GlobalVar) -> GraphValue:
        """The name, with what is known of the function."""
        if expr not in self._names:
            return expr
        gvar = GlobalVar(self._names[expr])
        gvar.struct_info_ = expr.struct_info_
        return gvar
