"""What importers share: parameters that are attributes of functions."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import IRModule

PARAMS = "params"  # the attribute with the values of the last parameters of a function


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Any]]]:
    """The module without the attribute "params" of its functions, and their values by function.

    Importers that keep parameters as inputs (`keep_params_as_input=True`) put them there.

    >>> from te_sched import nd, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    >>> func = relax.Function([x], x).with_attr("params", [nd.empty([3])])
    >>> mod, params = detach_params(te_sched.IRModule({"main": func}))
    >>> dict(mod["main"].attrs), [one.shape for one in params["main"]]
    ({}, [(3,)])
    """
    functions: dict[str, Any] = {}
    found: dict[str, list[Any]] = {}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and PARAMS in func.attrs:
            found[str(name)] = list(func.attrs[PARAMS])
            functions[name] = func.without_attr(PARAMS)
    return mod.with_functions(functions), found
