"""Bytecode: instructions of a virtual machine, which graphs are built into.

    @main:
      call  vm.builtin.check_tensor_info in: %0, i2, c[0], c[1] dst: %void
      call  add              in: %0, %0, %6   dst: %void
      ret   %6

A function has registers; its first ones are the arguments. An operand is a register (`%0`), an
integer (`i2`), a constant (`c[0]`) or a function (`f[add]`). The functions of loops that are called
are elsewhere (`executable.Executable.kernels`). Must not know how instructions are run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from te_sched.relax.core.state import StateUse
from te_sched.runtime.ndarray import NDArray

# A function that instructions call: it takes and gives values of any kind.
VmFunction = Callable[..., Any]


class VmOperand(NamedTuple):
    """What an instruction reads or writes; `kind` is "r", "i", "c" or "f"."""

    kind: str
    value: int


VOID = VmOperand("r", -1)  # the result is dropped
MACHINE = VmOperand("r", -2)  # the machine itself


class CallInstruction(NamedTuple):
    """dst = function(args)"""

    function: int
    args: tuple[VmOperand, ...]
    dst: VmOperand


class ReturnInstruction(NamedTuple):
    """return result"""

    result: VmOperand


class JumpInstruction(NamedTuple):
    """Go on `offset` instructions from here."""

    offset: int


class BranchInstruction(NamedTuple):
    """Go on with the next instruction if the condition holds, else `false_offset` from here."""

    cond: VmOperand
    false_offset: int


Instruction = CallInstruction | ReturnInstruction | JumpInstruction | BranchInstruction


@dataclass(slots=True)
class ExecutableFunction:
    """A function of an executable: instructions, or a name of one that is elsewhere."""

    name: str
    params: tuple[str, ...] = ()
    instructions: list[Instruction] = field(default_factory=list)
    is_packed: bool = False  # it is a kernel, a builtin or a registered function

    @property
    def registers(self) -> int:
        """How many registers it has."""
        used = [operand.value for operand in _registers(self.instructions)]
        return max([len(self.params) - 1, *used]) + 1


def _registers(instructions: Iterable[Instruction]) -> Iterable[VmOperand]:
    for instruction in instructions:
        operands = (
            (*instruction.args, instruction.dst)
            if isinstance(instruction, CallInstruction)
            else instruction
        )
        for operand in operands:
            if isinstance(operand, VmOperand) and operand.kind == "r":
                yield operand


class ShapeTuple(tuple[int, ...]):
    """A shape as a value of a program: a tuple of ints, which equals lists too.

    >>> ShapeTuple([2, 3]) == [2, 3]
    True
    """

    __slots__ = ()

    def __new__(cls, *values: Any) -> ShapeTuple:
        sizes = values[0] if len(values) == 1 and np.iterable(values[0]) else values
        return super().__new__(cls, [int(size) for size in sizes])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | list) and tuple.__eq__(self, tuple(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


@dataclass(slots=True, frozen=True)
class TypeName:
    """The name of a dtype as a constant: strings are other constants."""

    name: str


@dataclass(slots=True)
class Bytecode:
    """The functions and constants of an executable."""

    functions: list[ExecutableFunction] = field(default_factory=list)
    constants: list[object] = field(default_factory=list)
    states: dict[str, StateUse] = field(default_factory=dict)  # of functions that change some

    def index(self, name: str) -> int | None:
        """The number of a function."""
        return next((k for k, function in enumerate(self.functions) if function.name == name), None)

    def device_numbers(self) -> set[int]:
        """The numbers of the devices of a machine that hold what functions allocate."""
        allocate = self.index("vm.builtin.alloc_storage")
        numbers = [
            instruction.args[2]
            for function in self.functions
            for instruction in function.instructions
            if isinstance(instruction, CallInstruction) and instruction.function == allocate
        ]
        return {operand.value for operand in numbers if operand.kind == "i"} or {0}

    # Text

    def as_text(self) -> str:
        """The instructions, as TVM prints them."""
        texts = [
            f"@{function.name} packed_func;\n"
            if function.is_packed
            else self._function_text(function)
            for function in self.functions
        ]
        return "\n".join(texts) + "\n" if texts else ""

    def _function_text(self, function: ExecutableFunction) -> str:
        lines = [f"@{function.name}:"]
        for instruction in function.instructions:
            if isinstance(instruction, CallInstruction):
                name = self.functions[instruction.function].name
                args = ", ".join(map(self._operand, instruction.args))
                lines.append(
                    f"  call  {name:<16} in: {args:<12} dst: {self._operand(instruction.dst)}"
                )
            elif isinstance(instruction, ReturnInstruction):
                lines.append(f"  ret   {self._operand(instruction.result)}")
            elif isinstance(instruction, JumpInstruction):
                lines.append(f"  goto  {instruction.offset}")
            else:
                lines.append(
                    f"  If    {self._operand(instruction.cond)}, {instruction.false_offset}"
                )
        return "\n".join(lines) + "\n"

    def _operand(self, operand: VmOperand) -> str:
        if operand.kind == "r":
            special = {VOID: "%void", MACHINE: "%vm"}
            return special.get(operand, f"%{operand.value}")
        if operand.kind == "i":
            return f"i{operand.value}"
        if operand.kind == "c":
            return f"c[{operand.value}]"
        return f"f[{self.functions[operand.value].name}]"

    def stats(self) -> str:
        """The constants and the names of functions, as TVM prints them."""
        constants = ", ".join(map(_constant_text, self.constants))
        names = ", ".join(function.name for function in self.functions)
        return (
            "Relax VM executable statistics:\n"
            f"  Constant pool (# {len(self.constants)}): [{constants}]\n"
            f"  Globals (#{len(self.functions)}): [{names}]\n"
        )

    def as_python(self) -> str:
        """A program that writes the same instructions with an ExecBuilder."""
        lines = ["ib = rx.Builder()"]
        for function in self.functions:
            if not function.is_packed:
                count = len(function.params)
                lines.append(f'with ib.function("{function.name}", num_inputs={count}):')
                lines += [
                    f"    ib.{self._as_python(instruction)}"
                    for instruction in function.instructions
                ]
        return "\n".join(lines) + "\n"

    def _as_python(self, instruction: Instruction) -> str:
        if isinstance(instruction, CallInstruction):
            args = ", ".join(map(self._python_operand, instruction.args))
            dst = (
                "" if instruction.dst == VOID else f", dst={self._python_operand(instruction.dst)}"
            )
            return f'emit_call("{self.functions[instruction.function].name}", args=[{args}]{dst})'
        if isinstance(instruction, ReturnInstruction):
            return f"emit_ret({self._python_operand(instruction.result)})"
        if isinstance(instruction, JumpInstruction):
            return f"emit_goto({instruction.offset})"
        return f"emit_if({self._python_operand(instruction.cond)}, {instruction.false_offset})"

    def _python_operand(self, operand: VmOperand) -> str:
        if operand == MACHINE:
            return "ib.r(vm)"
        if operand.kind == "f":
            return f'ib.f("{self.functions[operand.value].name}")'
        name = {"r": "r", "i": "imm", "c": "c"}[operand.kind]
        return f"ib.{name}({operand.value})"


def _constant_text(value: object) -> str:
    if isinstance(value, TypeName):
        return value.name
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, ShapeTuple):
        return f"shapetuple[{', '.join(map(str, value))}]"
    if isinstance(value, NDArray):
        shape = "scalar" if not value.shape else ", ".join(map(str, value.shape))
        return shape if not value.shape else f"({shape})"
    return str(value)
