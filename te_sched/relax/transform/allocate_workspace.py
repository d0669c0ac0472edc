"""AllocateWorkspace: functions of libraries are given the memory that they work in.

A function with the attribute "WorkspaceSize" gets a parameter of this number of bytes, as the
functions inside of it with this attribute do; each function that calls one allocates a tensor.
"""

from __future__ import annotations

from collections.abc import Mapping

from te_sched.ir.graph import (
    BindingBlock,
    DataflowBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphVar,
    VarBinding,
)
from te_sched.ir.printer.names import UniqueNames
from te_sched.ir.stmt import BaseFunc, GlobalVar, IRModule
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator, map_call, map_function
from te_sched.relax.op import builtin
from te_sched.relax.transform.private_calls import named_function

_SIZE = "WorkspaceSize"


class AllocateWorkspace(ModulePass):
    """The pass that allocates workspaces.

    >>> from te_sched import IRModule, relax
    >>> x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    >>> library = relax.Function([x], x).with_attrs({"Codegen": "a", "WorkspaceSize": 64})
    >>> module = AllocateWorkspace()(IRModule({"a_exp": library}))
    >>> [(name, len(func.params)) for name, func in module.functions.items()]
    [('a_exp1', 2)]
    """

    def transform_module(self, mod: IRModule, *_: object) -> Mapping[str, BaseFunc]:
        return _allocate(mod)


def _allocate(mod: IRModule) -> Mapping[str, BaseFunc]:
    wanted = {
        str(name): int(func.attrs[_SIZE])
        for name, func in mod.functions.items()
        if isinstance(func, GraphFunction) and "Codegen" in func.attrs and _SIZE in func.attrs
    }
    if not wanted:
        return mod.functions
    taken = UniqueNames(separator="")
    for name in mod.functions:
        taken.take(str(name))
    renamed = {name: taken.take(name) for name in wanted}
    functions: dict[str, BaseFunc] = {}
    names: dict[str, GlobalVar] = {}
    largest = max(wanted.values())  # a caller has one workspace for all functions that it calls
    info = TensorStructInfo([largest], "uint8")
    for old, new in renamed.items():
        inside = _Inside(info).visit_expr(mod[old]).with_attr("global_symbol", new)
        functions[new] = inside
        names[old] = named_function(new, inside)
    callers = _Callers(names, largest)
    for name, func in mod.functions.items():
        if isinstance(func, GraphFunction) and str(name) not in wanted:
            functions[str(name)] = callers.of(func)
        elif str(name) not in wanted:
            functions[str(name)] = func
    return functions


class _Inside(PyExprMutator):
    """Gives a parameter to a function and to those inside of it with a workspace."""

    def __init__(self, info: TensorStructInfo) -> None:
        super().__init__()
        self._info = info
        self._given: list[GraphVar] = []
        self._local: set[GraphVar] = set()

    def visit_function_(self, op: GraphFunction) -> GraphExpr:
        """The function with the parameter."""
        if _SIZE not in op.attrs:
            return map_function(self, op)
        self._given.append(GraphVar("workspace", self._info))
        body = self.visit_with_new_scope(op.body, [*op.params, self._given[-1]])
        attrs = {key: value for key, value in op.attrs.items() if key != _SIZE}
        params = (*op.params, self._given.pop())
        return GraphFunction(params, body, op.ret_struct_info, op.is_pure, attrs)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding; functions with a workspace are remembered."""
        if isinstance(binding.value, GraphFunction) and _SIZE in binding.value.attrs:
            self._local.add(binding.var)
        super().visit_var_binding_(binding)

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call of a function inside, with the workspace."""
        call = map_call(self, op)
        if op.op not in self._local:
            return call
        return GraphCall(call.op, (*call.args, self._given[-1]), call.attrs, call.sinfo_args)


class _Callers(PyExprMutator):
    """Allocates a workspace in functions that call one which needs it."""

    def __init__(self, names: dict[str, GlobalVar], size: int) -> None:
        super().__init__()
        self._names, self._size = names, size
        self._workspace: GraphVar | None = None

    def of(self, func: GraphFunction) -> GraphFunction:
        """A caller."""
        self._workspace = None
        return self.visit_expr(func)

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """The block; a workspace is not visible outside of it."""
        self._workspace = None
        new = super().visit_dataflow_block_(block)
        self._workspace = None
        return new

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """A call, with the workspace."""
        call = map_call(self, op)
        new = self._names.get(op.op) if isinstance(op.op, GlobalVar) else None
        if new is None:
            return call
        if self._workspace is None:
            allocation = builtin.alloc_tensor([self._size], "uint8", 0)
            self._workspace = self.builder_.emit(allocation, "workspace_main")
        return GraphCall(new, (*call.args, self._workspace), call.attrs, call.sinfo_args)
