"""RemoveUnusedParameters: private functions without the parameters that they do not use."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.errors import GraphError
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction, GraphVar, PrimValue
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import PrimStructInfo
from te_sched.passes import ModulePass
from te_sched.relax.analysis.symbolic import (
    definable_tir_vars_in_struct_info,
    free_symbolic_vars,
    tir_vars_in_struct_info,
)
from te_sched.relax.analysis.unused import remove_all_unused
from te_sched.relax.analysis.variables import used_vars
from te_sched.relax.core.sizes import bind_sizes
from te_sched.relax.transform.private_calls import (
    CallRewriter,
    Rewrite,
    called_private_functions,
    named_function,
)


class RemoveUnusedParameters(ModulePass):
    """The pass that removes unused parameters of private functions; sizes that are used, and that
    no other parameter gives, become parameters.

    Parameters
    ----------
    to_run : as that of `DeadCodeElimination`; functions that `FuseTIR` does not fuse stay.

    >>> from te_sched import relax
    >>> x, y = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "xy"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("first", [x, y], private=True):
    ...     first = builder.emit_func_output(x)
    >>> a = relax.Var("a", relax.TensorStructInfo([4], "float32"))
    >>> with builder.function("main", [a]):
    ...     name = builder.emit_func_output(builder.emit(relax.Call(first, [a, a])))
    >>> [one.name_hint for one in RemoveUnusedParameters()(builder.get())["first"].params]
    ['x']
    """

    def __init__(self, *, to_run: bool = False) -> None:
        self.to_run = to_run

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        changed: dict[str, GraphFunction] = {}
        rewrites: dict[str, Rewrite] = {}
        for name, func in called_private_functions(mod, self.to_run).items():
            result = _without_unused(func)
            if result is not None:
                changed[name], arguments = result
                rewrites[name] = _rewrite(name, changed[name], arguments)
        if not changed:
            return mod
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                new = CallRewriter(rewrites).visit_expr(changed.get(str(name), func))
                changed[str(name)] = remove_all_unused(new, self.to_run)
        return mod.with_functions(changed)


# What makes the arguments of a call.
Arguments = Callable[[GraphCall], list[GraphExpr]]


def _rewrite(name: str, func: GraphFunction, arguments: Arguments) -> Rewrite:
    return lambda builder, call: GraphCall(named_function(name, func), tuple(arguments(call)))


def _without_unused(
    func: GraphFunction,
) -> tuple[GraphFunction, Arguments] | None:
    """The function with fewer parameters, and what makes the arguments of its calls."""
    used = set(used_vars(func.body))
    kept = [param for param in func.params if param in used]
    needed = _missing_sizes(func, kept)
    for param in func.params:  # one that is such a size stays as it is
        value = _only_size(param)
        if param not in kept and value in needed:
            kept.append(param)
            needed.remove(value)
    kept = [param for param in func.params if param in kept]
    if len(kept) == len(func.params):
        return None
    added = [
        GraphVar(f"param_{size_var.name}", PrimStructInfo(value=size_var)) for size_var in needed
    ]
    new = GraphFunction((*kept, *added), func.body, func.ret_struct_info, func.is_pure, func.attrs)
    places = [func.params.index(param) for param in kept]

    def arguments(call: GraphCall) -> list[GraphExpr]:
        values: dict[Var, Expr] = {}
        for param, arg in zip(func.params, call.args, strict=True):
            bind_sizes(param.struct_info, arg.struct_info, values)
        unknown = [size_var for size_var in needed if size_var not in values]
        if unknown:
            raise GraphError(
                f"size {unknown[0]} of a call of {call.op} is not known",
                f"it is called with {', '.join(str(arg.struct_info) for arg in call.args)}",
                "match the argument before: builder.match_cast(value, struct_info)",
            )
        return [
            *(call.args[index] for index in places),
            *(PrimValue(values[size_var]) for size_var in needed),
        ]

    return new, arguments


def _only_size(param: GraphVar) -> Var | None:
    info = param.struct_info
    value = info.value if isinstance(info, PrimStructInfo) else None
    return value if isinstance(value, Var) else None


def _missing_sizes(func: GraphFunction, kept: list[GraphVar]) -> list[Var]:
    """The variables of sizes that a function uses, and that the kept parameters do not define."""
    alone = GraphFunction(tuple(kept), func.body, func.ret_struct_info, func.is_pure)
    missing = dict.fromkeys(free_symbolic_vars(alone))
    if func.ret_struct_info is not None:
        defined = {
            var for param in kept for var in definable_tir_vars_in_struct_info(param.struct_info)
        }
        for size_var in tir_vars_in_struct_info(func.ret_struct_info):
            if size_var not in defined:
                missing.setdefault(size_var)
    return list(missing)[::-1]
