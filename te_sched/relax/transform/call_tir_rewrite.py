"""CallTIRRewrite: calls with new arrays for their results become allocations and calls.

    y = R.call_tir(cls.add, (x, x), out_sinfo=R.Tensor((4,), "float32"))

becomes

    alloc = R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), ...)
    cls.add(x, x, alloc)
    y = alloc

A name of `call_dps_packed` that is a function of loops in the module is called as that.
"""

from __future__ import annotations

from te_sched.errors import GraphError
from te_sched.ir.graph import (
    ExternFunc,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    Tuple,
    TupleGetItem,
    update_struct_info,
)
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import (
    ShapeExpr,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.op import builtin, vm

_CALLS = (
    "relax.call_tir",
    "relax.call_tir_with_grad",
    "relax.call_tir_inplace",
    "relax.call_dps_packed",
)


class CallTIRRewrite(ModulePass):
    """The pass that allocates the results of calls.

    >>> from te_sched import relax, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     name = builder.emit_func_output(builder.emit_te(topi.add, x, x))
    >>> bindings = CallTIRRewrite()(builder.get())["main"].body.blocks[0].bindings
    >>> [one.var.name_hint for one in bindings]
    ['alloc', '_', 'gv']
    """

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        rewriting = _Allocated(mod)  # names of allocations differ in all functions
        changed = {
            name: rewriting.visit_expr(func)
            for name, func in mod.functions.items()
            if isinstance(func, GraphFunction)
        }
        return mod.with_functions(changed)


class _Allocated(PyExprMutator):
    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self._mod = mod

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The results, after their allocations and the call."""
        call = self.visit_expr_post_order(op)
        if not isinstance(call.op, Op) or call.op not in _CALLS:
            return call
        function, args, *sizes = call.args
        inputs = self._fields(args)
        info = call.sinfo_args[0]
        wanted = info.fields if isinstance(info, TupleStructInfo) else (info,)
        places = [-1] * len(wanted)
        if call.op == "relax.call_tir_inplace":
            places = call.attrs.inplace_indices
        outputs = [
            inputs[index] if index >= 0 else self._allocation(info)
            for info, index in zip(wanted, places, strict=True)
        ]
        new = [output for output, index in zip(outputs, places, strict=True) if index < 0]
        self.builder_.emit(self._call(function, [*inputs, *new], sizes), "_")
        whole = Tuple(tuple(outputs))
        return whole if isinstance(info, TupleStructInfo) else outputs[0]

    def _call(
        self, function: GraphValue, args: list[GraphExpr], sizes: list[GraphExpr]
    ) -> GraphCall:
        if isinstance(function, ExternFunc):
            name = function.global_symbol
            if isinstance(self._mod.functions.get(name), PrimFunc):
                function = self._mod.get_global_var(name)
        if sizes:
            return vm.call_tir_dyn(function, [*args, sizes[0]])
        if isinstance(function, GlobalVar):
            call = GraphCall(function, tuple(args))
            update_struct_info(call, TupleStructInfo(()))
            return call
        return GraphCall(function, tuple(args))

    def _fields(self, args: GraphExpr) -> list[GraphExpr]:
        """The inputs; those of a variable that is a tuple are its elements."""
        if isinstance(args, Tuple):
            return list(args.fields)
        info = args.struct_info
        count = len(info.fields) if isinstance(info, TupleStructInfo) else 0
        return [self.builder_.emit(TupleGetItem(args, number)) for number in range(count)]

    def _allocation(self, info: StructInfo) -> GraphVar:
        if not isinstance(info, TensorStructInfo) or info.shape is None or not info.dtype:
            raise GraphError(
                f"cannot allocate a result, which is {info}",
                "its shape and dtype must be known before the call",
                "give the shape of the result: out_sinfo=R.Tensor((n, 4), dtype)",
            )
        shape = info.shape if isinstance(info.shape, ShapeExpr) else self.visit_expr(info.shape)
        return self.builder_.emit(builtin.alloc_tensor(shape, info.dtype, 0), "alloc")
