"""Functions with some parameters and sizes given: `func.bind_params`, `func.bind_symbolic_vars`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.errors import GraphError, GraphTypeError, did_you_mean, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphExpr, GraphFunction, GraphVar, as_expr
from te_sched.ir.struct_info import ShapeExpr
from te_sched.ir.visitor import substitute
from te_sched.relax.analysis.symbolic import free_symbolic_vars, used_symbolic_vars
from te_sched.relax.constant import const
from te_sched.relax.core.sizes import bind_sizes
from te_sched.relax.core.substitution import Substitution
from te_sched.relax.size_relations import map_relations
from te_sched.relax.struct_info import BaseCheckResult, struct_info_base_check
from te_sched.signatures import checked_as

# Arrays, numbers and expressions, by the name of a variable or by the variable.
Values = Mapping[Any, object]
# Sizes, by the name of their variable or by the variable.
Sizes = Mapping[Any, Expr | int]


@checked_as(GraphTypeError)
def bind_params(func: GraphFunction, binding_map: Values) -> GraphFunction:
    """A function without the parameters that are given.

    Variables of sizes get the values that the shapes of the given arrays tell.

    Parameters
    ----------
    binding_map : arrays (of numpy, torch, te_sched), numbers or expressions, by the name of the
        parameter or by its variable.

    >>> import numpy as np
    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> relax.Function([x], x).bind_params({"x": np.zeros(4, "float32")}).params
    ()
    """
    by_name: dict[str, list[GraphVar]] = {}
    for param in func.params:
        by_name.setdefault(param.name_hint, []).append(param)
    values: dict[GraphVar, GraphExpr] = {}
    for key, argument in binding_map.items():
        param = _parameter(func, key, by_name)
        if param in values:
            raise GraphError(
                f"parameter {param.name_hint} is given twice",
                "it is given by its name and by its variable",
                "give it once",
            )
        values[param] = _value(argument)
    sizes: dict[Var, Expr] = {}
    for param, value in values.items():
        bind_sizes(param.struct_info, value.struct_info, sizes)
    for param, value in values.items():
        expected = substitute(param.struct_info, sizes)
        if struct_info_base_check(expected, value.struct_info) is BaseCheckResult.FAIL_L0:
            raise GraphError(
                f"parameter {param.name_hint} is given {value.struct_info}, expected {expected}",
                "the value does not fit the parameter",
                "give a value of this struct info",
            )
    return _bound(func, values, sizes)


def _parameter(func: GraphFunction, key: object, by_name: Mapping[str, list[GraphVar]]) -> GraphVar:
    """The parameter with a name, or that is a variable."""
    if isinstance(key, GraphVar) and key in func.params:
        return key
    matches = by_name.get(str(key), []) if isinstance(key, str) else []
    if len(matches) > 1:
        raise GraphError(
            f"two parameters have the name {key}", "", "give the variable instead of its name"
        )
    if not matches:
        names = [param.name_hint for param in func.params]
        raise GraphError(
            f"the function has no parameter {repr_of(key)}",
            f"its parameters are {', '.join(names)}" if names else "it has no parameters",
            f"give one of its parameters{did_you_mean(str(key), names)}",
        )
    return matches[0]


def _value(argument: object) -> GraphExpr:
    if isinstance(argument, GraphExpr | ShapeExpr):
        return argument
    if isinstance(argument, Expr | int | float | list | tuple):
        value: GraphExpr = as_expr(argument)
        return value
    return const(argument)


@checked_as(GraphTypeError)
def bind_symbolic_vars(func: GraphFunction, binding_map: Sizes) -> GraphFunction:
    """A function with other sizes, or known ones, in place of variables.

    Parameters
    ----------
    binding_map : numbers or expressions by the name of the variable, or by the variable.

    >>> from te_sched import relax, tir
    >>> x = relax.Var("x", relax.TensorStructInfo([tir.Var("n", "int64")], "float32"))
    >>> relax.Function([x], x).bind_symbolic_vars({"n": 4}).struct_info.ret
    R.Tensor((4,), dtype="float32")
    """
    sizes = symbolic_vars_of(func, binding_map)
    for key in binding_map:
        if not any(key is var or (type(key) is str and key == var.name) for var in sizes):
            names = [var.name for var in used_symbolic_vars(func)]
            raise GraphError(
                f"the function has no variable {repr_of(key)} of sizes",
                f"it has {', '.join(names)}" if names else "all of its sizes are known",
                f"give one of its variables{did_you_mean(str(key), names)}",
            )
    bound_func = _bound(func, {}, sizes)
    undefined = [
        var for var in free_symbolic_vars(bound_func) if var not in free_symbolic_vars(func)
    ]
    if undefined:
        raise GraphError(
            f"variable {undefined[0]} of sizes is not defined after the replacement",
            "no parameter and no cast gives its value",
            "use it as a size of a parameter, too",
        )
    return bound_func


@checked_as(GraphTypeError)
def symbolic_vars_of(func: GraphFunction, binding_map: Sizes) -> dict[Var, Expr]:
    """The variables of sizes of a function that a mapping gives a value, and the values."""
    values: dict[Var, Expr] = {}
    variables = used_symbolic_vars(func)
    for key, value in binding_map.items():
        matching = [
            candidate
            for candidate in variables
            if candidate is key or (type(key) is str and candidate.name == key)
        ]
        if len(matching) > 1:
            raise GraphError(
                f"two variables of sizes have the name {key}",
                "",
                "give the variable instead of its name",
            )
        for var in matching:
            if var in values:
                raise GraphError(
                    f"variable {var} of sizes is given twice",
                    "it is given by its name and by itself",
                    "give it once",
                )
            values[var] = ops.const(value, var.dtype) if isinstance(value, int) else value
    return values


def _bound(
    func: GraphFunction, values: Mapping[GraphVar, GraphExpr], sizes: Mapping[Var, Expr]
) -> GraphFunction:
    mutator = Substitution(values, sizes)
    left = [param for param in func.params if param not in values]
    params = [mutator.visit_var_def(param) for param in left]
    assert func.body is not None
    body = mutator.visit_with_new_scope(func.body, params)
    attrs = map_relations(func.attrs, mutator.visit_prim_expr)
    return GraphFunction(
        tuple(params), body, None, func.is_pure, attrs, written_name=func.written_name
    )


GraphFunction.bind_params = bind_params  # type: ignore[attr-defined]
GraphFunction.bind_symbolic_vars = bind_symbolic_vars  # type: ignore[attr-defined]
