"""Instructions of graph functions that the passes of the build pipeline have lowered.

A function that returns a call of itself is a loop: the call sets the parameters and jumps back.

    if cond:                        If    %0, 4
        y = ...                     call  ...             dst: %2
        return f(x, y)              call  vm.builtin.copy in: %2 dst: %1
                                    goto  -3
    return x                        ret   %1

Must not know how instructions are run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from te_sched.ir.graph import (
    Binding,
    ExternFunc,
    GraphCall,
    GraphExpr,
    GraphFunction,
    GraphString,
    GraphValue,
    GraphVar,
    If,
    SeqExpr,
    VarBinding,
)
from te_sched.ir.stmt import GlobalVar, IRModule
from te_sched.ir.structural import structural_equal
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
        self.func_name, self.params = "", tuple[GraphVar, ...]()
        self.begin = 0  # the first instruction after the checks of parameters

    def write(self, name: str, func: GraphFunction) -> None:
        """Write a function."""
        self.func_name, self.params = name, func.params
        names = [param.name_hint for param in func.params]
        with self.builder.function(name, len(names), names):
            for var in func.params:
                self.values[var] = self._register()
            if func.body is not None and self._is_loop(func.body):
                self._tail(func.body, ())
            else:
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

    # Loops

    def _is_loop(self, body: SeqExpr) -> bool:
        """Whether a function returns calls of itself, and something else: a recursion without an
        end is not a loop, and is refused when it runs.
        """
        ends = [self._is_own_call(end) for end in _ends_of(body)]
        return any(ends) and not all(ends)

    def _is_own_call(self, value: GraphValue) -> bool:
        if not isinstance(value, GraphCall) or not isinstance(value.op, GlobalVar):
            return False
        return self._name(value.op) == self.func_name and len(value.args) == len(self.params)

    def _tail(self, sequence: SeqExpr, ends: Sequence[GraphVar]) -> None:
        """Write a sequence whose result is that of the function; `ends` are variables around it
        whose lives end after it.
        """
        tail = _tail_of(sequence)
        self._bindings(tail.head)
        ends = (*tail.ends, *ends)
        if isinstance(tail.value, If):
            cond = self._in_register(self.expr(tail.value.cond))
            branch = self.builder.emit_if(cond, 0)
            true, false = tail.value.branches
            self._tail(true, ends)
            self.builder.patch(branch)
            self._tail(false, ends)
        elif isinstance(tail.value, GraphCall) and self._is_own_call(tail.value):
            self._jump_back(tail.value, ends)
        else:
            self.builder.emit_ret(self._in_register(self.expr(tail.value)))

    def _jump_back(self, call: GraphCall, ends: Sequence[GraphVar]) -> None:
        """Set the parameters, end the lives of other values, and run the function once more."""
        registers = [self.values[param] for param in self.params]
        moves = [
            (register, value)
            for register, value in zip(registers, self._all(call.args), strict=True)
            if register != value
        ]
        written = {register for register, _ in moves}
        held = [self._in_new_register(value) if value in written else value for _, value in moves]
        for (register, _), value in zip(moves, held, strict=True):
            self.builder.emit_call("vm.builtin.copy", [value], register)
        for value in dict.fromkeys([self.values[var] for var in ends]):
            if value not in registers:
                self.end_life(value)
        is_checked = all(map(_has_same_info, call.args, self.params))
        target = self.begin if is_checked else 0
        self.builder.emit_goto(target - self.builder.place())

    def _bindings(self, bindings: Sequence[Binding]) -> None:
        """Write bindings; those that check parameters are not run by later steps of a loop."""
        is_first = self.builder.place() == 0
        for binding in bindings:
            self.bind(binding)
            is_first = is_first and self._checks_parameters(binding.value)
            if is_first:
                self.begin = self.builder.place()

    def _checks_parameters(self, value: GraphValue) -> bool:
        """Whether a value checks a parameter, or stores or computes its sizes."""
        if not isinstance(value, GraphCall):
            return False
        if value.op in ("relax.null_value", "relax.call_builtin_with_ctx"):
            return not value.args or self._name(value.args[0]) == "vm.builtin.alloc_shape_heap"
        if isinstance(value.op, GlobalVar):
            return value.op.startswith("shape_func") and len(value.args) == 1  # the heap
        context = value.args[-1] if value.args else None
        is_of_parameter = isinstance(context, GraphString) and "loc=param[" in context.value
        is_check = isinstance(value.op, ExternFunc) and is_of_parameter
        return is_check and self._name(value.op).startswith(
            ("vm.builtin.check_", "vm.builtin.match_")
        )

    def _in_new_register(self, value: VmOperand) -> VmOperand:
        return self.call("vm.builtin.copy", [value])

    def end_life(self, value: VmOperand) -> VmOperand:
        if value.kind == "r":  # the executable keeps constants
            self.builder.emit_call("vm.builtin.null_value", [], value)
        return VOID


class _Tail(NamedTuple):
    """The end of a sequence: its result, and variables whose lives end after that."""

    head: list[Binding]
    value: GraphValue
    ends: tuple[GraphVar, ...]


def _tail_of(sequence: SeqExpr) -> _Tail:
    """The bindings of a sequence before the one of its result, which may be copied at the end."""
    bindings = [binding for block in sequence.blocks for binding in block.bindings]
    result: GraphValue = sequence.body
    ends: list[GraphVar] = []
    for index in reversed(range(len(bindings))):
        binding = bindings[index]
        killed = _killed(binding.value)
        if killed is not None:
            ends.append(killed)
        elif binding.var is not result:
            break
        elif isinstance(binding.value, GraphVar):
            result = binding.value
        elif isinstance(binding.value, If | GraphCall) and isinstance(binding, VarBinding):
            return _Tail(bindings[:index], binding.value, tuple(ends))
        else:
            break
    return _Tail(bindings, sequence.body, ())


def _ends_of(sequence: SeqExpr) -> Iterator[GraphValue]:
    """The values of which one is the result of a sequence, by the conditions at its end."""
    last = _tail_of(sequence).value
    if isinstance(last, If):
        for branch in last.branches:
            yield from _ends_of(branch)
    else:
        yield last


def _killed(value: GraphValue) -> GraphVar | None:
    """The variable whose life a binding ends."""
    if isinstance(value, GraphCall) and value.op == "relax.vm.kill_object":
        (var,) = value.args
        return var if isinstance(var, GraphVar) else None
    return None


def _has_same_info(arg: GraphExpr, param: GraphVar) -> bool:
    """Whether all that is declared of a parameter is known of an argument."""
    return structural_equal(arg.struct_info, param.struct_info)
