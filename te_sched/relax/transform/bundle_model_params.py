"""BundleModelParams: the weights of a function become one parameter, a tuple."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.ir.graph import GraphExpr, GraphFunction, GraphVar, TupleGetItem
from te_sched.ir.stmt import IRModule
from te_sched.ir.struct_info import TupleStructInfo
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator


class BundleModelParams(ModulePass, opt_level=1):
    """The pass that makes a tuple of the parameters after the first `num_input` (an attribute).

    Parameters
    ----------
    param_tuple_name : the name of the tuple.

    >>> from te_sched import relax
    >>> x, w = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "xw"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x, w], {"num_input": 1}):
    ...     name = builder.emit_func_output(builder.emit(relax.op.add(x, w)))
    >>> [one.name_hint for one in BundleModelParams()(builder.get())["main"].params]
    ['x', 'model_params']
    """

    def __init__(self, param_tuple_name: str | None = None) -> None:
        self.param_tuple_name = param_tuple_name

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        changed = {
            name: bundled(func, self.param_tuple_name or "model_params")
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction) and "num_input" in func.attrs
        }
        return mod.with_functions(changed)


def bundled(func: GraphFunction, name: str) -> GraphFunction:
    """A function with its weights as a tuple."""
    count = int(func.attrs["num_input"])
    inputs, weights = func.params[:count], func.params[count:]
    bundle = GraphVar(name, TupleStructInfo(tuple([weight.struct_info for weight in weights])))
    params = [*inputs, bundle]
    body = _Bundler(weights, bundle).visit_with_new_scope(func.body, params)
    return GraphFunction(
        tuple(params),
        body,
        func.ret_struct_info,
        func.is_pure,
        func.attrs,
        written_name=func.written_name,
    )


class _Bundler(PyExprMutator):
    """Takes weights out of a tuple where they are used."""

    def __init__(self, weights: Sequence[GraphVar], bundle: GraphVar) -> None:
        super().__init__()
        self._items = {weight: TupleGetItem(bundle, index) for index, weight in enumerate(weights)}

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """The weight, taken out of the tuple for each use."""
        if op not in self._items:
            return super().visit_var_(op)
        return self.builder_.emit(self._items[op], op.name_hint)
