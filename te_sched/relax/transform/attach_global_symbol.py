"""AttachGlobalSymbol: each function has its name as the attribute "global_symbol"."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.passes import ModuleTransform, PassInfo
from te_sched.relax.transform.base import with_functions


def AttachGlobalSymbol() -> ModuleTransform:
    """The pass that gives functions their symbols; functions of loops that have one keep it.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> AttachGlobalSymbol()(IRModule({"main": relax.Function([x], x)}))["main"].attrs
    {'global_symbol': 'main'}
    """
    return ModuleTransform(_attach, PassInfo(0, "AttachGlobalSymbol"))


def _attach(mod: IRModule, context: Any) -> IRModule:
    del context
    prefix = str(mod.attrs.get("system_lib_prefix", ""))
    changed: dict[str, Any] = {}
    for name, func in mod.functions_items():
        known = func.attrs.get("global_symbol") if hasattr(func, "attrs") else None
        if isinstance(func, PrimFunc) and not known:
            changed[name] = func.with_attr("global_symbol", prefix + name)
        elif isinstance(func, GraphFunction) and known != name:
            changed[name] = func.with_attr("global_symbol", name)
    return with_functions(mod, changed)
