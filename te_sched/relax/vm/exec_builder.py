"""`relax.ExecBuilder`: executables are written one instruction at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir.stmt import IRModule
from te_sched.public_members import PublicObject
from te_sched.relax.core.state import StateUse
from te_sched.relax.vm.bytecode import (
    MACHINE,
    VOID,
    BranchInstruction,
    Bytecode,
    CallInstruction,
    ExecutableFunction,
    Instruction,
    JumpInstruction,
    ReturnInstruction,
    ShapeTuple,
    TypeName,
    VmOperand,
)
from te_sched.relax.vm.executable import Executable
from te_sched.runtime.fingerprint import digest_of
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.types import DataType
from te_sched.signatures import is_sequence


class ExecBuilder(PublicObject):
    """Writes instructions.

    >>> builder = ExecBuilder()
    >>> with builder.function("main", num_inputs=1):
    ...     builder.emit_call("vm.builtin.copy", [builder.r(0)], builder.r(1))
    ...     builder.emit_ret(builder.r(1))
    >>> print(builder.get().as_text())
    @main:
      call  vm.builtin.copy  in: %0           dst: %1
      ret   %1
    <BLANKLINE>
    @vm.builtin.copy packed_func;
    <BLANKLINE>
    <BLANKLINE>
    """

    _internal_members = ("declare_state", "modules", "number_of")

    def __init__(self) -> None:
        self._bytecode = Bytecode()
        self._open: ExecutableFunction | None = None
        self._known: dict[Hashable, int] = {}
        self._held: dict[int, int] = {}  # the numbers of arrays, by their identity
        self.modules: list[IRModule] = []  # of graphs whose instructions are here

    # Operands

    def r(self, idx: int) -> VmOperand:
        """A register."""
        return VmOperand("r", idx)

    def imm(self, value: int) -> VmOperand:
        """An integer."""
        return VmOperand("i", int(value))

    def c(self, idx: int) -> VmOperand:
        """A constant, by its number."""
        return VmOperand("c", idx)

    def f(self, name: str) -> VmOperand:
        """A function."""
        return VmOperand("f", self._function(name))

    def void_arg(self) -> VmOperand:
        """The register of results that are dropped."""
        return VOID

    def vm_state(self) -> VmOperand:
        """The machine itself."""
        return MACHINE

    def convert_constant(self, const: object) -> VmOperand:
        """A constant of the executable, which holds equal ones once."""
        value = _constant(const)
        if isinstance(value, TypeName):
            return VmOperand("c", self._append(value))
        key = _identity(value)
        if key not in self._known:
            self._known[key] = self._held[id(value)] = self._append(value)
        return VmOperand("c", self._known[key])

    def number_of(self, array: NDArray) -> int:
        """The number of an array among the constants."""
        number = self._held.get(id(array))
        return self.convert_constant(array).value if number is None else number

    def _append(self, value: object) -> int:
        self._bytecode.constants.append(value)
        return len(self._bytecode.constants) - 1

    # Functions and instructions

    def declare_function(self, func_name: str, kind: object = None) -> None:
        """Make a name known."""
        del kind
        self._function(func_name)

    def declare_state(self, func_name: str, use: StateUse) -> None:
        """Say which parameters of a function its last results are new values of."""
        self._bytecode.states[func_name] = use

    def _function(self, name: str) -> int:
        index = self._bytecode.index(name)
        if index is None:
            self._bytecode.functions.append(ExecutableFunction(name, is_packed=True))
            index = len(self._bytecode.functions) - 1
        return index

    @contextmanager
    def function(
        self,
        func_name: str,
        num_inputs: int = 0,
        param_names: Sequence[str] | None = None,
        init_register_size: int | None = None,
    ) -> Iterator[ExecBuilder]:
        """Open a function.

        Parameters
        ----------
        func_name : its name.
        num_inputs : how many arguments it has.
        param_names : their names.
        init_register_size : accepted as TVM does; registers are counted.
        """
        del init_register_size
        if self._open is not None:
            raise GraphError(
                f"function {func_name} is opened inside of function {self._open.name}",
                "",
                "close the outer one first",
            )
        index = self._bytecode.index(func_name)
        if index is not None and not self._bytecode.functions[index].is_packed:
            raise GraphError(f"function {func_name} exists already", "", "give it another name")
        names = tuple(param_names or [f"param_{k}" for k in range(num_inputs)])
        function = ExecutableFunction(func_name, names)
        if index is None:
            self._bytecode.functions.append(function)
        else:
            self._bytecode.functions[index] = function
        self._open = function
        try:
            yield self
        finally:
            self._open = None

    def emit_call(
        self, name: str, args: Sequence[object] | None = None, dst: VmOperand | None = None
    ) -> None:
        """Call a function; the result is kept in a register, or nowhere."""
        if dst is not None and dst.kind != "r":
            raise GraphError(
                f"the result of {name} is to be kept in {dst.kind}[{dst.value}]",
                "an instruction writes registers alone",
                "give a register: builder.r(number)",
            )
        operands = tuple([self._operand(arg) for arg in args or ()])
        self._emit(CallInstruction(self._function(name), operands, VOID if dst is None else dst))

    def emit_ret(self, result: VmOperand) -> None:
        """Return a value."""
        self._emit(ReturnInstruction(result))

    def emit_goto(self, pc_offset: int) -> int:
        """Go on at another instruction; the number of this one."""
        return self._emit(JumpInstruction(pc_offset))

    def emit_if(self, cond: VmOperand, false_offset: int) -> int:
        """Go on at another instruction if a condition does not hold; the number of this one."""
        return self._emit(BranchInstruction(cond, false_offset))

    def place(self) -> int:
        """The number of the next instruction."""
        assert self._open is not None
        return len(self._open.instructions)

    def patch(self, number: int) -> None:
        """Let a jump or branch go on at the next instruction."""
        assert self._open is not None
        old, offset = self._open.instructions[number], self.place() - number
        if isinstance(old, BranchInstruction):
            self._open.instructions[number] = BranchInstruction(old.cond, offset)
        else:
            self._open.instructions[number] = JumpInstruction(offset)

    def _emit(self, instruction: Instruction) -> int:
        if self._open is None:
            raise GraphError("no function is open", "", "use `with builder.function(name):`")
        self._open.instructions.append(instruction)
        return len(self._open.instructions) - 1

    def _operand(self, value: object) -> VmOperand:
        if isinstance(value, VmOperand):
            return value
        return self.convert_constant(value)

    def get(self) -> Executable:
        """The executable, with registers numbered as they appear."""
        return Executable(self.bytecode(), None, {})

    def bytecode(self) -> Bytecode:
        """The instructions, checked, with registers numbered as they appear."""
        for function in self._bytecode.functions:
            if not function.is_packed:
                _check(function)
                _renumber(function)
        return self._bytecode


def _constant(value: object) -> object:
    """A value as it is kept among the constants."""
    if isinstance(value, TypeName | NDArray | ShapeTuple):
        return value
    if isinstance(value, DataType):
        return TypeName(str(value))
    if isinstance(value, str | int | float):
        return value
    if is_sequence(value):
        return ShapeTuple(value)
    raise GraphError(
        f"{repr_of(value)} cannot be a constant of an executable",
        f"it is {kind_of(value)}",
        "give an array, a shape, a number, a str or a dtype",
    )


def _identity(value: object) -> Hashable:
    """What equal constants have in common: their types and bits, which tell both zeros apart."""
    if isinstance(value, NDArray):
        return NDArray, value.shape, value.dtype, digest_of(np.asarray(value))
    return type(value), value.hex() if isinstance(value, float) else value


def _reads(instruction: Instruction) -> list[VmOperand]:
    if isinstance(instruction, CallInstruction):
        return list(instruction.args)
    return [operand for operand in instruction if isinstance(operand, VmOperand)]


def _check(function: ExecutableFunction) -> None:
    """Refuse reads of registers before anything is written to them."""
    written = set(range(len(function.params))) | {VOID.value, MACHINE.value}
    for instruction in function.instructions:
        for operand in _reads(instruction):
            if operand.kind == "r" and operand.value not in written:
                raise GraphError(
                    f"function {function.name} reads register %{operand.value} before it is set",
                    "",
                    "let an instruction before it write the register",
                )
        if isinstance(instruction, CallInstruction):
            written.add(instruction.dst.value)


def _renumber(function: ExecutableFunction) -> None:
    numbers = {k: k for k in (VOID.value, MACHINE.value, *range(len(function.params)))}

    def renumbered(operand: VmOperand) -> VmOperand:
        if operand.kind != "r":
            return operand
        return VmOperand("r", numbers.setdefault(operand.value, len(numbers) - 2))

    for index, instruction in enumerate(function.instructions):
        if isinstance(instruction, CallInstruction):
            args = tuple([renumbered(operand) for operand in instruction.args])
            function.instructions[index] = CallInstruction(
                instruction.function, args, renumbered(instruction.dst)
            )
        elif isinstance(instruction, ReturnInstruction):
            function.instructions[index] = ReturnInstruction(renumbered(instruction.result))
        elif isinstance(instruction, BranchInstruction):
            function.instructions[index] = BranchInstruction(
                renumbered(instruction.cond), instruction.false_offset
            )
