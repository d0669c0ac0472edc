"""BindParams: weights become constants of a function."""

from __future__ import annotations

from te_sched.errors import GraphError, did_you_mean
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule
from te_sched.passes import ModulePass
from te_sched.relax.binding import Values, bind_params


class BindParams(ModulePass):
    """The pass that gives parameters of a function a value, and removes them.

    Parameters
    ----------
    func_name : the name of the function.
    params : arrays by the name of the parameter, or by its variable; see `Function.bind_params`.

    >>> import numpy as np
    >>> from te_sched import IRModule, relax
    >>> x, w = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "xw"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w]):
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(x, w)))
    >>> module = BindParams("main", {"w": np.ones(4, "float32")})(builder.get())
    >>> [one.name_hint for one in module["main"].params]
    ['x']
    """

    def __init__(self, func_name: str, params: Values) -> None:
        self.func_name = func_name
        self.params = params

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return mod.with_functions(
            {self.func_name: bind_params(graph_function(mod, self.func_name), self.params)}
        )


def graph_function(mod: IRModule, name: str) -> GraphFunction:
    """A function of graphs of a module, by its name."""
    func = mod.functions.get(name)
    if not isinstance(func, GraphFunction):
        names = [str(key) for key, func in mod.functions.items() if isinstance(func, GraphFunction)]
        raise GraphError(
            f"the module has no function {name!r} of graphs",
            f"it has {', '.join(names)}" if names else "it has no functions of graphs",
            f"give the name of one of its functions{did_you_mean(name, names)}",
        )
    return func
