"""NormalizeGlobalVar: the names of functions are their symbols."""

from __future__ import annotations

from te_sched.errors import GraphError
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.stmt import IRModule
from te_sched.passes import ModulePass
from te_sched.relax.transform.replace_global_vars import replace_global_vars


class NormalizeGlobalVar(ModulePass):
    """The pass that names functions in the module as their global symbols; private functions with
    such a name get another one.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> func = relax.Function([x], x).with_attr("global_symbol", "main")
    >>> [str(name) for name in NormalizeGlobalVar()(IRModule({"f": func})).functions]
    ['main']
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return _run(mod)


def _run(mod: IRModule) -> IRModule:
    symbols: dict[str, str] = {}
    for name, func in mod.functions.items():
        symbol = str(func.attrs.get("global_symbol", ""))
        if symbol in symbols.values():
            raise GraphError(
                f"two functions have the global symbol {symbol!r}",
                "they cannot be told apart from outside of the module",
                "give one of them another symbol",
            )
        if symbol:
            symbols[str(name)] = symbol
    names = UniqueNames(separator="")
    for symbol in symbols.values():
        names.take(symbol)
    changed = {name: symbol for name, symbol in symbols.items() if name != symbol}
    for name in mod.functions:
        if str(name) not in symbols and str(name) in symbols.values():
            changed[str(name)] = names.take(str(name))
    return replace_global_vars(mod, changed) if changed else mod
