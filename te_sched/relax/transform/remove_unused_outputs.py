"""RemoveUnusedOutputs: private functions return the elements of their tuple that are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    SeqExpr,
    Tuple,
    TupleGetItem,
    VarBinding,
)
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.struct_info import TupleStructInfo
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import get_var2val, nodes_of
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.transform.canonicalize_bindings import CanonicalizeBindings
from te_sched.relax.transform.dead_code_elimination import DeadCodeElimination
from te_sched.relax.transform.private_calls import called_private_functions, named_function
from te_sched.transform import Sequential

_Value = TypeVar("_Value")


class RemoveUnusedOutputs(Sequential):
    """The pass that removes the elements of results of private functions that no caller uses.

    >>> from te_sched import relax
    >>> x, y = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "xy"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("both", [x, y], private=True):
    ...     both = builder.emit_func_output([x, y])
    >>> a = relax.Var("a", relax.TensorStructInfo([4], "float32"))
    >>> with builder.function("main", [a]):
    ...     pair = builder.emit(relax.Call(both, [a, a]))
    ...     name = builder.emit_func_output(builder.emit(relax.TupleGetItem(pair, 1)))
    >>> RemoveUnusedOutputs()(builder.get())["both"].struct_info.ret
    R.Tensor((4,), dtype="float32")
    """

    def __init__(self) -> None:
        passes = [_RemoveUnusedOutputs(), CanonicalizeBindings(), DeadCodeElimination()]
        super().__init__(passes, name="RemoveUnusedOutputs")


class _RemoveUnusedOutputs(ModulePass, name="RemoveUnusedOutputsInner"):
    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return _run(mod)


def _run(mod: IRModule) -> IRModule:
    used = _used_outputs(mod)
    changed: dict[str, GraphFunction] = {}
    places: dict[str, list[int]] = {}
    for name, indices in used.items():
        func = mod[name]
        new = _with_outputs(func, sorted(indices))
        if new is not None:
            changed[name], places[name] = new, sorted(indices)
    if not changed:
        return mod
    functions = {
        name: _Caller(changed, places).visit_expr(changed.get(str(name), func))
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction)
    }
    return mod.with_functions(functions)


def _used_outputs(mod: IRModule) -> dict[str, set[int]]:
    """For private functions that return tuples: the elements that callers use."""
    indices_of: dict[str, set[int]] = {
        name: set()
        for name, func in called_private_functions(mod).items()
        if isinstance(func.ret_struct_info, TupleStructInfo)
    }
    for func in mod.functions.values():
        if not isinstance(func, GraphFunction):
            continue
        values = get_var2val(func)
        elements: set[int] = set()
        for node in nodes_of(func):
            if isinstance(node, TupleGetItem):
                elements.add(id(node.tuple_value))
                name = _callee(_value_of(node.tuple_value, values))
                if name is not None and name in indices_of:
                    indices_of[name].add(node.index)
        for name, count in _whole_uses(func, values).items():
            if count and name in indices_of:
                del indices_of[name]
    return indices_of


def _whole_uses(func: GraphFunction, values: dict[GraphVar, GraphValue]) -> dict[str, int]:
    """How often the tuple that a call returns is used itself."""
    uses: dict[str, int] = {}
    for node in nodes_of(func):
        name = _callee(_value_of(node, values))
        if name is not None:
            uses[name] = uses.get(name, 0) + 1
        if isinstance(node, TupleGetItem):
            name = _callee(_value_of(node.tuple_value, values))
            if name is not None:
                uses[name] = uses.get(name, 0) - 1
    return uses


def _value_of(var: object, values: Mapping[GraphVar, _Value]) -> _Value | None:
    return values.get(var) if isinstance(var, GraphVar) else None


def _callee(value: GraphValue | None) -> str | None:
    if not isinstance(value, GraphCall) or not isinstance(value.op, GlobalVar):
        return None
    return str(value.op)


def _with_outputs(func: GraphFunction, places: list[int]) -> GraphFunction | None:
    """The function with some of its outputs; None if these are all."""
    info = func.ret_struct_info
    assert isinstance(info, TupleStructInfo)
    if len(places) == len(info.fields):
        return None
    body = func.body
    whole = body.body
    if isinstance(whole, GraphVar):
        whole = get_var2val(func).get(whole, whole)
    if not isinstance(whole, Tuple):
        return None
    fields = [whole.fields[index] for index in places]
    result = fields[0] if len(fields) == 1 else Tuple(tuple(fields))
    seq = SeqExpr(body.blocks, result, result.struct_info_)
    return GraphFunction(func.params, seq, None, func.is_pure, func.attrs)


class _Caller(PyExprMutator):
    """Rewrites the calls of functions that return less, and the uses of their results."""

    def __init__(self, functions: dict[str, GraphFunction], places: dict[str, list[int]]) -> None:
        super().__init__()
        self._functions, self._places = functions, places
        self._results: dict[GraphVar, str] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Note the variables that are bound to results."""
        name = _callee(binding.value)
        if name is not None and name in self._functions:
            self._results[binding.var] = name
        super().visit_var_binding_(binding)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call of the function that returns less."""
        call = map_call(self, op)
        name = _callee(call)
        if name is None or name not in self._functions:
            return call
        return GraphCall(named_function(name, self._functions[name]), call.args)

    def visit_tuple_getitem_(self, op: TupleGetItem) -> GraphExpr:
        """An element of a result: at its new place."""
        name = _value_of(op.tuple_value, self._results)
        if name is None:
            return super().visit_tuple_getitem_(op)
        value = self.visit_expr(op.tuple_value)
        places = self._places[name]
        return value if len(places) == 1 else TupleGetItem(value, places.index(op.index))
