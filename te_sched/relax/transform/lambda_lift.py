"""LambdaLift: functions inside of functions become functions of the module.

A function that uses variables around it gets them as parameters, and its value is a closure:
`R.make_closure(cls.main_inner, (x,))`, which `R.invoke_pure_closure` calls.
"""

from __future__ import annotations

from collections.abc import Collection

from te_sched.ir.graph import (
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphVar,
    Tuple,
    VarBinding,
)
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule
from te_sched.ir.struct_info import FuncStructInfo, ObjectStructInfo, StructInfo
from te_sched.passes import ModulePass
from te_sched.relax.analysis.variables import free_vars, used_vars
from te_sched.relax.copying import copy_with_new_vars
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.operators.calls import invoke_closure, invoke_pure_closure, make_closure


class LambdaLift(ModulePass, opt_level=1):
    """The pass that makes functions of the module of the functions inside of its functions.

    >>> from te_sched import IRModule, relax
    >>> x, y = [relax.Var(name, relax.TensorStructInfo([4], "float32")) for name in "xy"]
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     inner = builder.emit(relax.Function([y], y), "inner")
    ...     name = builder.emit_func_output(builder.emit(relax.Call(inner, [x])))
    >>> sorted(str(name) for name in LambdaLift()(builder.get()).functions)
    ['main', 'main_inner']
    """

    def transform_module(self, mod: IRModule, *_: object) -> dict[str, BaseFunc]:
        functions = dict(mod.functions)
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                lifter = _Lifter(mod, str(name), functions)
                functions[name] = lifter.visit_expr(func)
        return functions if len(functions) != len(mod.functions) else dict(mod.functions)


class _Lifter(PyExprMutator):
    """Lifts the functions in one function of the module."""

    def __init__(self, mod: IRModule, outer: str, functions: dict[str, BaseFunc]) -> None:
        super().__init__(mod)
        self._outer, self._functions = outer, functions
        self._mod = mod
        self._names: dict[GraphVar, GlobalVar] = {}  # of functions that capture nothing
        self._captured: dict[GraphVar, list[GraphVar]] = {}  # what calls of itself pass on
        self._closures: set[GraphVar] = set()

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """Lift a function that is bound to a variable."""
        if not isinstance(binding.value, GraphFunction):
            super().visit_var_binding_(binding)
            if isinstance(binding.var.struct_info_, FuncStructInfo):
                self._closures.add(binding.var)
            return
        name = self._lifted(binding.var, binding.value)
        captured = self._captured[binding.var]
        if not captured:
            return
        value = self.builder_.normalize(make_closure(name, Tuple(tuple(captured))))
        var = type(binding.var)(binding.var.name_hint, ObjectStructInfo())
        self.set_var_remap(binding.var, var)
        self._closures.add(binding.var)
        self.builder_.emit_normalized(VarBinding(var, value))

    def _lifted(self, var: GraphVar, func: GraphFunction) -> GlobalVar:
        """Add a function to the module; its name."""
        free = [
            variable
            for variable in free_vars(func)
            if variable is not var and variable not in self._names
        ]
        captured = [self._renamed.get(variable, variable) for variable in free]
        name = GlobalVar(self._unique(f"{self._outer}_{var.name_hint}"))
        self._functions[name] = func  # the name is taken
        inner = _Lifter(self._mod, self._outer, self._functions)
        inner._names |= {**self._names, var: name}
        own = [GraphVar(variable.name_hint, variable.struct_info_) for variable in captured]
        inner._renamed |= dict(zip(free, own, strict=True))
        inner._captured[var] = own
        is_recursive = var in used_vars(func)
        params = (*func.params, *own)
        if is_recursive and func.ret_struct_info is not None:
            info = FuncStructInfo(
                tuple([param.struct_info for param in params]), func.ret_struct_info, func.is_pure
            )
            name.struct_info_ = info
        body = inner.visit_with_new_scope(func.body, list(params))
        attrs = {key: value for key, value in func.attrs.items() if key != "global_symbol"}
        ret_info = func.ret_struct_info
        ret = None if _has_function(ret_info) else ret_info
        lifted = GraphFunction(params, body, ret, func.is_pure, attrs)
        lifted = copy_with_new_vars(lifted)
        self._functions[name] = lifted
        name.struct_info_ = lifted.struct_info
        self._captured[var] = captured
        if not captured:
            self._names[var] = name
        return name

    def _unique(self, name: str) -> str:
        taken: Collection[str] = [str(name) for name in self._functions]
        if name not in taken:
            return name
        return next(new for i in range(len(taken) + 1) if (new := f"{name}_{i}") not in taken)

    def visit_var_(self, op: GraphVar) -> GraphExpr:
        """The name of a function that captures nothing, or the variable."""
        return self._names[op] if op in self._names else super().visit_var_(op)  # type: ignore[return-value]

    visit_dataflow_var_ = visit_var_

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call of a closure, or of a function of the module."""
        if not isinstance(op.op, GraphVar):
            return map_call(self, op)
        args = [self.visit_expr(arg) for arg in op.args]
        if op.op in self._names:
            rest = self._captured.get(op.op, [])
            return GraphCall(self._names[op.op], (*args, *rest))
        if op.op not in self._closures:
            return map_call(self, op)
        info = op.op.struct_info_
        is_pure = isinstance(info, FuncStructInfo) and info.purity
        invoke = invoke_pure_closure if is_pure else invoke_closure
        return invoke(self.visit_expr(op.op), Tuple(tuple(args)), op.struct_info)


def _has_function(info: StructInfo | None) -> bool:
    return info is None or isinstance(info, FuncStructInfo)
