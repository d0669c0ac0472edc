"""KillAfterLastUse: memory is released after the last use of a tensor or storage.

Bindings of a variable to another one are dropped, since both are one value of the machine.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import (
    Binding,
    GraphCall,
    GraphFunction,
    GraphVar,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.op import Op
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.passes import PassInfo
from te_sched.relax.expr_functor import PyExprMutator, PyExprVisitor
from te_sched.relax.op import memory, vm
from te_sched.relax.transform.base import FunctionPass


def KillAfterLastUse() -> FunctionPass:
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

    def run(func: GraphFunction, *_: object) -> GraphFunction:
        new: GraphFunction = _Killed().visit_expr(func)
        return new

    return FunctionPass(run, PassInfo(0, "KillAfterLastUse"))


class _Killed(PyExprMutator):
    def visit_seq_expr_(self, op: SeqExpr) -> Any:
        """The sequence without aliases, and with the ends of lives."""
        op = _without_aliases(op)
        ends = _last_uses(op)
        blocks = []
        for block in op.blocks:
            self.builder_._begin_binding_block()
            for binding in block.bindings:
                self.visit_binding(binding)
                for var in ends.get(id(binding), ()):
                    self.builder_.emit(_kill(var, self._values), "_")
            blocks.append(self.builder_._end_block())
        self.builder_._begin_binding_block()
        body = self.visit_expr(op.body)
        blocks.append(self.builder_._end_block())
        return SeqExpr(tuple([one for one in blocks if one.bindings]), body)

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[GraphVar, Any] = {}

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """The binding, which is remembered."""
        self._values[binding.var] = binding.value
        super().visit_var_binding_(binding)


def _without_aliases(op: SeqExpr) -> SeqExpr:
    """The sequence in which variables that are bound to others are replaced by these."""
    same: dict[GraphVar, GraphVar] = {}
    for block in op.blocks:
        for one in block.bindings:
            if isinstance(one, VarBinding) and isinstance(one.value, GraphVar):
                same[one.var] = same.get(one.value, one.value)
    if not same:
        return op
    renaming = PyExprMutator()
    for var, new in same.items():
        renaming.set_var_remap(var, new)
    blocks = []
    for block in op.blocks:
        renaming.builder_._begin_binding_block()
        for one in block.bindings:
            if one.var not in same:
                renaming.visit_binding(one)
        made = renaming.builder_._end_block()
        blocks.append(type(block)(made.bindings))
    return SeqExpr(tuple(blocks), renaming.visit_expr(op.body))


def _last_uses(op: SeqExpr) -> dict[int, list[GraphVar]]:
    """The variables that are used last by each binding; not those of the result."""
    own: list[GraphVar] = []
    last: dict[GraphVar, Binding] = {}
    for block in op.blocks:
        for one in block.bindings:
            value: Any = one.value  # type: ignore[attr-defined]
            for var in _used(value):
                if var in last:
                    last[var] = one
            if _is_memory(one):
                own.append(one.var)
                last[one.var] = one
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

    def visit_var_(self, expr: Any) -> None:
        """A use."""
        self.found.append(expr)

    visit_dataflow_var_ = visit_var_


def _used(value: Any) -> list[GraphVar]:
    uses = _Uses()
    uses.visit_expr(value)
    return uses.found


def _is_memory(binding: Any) -> bool:
    """Whether a binding is of a tensor or storage that the function made."""
    info = binding.var.struct_info_
    if isinstance(binding, MatchCast):
        return isinstance(info, TensorStructInfo)
    value = binding.value
    if _is_storage(value):
        return True
    return isinstance(info, TensorStructInfo) and isinstance(value, GraphCall)


def _is_storage(value: Any) -> bool:
    is_operator = isinstance(value, GraphCall) and isinstance(value.op, Op)
    return is_operator and value.op in ("relax.memory.alloc_storage", "relax.vm.alloc_storage")


def _kill(var: GraphVar, values: dict[GraphVar, Any]) -> GraphCall:
    value: Any = values.get(var)
    if not _is_storage(value):
        return memory.kill_tensor(var)
    is_of_machine = value.op == "relax.vm.alloc_storage"
    return vm.kill_object(var) if is_of_machine else memory.kill_storage(var)
