"""BindSymbolicVars: variables of sizes get a value."""

from __future__ import annotations

from te_sched.errors import GraphError, repr_of
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import BaseFunc, IRModule
from te_sched.passes import ModulePass
from te_sched.relax.binding import Sizes, bind_symbolic_vars, symbolic_vars_of
from te_sched.relax.transform.bind_params import graph_function


class BindSymbolicVars(ModulePass):
    """The pass that puts known sizes in place of variables of sizes.

    Parameters
    ----------
    binding_map : numbers or expressions by the name of the variable, or by the variable.
    func_name : the function in which to replace them; by default all in which they occur.

    >>> from te_sched import IRModule, relax, tir
    >>> x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64")], "float32"))
    >>> module = BindSymbolicVars({"n": 4})(IRModule({"main": relax.Function([x], x)}))
    >>> module["main"].struct_info.ret
    R.Tensor((4,), dtype="float32")
    """

    def __init__(self, binding_map: Sizes, func_name: str | None = None) -> None:
        self.binding_map = binding_map
        self.func_name = func_name

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        if self.func_name is not None:
            func = graph_function(mod, self.func_name)
            return mod.with_functions({self.func_name: bind_symbolic_vars(func, self.binding_map)})
        return _everywhere(mod, self.binding_map)


def _everywhere(mod: IRModule, binding_map: Sizes) -> IRModule:
    changed: dict[str, BaseFunc] = {}
    used: set[object] = set()
    for name, func in mod.functions.items():
        if not isinstance(func, GraphFunction):
            continue
        own = {
            key: value for key, value in binding_map.items() if symbolic_vars_of(func, {key: value})
        }
        if own:
            changed[name] = bind_symbolic_vars(func, own)
            used |= set(own)
    for key in binding_map:
        if key not in used:
            raise GraphError(
                f"no function of the module has a variable {repr_of(key)} of sizes",
                "",
                "give variables that occur in a function, by name or by the variable",
            )
    return mod.with_functions(changed)
