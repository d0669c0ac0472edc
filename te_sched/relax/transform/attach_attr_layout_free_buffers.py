"""AttachAttrLayoutFreeBuffers: functions of loops are told which inputs are weights."""

from __future__ import annotations

from te_sched.ir.graph import Constant, GraphCall, GraphExpr, GraphFunction, GraphVar, Tuple
from te_sched.ir.renew import renew_defs
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.transform.dead_code_elimination import DeadCodeElimination
from te_sched.transform import Sequential


class AttachAttrLayoutFreeBuffers(Sequential):
    """The pass that gives PrimFuncs the attribute "layout_free_buffers": the places of arguments
    that are constants or weights, whose layout a schedule may choose.

    Weights are the parameters after the first `num_input`, an attribute of functions.

    >>> import numpy as np
    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4, 4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     product = builder.emit_te(topi.add, x, relax.const(np.ones((4, 4), "float32")))
    ...     name = builder.emit_func_output(product)
    >>> AttachAttrLayoutFreeBuffers()(builder.get())["add1"].attrs["layout_free_buffers"]
    [1]
    """

    def __init__(self) -> None:
        passes = [_AttachAttrLayoutFreeBuffers(), DeadCodeElimination()]
        super().__init__(passes, name="AttachAttrLayoutFreeBuffers")


class _AttachAttrLayoutFreeBuffers(ModulePass):
    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        return _run(mod)


def _run(mod: IRModule) -> IRModule:
    marker = _Marker(mod)
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction):
            count = func.attrs.get("num_input")
            marker.weights = set() if count is None else set(func.params[int(count) :])
            new = marker.visit_expr(func)
            if new is not func:
                marker.builder_.update_func(name, new)
    return marker.builder_.finalize()


class _Marker(PyExprMutator):
    """Calls functions with the attribute in place of those without."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._mod = mod
        self.weights: set[GraphVar] = set()

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call of a marked function."""
        call = map_call(self, op)
        if str(call.op) != "relax.call_tir" or not isinstance(call.args[1], Tuple):
            return call
        name = call.args[0]
        func = self._mod.functions.get(name) if isinstance(name, GlobalVar) else None
        places = [
            index
            for index, arg in enumerate(call.args[1].fields)
            if isinstance(arg, Constant) or arg in self.weights
        ]
        if not isinstance(func, PrimFunc):
            return call
        marked = renew_defs(func).with_attr("layout_free_buffers", places)
        new = self.builder_.add_func(marked, str(name))
        return GraphCall(call.op, (new, *call.args[1:]), call.attrs, call.sinfo_args)
