"""DeadCodeElimination: removes bindings and functions that nothing uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from te_sched.ir.calls import called_functions
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import BaseFunc, IRModule, PrimFunc
from te_sched.passes import ModulePass
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import all_global_vars


class DeadCodeElimination(ModulePass, opt_level=1):
    """The pass that removes unused bindings without effects, and functions that are not called.

    Functions with a global symbol stay, and all of them if one calls a function that is missing.

    Parameters
    ----------
    entry_functions : private functions that stay, too; by default main.
    to_run : whether the graph will be built, as in `relax.build`: calls of functions of the program
        stay even if nothing uses their results, since those of Python may have effects; and so do
        all functions of graphs, which a virtual machine can call.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     unused = builder.emit(relax.op.add(x, x))
    ...     name = builder.emit_func_output(x)
    >>> DeadCodeElimination()(builder.get())["main"].body.blocks
    ()
    """

    def __init__(
        self, entry_functions: Sequence[str] | None = None, *, to_run: bool = False
    ) -> None:
        self.entry_functions = tuple(entry_functions or ("main",))
        self.to_run = to_run

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module without unused functions and bindings."""
        callees = {str(name): callees_of(func) for name, func in mod.functions.items()}
        mod = _reached(mod, callees, self._is_entry)
        changed = {}
        for name, func in mod.functions.items():
            is_graph = isinstance(func, GraphFunction)
            new = remove_all_unused(func, self.to_run) if is_graph else func
            if new is not func:
                changed[name] = new
                callees[str(name)] = callees_of(new)
        kept = {str(name): callees[str(name)] for name in mod.functions}
        return _reached(mod.with_functions(changed), kept, self._is_entry)

    def _is_entry(self, name: str, func: BaseFunc) -> bool:
        if name in self.entry_functions or "global_symbol" in func.attrs:
            return True
        if isinstance(func, GraphFunction):
            return self.to_run and not func.attrs.get("Primitive")
        return not isinstance(func, PrimFunc)


def without_unused_functions(mod: IRModule, is_entry: Callable[[str, BaseFunc], bool]) -> IRModule:
    """A module without functions that no entry refers to; all of it if a function is missing.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> module = IRModule({"main": relax.Function([x], x), "other": relax.Function([x], x)})
    >>> list(without_unused_functions(module, lambda name, func: name == "main").functions)
    ['main']
    """
    callees = {str(name): callees_of(func) for name, func in mod.functions.items()}
    return _reached(mod, callees, is_entry)


def _reached(
    mod: IRModule, callees: Mapping[str, set[str]], is_entry: Callable[[str, BaseFunc], bool]
) -> IRModule:
    """A module without the functions that no entry reaches; `callees` are those of each."""
    if any(name not in callees for names in callees.values() for name in names):
        return mod  # other modules may call the private functions
    used: set[str] = set()
    open_names = [str(name) for name, func in mod.functions.items() if is_entry(str(name), func)]
    while open_names:
        name = open_names.pop()
        if name not in used:
            used.add(name)
            open_names += callees[name]
    return mod.with_exactly({k: func for k, func in mod.functions.items() if k in used})


def callees_of(func: BaseFunc) -> set[str]:
    """The names of functions to which a function of a module refers."""
    if isinstance(func, PrimFunc):
        return called_functions(func.body)
    return {str(variable) for variable in all_global_vars(func)}
