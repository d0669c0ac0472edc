"""DeadCodeElimination: removes bindings and functions that nothing uses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.ir.calls import called_functions
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.visitor import replace
from te_sched.passes import ModuleTransform, PassInfo
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import all_global_vars


def DeadCodeElimination(entry_functions: Sequence[str] | None = None) -> ModuleTransform:
    """The pass that removes unused bindings without effects, and functions that are not called.

    Functions with a global symbol stay, and all of them if one calls a function that is missing.

    Parameters
    ----------
    entry_functions : private functions that stay, too; by default main.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     unused = builder.emit(relax.op.add(x, x))
    ...     name = builder.emit_func_output(x)
    >>> DeadCodeElimination()(builder.get())["main"].body.blocks
    ()
    """
    entries = tuple(entry_functions or ("main",))

    def run(mod: IRModule, *_: object) -> IRModule:
        mod = _without_unused_functions(mod, entries)
        changed = {}
        for name, func in mod.functions.items():
            new = remove_all_unused(func) if isinstance(func, GraphFunction) else func
            if new is not func:
                changed[name] = new
        return _without_unused_functions(mod.with_functions(changed), entries)

    return ModuleTransform(run, PassInfo(1, "DeadCodeElimination"))


def callees_of(func: Any) -> set[str]:
    """The names of functions to which a function of a module refers."""
    if isinstance(func, PrimFunc):
        return called_functions(func.body)
    return {str(variable) for variable in all_global_vars(func)}


def _without_unused_functions(mod: IRModule, entries: Sequence[str]) -> IRModule:
    callees = {str(name): callees_of(func) for name, func in mod.functions.items()}
    if any(name not in callees for names in callees.values() for name in names):
        return mod  # other modules may call the private functions
    used: set[str] = set()
    open_names = [
        str(name)
        for name, func in mod.functions.items()
        if name in entries or "global_symbol" in func.attrs or _is_external(func)
    ]
    while open_names:
        name = open_names.pop()
        if name not in used:
            used.add(name)
            open_names += callees[name]
    if len(used) == len(mod.functions):
        return mod
    return replace(mod, functions={k: func for k, func in mod.functions.items() if k in used})


def _is_external(func: Any) -> bool:
    return not isinstance(func, GraphFunction | PrimFunc)
