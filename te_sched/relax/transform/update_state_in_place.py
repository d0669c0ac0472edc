"""States of which a function changes some elements are written in their memory.

A step of a language model replaces a row of a cache. As values, that is a new cache, which would be
copied for each token; this writes over the old one:

    new = R.scatter_elements(cache, at, row)   ->   new = R.call_tir_inplace(..., (cache, at, row))

It does so for states that the machine keeps (`relax.core.state`), if nothing else uses a value that
is written over: passes may then bring the other bindings into any order. Must not know how states
are kept.
"""

from __future__ import annotations

from collections import Counter

from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    SeqExpr,
    Tuple,
)
from te_sched.ir.stmt import IRModule
from te_sched.relax.analysis.variables import bindings_of, used_vars
from te_sched.relax.core.state import state_use_of
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.operators.registry import find_operator
from te_sched.relax.transform.dataflow_inplace import inplace_call


def update_state_in_place(mod: IRModule) -> IRModule:
    """The module whose functions write the changed elements of states in place.

    >>> from te_sched import relax
    >>> infos = {"cache": ([8, 2], "float32"), "at": ([1, 2], "int64"), "row": ([1, 2], "float32")}
    >>> params = [relax.Var(name, relax.TensorStructInfo(*info)) for name, info in infos.items()]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", params, {"state": {"cache": "cache"}}):
    ...     new = builder.emit(relax.op.scatter_elements(*params))
    ...     gv = builder.emit_func_output(relax.Tuple([new, relax.Tuple([new])]))
    >>> changed = update_state_in_place(builder.get())["main"]
    >>> str(changed.body.blocks[0].bindings[0].value.op)
    'relax.call_tir_inplace'
    """
    chosen = [
        call
        for func in mod.functions.values()
        if isinstance(func, GraphFunction)
        for call in _updates_in(func)
    ]
    if not chosen:
        return mod
    rewriter = _InPlace(mod, chosen)
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction):
            new = rewriter.visit_expr(func)
            if new is not func:
                rewriter.builder_.update_func(name, new)
    return rewriter.builder_.finalize()


class _InPlace(PyExprMutator):
    """Lets calls write over their first argument."""

    def __init__(self, mod: IRModule, chosen: list[GraphCall]) -> None:
        super().__init__(mod)
        self._chosen = chosen

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call, or one that writes over its first argument."""
        call = self.visit_expr_post_order(op)
        if not any(op is chosen for chosen in self._chosen):
            return call
        return inplace_call(self.builder_, call, [0])


def _updates_in(func: GraphFunction) -> list[GraphCall]:
    """The calls of a function that may write over states."""
    use = state_use_of(func, [param.name_hint for param in func.params])
    if use is None or not isinstance(func.body, SeqExpr):
        return []
    values = {binding.var: binding.value for binding in bindings_of(func)}
    params = {param.name_hint: param for param in func.params}
    counts = _uses(func, values)
    new = _fields(_fields(func.body.body, values)[-1], values)
    updates: list[GraphCall] = []
    for (name, state), value in zip(use.updates, new, strict=True):
        calls = _chain(value, params[name], values, counts) if state else []
        updates += calls
    return updates


def _uses(func: GraphFunction, values: dict[GraphVar, GraphValue]) -> Counter[GraphVar]:
    """How often each variable is used, not counting other names of it."""
    assert isinstance(func.body, SeqExpr)
    users = [value for value in values.values() if not isinstance(value, GraphVar)]
    return Counter(
        _root(var, values) for user in [*users, func.body.body] for var in used_vars(user)
    )


def _root(var: GraphVar, values: dict[GraphVar, GraphValue]) -> GraphVar:
    """The variable that another one is a name of."""
    while isinstance(value := values.get(var), GraphVar):
        var = value
    return var


def _fields(value: GraphValue, values: dict[GraphVar, GraphValue]) -> list[GraphValue]:
    """The elements of a tuple that is bound or written in place."""
    if isinstance(value, GraphVar):
        value = values.get(_root(value, values), value)
    return list(value.fields) if isinstance(value, Tuple) else [value]


def _chain(
    value: GraphValue,
    param: GraphVar,
    values: dict[GraphVar, GraphValue],
    counts: Counter[GraphVar],
) -> list[GraphCall]:
    """The calls from a parameter to its new value, if each may write over the one before it."""
    calls: list[GraphCall] = []
    while isinstance(value, GraphVar):
        root = _root(value, values)
        if calls and counts[root] != 1:
            return []
        if root is param:
            return calls
        call = values.get(root)
        if not isinstance(call, GraphCall) or not _is_update(call):
            return []
        calls.append(call)
        value = call.args[0]
    return []


def _is_update(call: GraphCall) -> bool:
    operator = find_operator(call.op)
    return operator is not None and operator.is_update
