"""What importers share: errors of rules, and parameters that are attributes of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from te_sched import nd
from te_sched.errors import GraphError, Subject, TeSchedError
from te_sched.ir.graph import GraphFunction
from te_sched.ir.stmt import BaseFunc, IRModule

PARAMS = "params"  # the attribute with the values of the last parameters of a function


@contextmanager
def errors_of_rules(name: str, node: Callable[[], str]) -> Iterator[None]:
    """Turn each error of the rule of an operator into one GraphError, which names the operator and
    its node: the innermost one, if the rule translates other nodes.

    Parameters
    ----------
    name : the operator.
    node : gives the name of the node, and its place in the user's model.

    >>> with errors_of_rules("aten.relu", lambda: "relu_1 (File model.py, line 3)"):
    ...     [].pop()
    Traceback (most recent call last):
    te_sched.errors.GraphError: cannot import aten.relu: its arguments are not supported
      where: node relu_1 (File model.py, line 3)...
      why: IndexError: pop from empty list
      help: write the model with other arguments or operators
    """
    try:
        yield
    except (RecursionError, MemoryError):
        raise
    except TeSchedError as error:
        if any(isinstance(subject, Subject) and subject.kind == "node" for subject in error.about):
            raise
        fault, why, help = f"cannot import {name}: {error.fault}", error.why, error.help
        raise GraphError(fault, why, help, where=Subject("node", node())) from None
    except Exception as error:
        raise GraphError(
            f"cannot import {name}: its arguments are not supported",
            f"{type(error).__name__}: {error}",
            "write the model with other arguments or operators",
            where=Subject("node", node()),
        ) from error


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[nd.NDArray]]]:
    """The module without the attribute "params" of its functions, and their values by function.

    Importers that keep parameters as inputs (`keep_params_as_input=True`) put them there.

    >>> from te_sched import nd, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    >>> func = relax.Function([x], x).with_attr("params", [nd.empty([3])])
    >>> mod, params = detach_params(te_sched.IRModule({"main": func}))
    >>> dict(mod["main"].attrs), [one.shape for one in params["main"]]
    ({}, [(3,)])
    """
    functions: dict[str, BaseFunc] = {}
    params: dict[str, list[nd.NDArray]] = {}
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and PARAMS in func.attrs:
            params[str(name)] = list(func.attrs[PARAMS])
            functions[name] = func.without_attr(PARAMS)
    return mod.with_functions(functions), params
