"""KillAfterLastUse: memory is released after the last use of a tensor or storage.

Bindings are made canonical first, so that a value has one name.
"""

from __future__ import annotations

from te_sched.ir.graph import (
    Binding,
    DataflowBlock,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphValue,
    GraphVar,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
)
from te_sched.relax.expr_functor import PyExprMutator, PyExprVisitor
from te_sched.relax.op import memory, vm
from te_sched.relax.transform.base import FunctionPass
from te_sched.relax.transform.canonicalize_bindings import canonical_bindings, canonical_sizes


class KillAfterLastUse(FunctionPass):
    """The pass that ends the lives of tensors and storages.

    >>> from te_sched import relax
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", []):
    ...     s = builder.emit(relax.op.memory.alloc_storage([16], 0, "global", "uint8"))
    ...     t = builder.emit(relax.op.memory.alloc_tensor(s, 0, [4], "float32"))
    ...     name = builder.emit_func_output(t)
    >>> blocks = KillAfterLastUse()(builder.get())["main"].body.blocks
    >>> blocks[0].bindings[-1].value.op
    'relax.memory.kill_storage'
    """

    def transform_function(self, func: GraphFunction, *_: object) -> GraphFunction:
        return _Killed().visit_expr(canonical_bindings(canonical_sizes(func)))


class _Killed(PyExprMutator):
    def visit_seq_expr_(self, op: SeqExpr) -> GraphExpr:
        """The sequence with the ends of lives."""
        ends = _last_uses(op)
        blocks = []
        for block in op.blocks:
            if isinstance(block, DataflowBlock):
                self.builder_._begin_dataflow_block()
            else:
                self.builder_._begin_binding_block()
            for binding in block.bindings:
                self.visit_binding(binding)
                for var in ends.get(id(binding), ()):
                    self.builder_.emit(_kill(var, self._values), "_")
            blocks.append(self.builder_._end_block())
        self.builder_._begin_binding_block()
        body = self.visit_expr(op.body)
        blocks.append(self.builder_._end_block())
        return SeqExpr(tuple([block for block in blocks if block.bindings]), body)

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[GraphVar, GraphValue] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding, which is remembered."""
        self._values[binding.var] = binding.value
        super().visit_var_binding_(binding)


def _last_uses(op: SeqExpr) -> dict[int, list[GraphVar]]:
    """The variables that are used last by each binding; not those of the result."""
    own: dict[GraphVar, None] = {}
    last: dict[GraphVar, Binding] = {}
    for block in op.blocks:
        for binding in block.bindings:
            value = binding.value
            for var in _used(value):
                if var in own:
                    last[var] = binding
            if _is_released(binding):
                own[binding.var] = None
    for var in _used(op.body):
        last.pop(var, None)
    ends: dict[int, list[GraphVar]] = {}
    for var in own:
        if var in last:
            ends.setdefault(id(last[var]), []).append(var)
    return ends


class _Uses(PyExprVisitor):
    def __init__(self) -> None:
        self.found: list[GraphVar] = []

    def visit_var_(self, expr: GraphVar) -> None:
        """A use."""
        self.found.append(expr)

    visit_dataflow_var_ = visit_var_


def _used(value: GraphValue) -> list[GraphVar]:
    uses = _Uses()
    uses.visit_expr(value)
    return uses.found


def _is_released(binding: Binding) -> bool:
    """Whether the value of a binding is released: numbers, shapes and functions are not."""
    kept = FuncStructInfo | PrimStructInfo | ShapeStructInfo
    return not isinstance(binding.var.struct_info_, kept)


def _kill(var: GraphVar, values: dict[GraphVar, GraphValue]) -> GraphCall:
    op = getattr(values.get(var), "op", None)
    if op == "relax.memory.alloc_storage":
        return memory.kill_storage(var)
    is_tensor = isinstance(var.struct_info_, TensorStructInfo)
    return memory.kill_tensor(var) if is_tensor else vm.kill_object(var)
