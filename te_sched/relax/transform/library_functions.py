"""Functions that a library computes: with the attribute "Codegen", and with local functions of the
attribute "Composite", one for each pattern that the library knows. Must not know libraries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import (
    BindingBlock,
    DataflowBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.visitor import replace
from te_sched.relax.analysis.variables import all_global_vars
from te_sched.relax.copying import copy_with_new_vars
from te_sched.relax.core.sizes import bind_sizes
from te_sched.relax.expr_functor import PyExprMutator
from te_sched.relax.transform.private_calls import named_function

CODEGEN, COMPOSITE, PRIMITIVE = "Codegen", "Composite", "Primitive"


def is_composite(mod: IRModule, op: object) -> bool:
    """Whether what is called is a function of the module that a pattern of a library made."""
    func = mod.functions.get(op) if isinstance(op, GlobalVar) else None
    return isinstance(func, GraphFunction) and COMPOSITE in func.attrs


def library_of(mod: IRModule, name: str) -> str:
    """The library of a function that a pattern made: "dnnl" of the pattern "dnnl.conv2d"."""
    return str(mod[name].attrs[COMPOSITE]).split(".", maxsplit=1)[0]


def for_library(func: GraphFunction, mod: IRModule, library: str, name: str) -> GraphFunction:
    """The public function of a library: functions of patterns that `func` calls become local."""
    body = _Localizer(mod).visit_expr(func).body
    attrs = {CODEGEN: library, "global_symbol": name}
    return GraphFunction(func.params, body, func.ret_struct_info, True, attrs)


def calling(mod: IRModule, name: GlobalVar) -> GraphFunction:
    """A function that calls a function of a pattern with its parameters."""
    func = mod[name]
    params = tuple([GraphVar(param.name_hint, param.struct_info) for param in func.params])
    result = GraphVar("output", func.ret_struct_info)
    call = GraphCall(name, params, None, (), func.ret_struct_info)
    block = BindingBlock((VarBinding(result, call),))
    return GraphFunction(params, SeqExpr((block,), result, func.ret_struct_info))


class _Localizer(PyExprMutator):
    """Binds the functions of patterns where they are called."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self._mod = mod
        self._local: dict[str, GraphVar] = {}  # of functions without variables of sizes

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """An ordinary block: it binds functions."""
        self.builder_._begin_binding_block()
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_._end_block()

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding of an ordinary variable, after that of the function that it calls."""
        value = binding.value
        new: GraphValue
        if isinstance(value, GraphCall) and is_composite(self._mod, value.op):
            args = self.visit_expr_post_order(value).args
            local = self._local_function(str(value.op), args)
            new = GraphCall(local, args, None, (), value.struct_info_)
        else:
            new = self.visit_expr(value)
        self.set_var_remap(binding.var, self.builder_.emit(new, binding.var.name_hint))

    def _local_function(self, name: str, args: Sequence[GraphExpr]) -> GraphVar:
        """The variable of a function for arguments of these struct infos."""
        local_var = self._local.get(name)
        if local_var is not None:
            return local_var
        func = self._mod[name]
        sizes: dict[Var, Expr] = {}
        for param, arg in zip(func.params, args, strict=True):
            bind_sizes(param.struct_info, arg.struct_info, sizes)
        inner = copy_with_new_vars(func, sizes).without_attr(PRIMITIVE)
        local = self.builder_.emit(inner.without_attr("global_symbol"), "local_func")
        if not sizes:
            self._local[name] = local
        return local


def renamed_functions(
    mod: IRModule, names: Mapping[str, str], functions: Mapping[str, GraphFunction]
) -> IRModule:
    """A module in which functions have other names, and functions are added; those of patterns
    that are not called any more are removed.
    """
    renamer = _Renaming({old: named_function(new, functions[new]) for old, new in names.items()})
    changed = {
        str(name): renamer.visit_expr(func) if isinstance(func, GraphFunction) else func
        for name, func in mod.functions.items()
        if str(name) not in names
    }
    called = {str(name) for func in changed.values() for name in _called(func)}
    kept = {
        name: func
        for name, func in changed.items()
        if name in called or COMPOSITE not in getattr(func, "attrs", {})
    }
    return replace(mod, functions={**kept, **functions})


def _called(func: GraphFunction) -> list[GlobalVar]:
    return all_global_vars(func) if isinstance(func, GraphFunction) else []


class _Renaming(PyExprMutator):
    """Renames functions."""

    def __init__(self, names: Mapping[str, GlobalVar]) -> None:
        super().__init__()
        self._names = names

    def visit_global_var_(self, op: GlobalVar) -> GraphValue:
        """The new name of a function."""
        return self._names.get(str(op), op)
