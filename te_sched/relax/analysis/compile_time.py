"""Which values of a function depend on its weights alone."""

from __future__ import annotations

from te_sched.ir.expr import Var
from te_sched.ir.graph import GraphFunction, GraphVar, MatchCast
from te_sched.ir.stmt import GlobalVar
from te_sched.relax.analysis.purity import contains_impure_call
from te_sched.relax.analysis.symbolic import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)
from te_sched.relax.analysis.variables import bindings_of, free_vars, nodes_of


def computable_at_compile_time(func: GraphFunction) -> list[GraphVar]:
    """The variables whose values are known before the first call: the parameters after the first
    `num_input` (an attribute of the function), and what is computed of these alone.

    >>> from te_sched import relax
    >>> x, w = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "xw"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w], {"num_input": 1}):
    ...     twice = builder.emit(relax.op.add(w, w), "twice")
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(x, twice)))
    >>> computable_at_compile_time(builder.get()["main"])
    [w, twice]
    """
    if "num_input" not in func.attrs:
        return []
    static_vars = list(func.params[int(func.attrs["num_input"]) :])
    sizes: set[Var] = set()
    for param in static_vars:
        sizes |= set(definable_tir_vars_in_struct_info(param.struct_info))
    for binding in bindings_of(func):
        value = binding.value
        needed = {node for node in nodes_of(value, True) if type(node) is Var}
        unknown = (
            [] if isinstance(value, GlobalVar) else set(free_vars(value)).difference(static_vars)
        )
        is_known = not unknown and needed <= sizes
        if isinstance(binding, MatchCast) and is_known:
            used = set(tir_vars_in_struct_info(binding.struct_info))
            defined = set(definable_tir_vars_in_struct_info(binding.struct_info))
            is_known = used <= sizes | defined
            sizes |= defined if is_known else set()
        if is_known and not contains_impure_call(value):
            static_vars.append(binding.var)
    return static_vars
