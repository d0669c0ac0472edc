"""Instructions of graph functions that the passes of the build pipeline have lowered.

Must not know how instructions are run.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.ir.graph import GraphFunction, If
from te_sched.ir.stmt import IRModule
from te_sched.relax.core.state import state_use_of
from te_sched.relax.vm.bytecode import MACHINE, VOID, VmOperand
from te_sched.relax.vm.call_writer import CallWriter, graph_functions
from te_sched.relax.vm.exec_builder import ExecBuilder


def write_functions(builder: ExecBuilder, module: IRModule) -> IRModule:
    """Write the graph functions of a module; the module of the others."""
    graphs = graph_functions(module)
    for name, func in graphs.items():
        _InstructionWriter(builder, module).write(name, func)
    builder.modules.append(module)
    rest = {
        name: func for name, func in module.functions.items() if not isinstance(func, GraphFunction)
    }
    return module.with_exactly(rest)


class _InstructionWriter(CallWriter[VmOperand]):
    machine = MACHINE

    def __init__(self, builder: ExecBuilder, module: IRModule) -> None:
        super().__init__(module)
        self.builder = builder
        self.registers = 0

    def write(self, name: str, func: GraphFunction) -> None:
        """Write a function."""
        names = [one.name_hint for one in func.params]
        with self.builder.function(name, len(names), names):
            for var in func.params:
                self.values[var] = self._register()
            self.builder.emit_ret(self._in_register(self.expr(func.body)))
        use = state_use_of(func, names)
        if use is not None:
            self.builder.declare_state(name, use)

    def _register(self) -> VmOperand:
        self.registers += 1
        return VmOperand("r", self.registers - 1)

    def _in_register(self, operand: VmOperand) -> VmOperand:
        if operand == VOID:
            return self.call("vm.builtin.make_tuple", [])
        return operand if operand.kind == "r" else self.call("vm.builtin.copy", [operand])

    def constant(self, value: object) -> VmOperand:
        return self.builder.convert_constant(value)

    def integer(self, value: int) -> VmOperand:
        return self.builder.imm(value)

    def function(self, name: str) -> VmOperand:
        return self.builder.f(name)

    def call(self, name: str, args: Sequence[VmOperand], is_void: bool = False) -> VmOperand:
        dst = VOID if is_void else self._register()
        self.builder.emit_call(name, args, dst)
        return dst

    def choice(self, expr: If) -> VmOperand:
        cond = self._in_register(self.expr(expr.cond))
        branch = self.builder.emit_if(cond, 0)
        dst = self._register()
        self.builder.emit_call("vm.builtin.copy", [self.expr(expr.true_branch)], dst)
        jump = self.builder.emit_goto(0)
        self.builder.patch(branch)
        self.builder.emit_call("vm.builtin.copy", [self.expr(expr.false_branch)], dst)
        self.builder.patch(jump)
        return dst

    def end_life(self, value: VmOperand) -> VmOperand:
        if value.kind == "r":  # the executable keeps constants
            self.builder.emit_call("vm.builtin.null_value", [], value)
        return VOID
