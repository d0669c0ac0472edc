"""Bytecode and plans as plain data, which files hold beside the code of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from te_sched.errors import CallError, kind_of
from te_sched.relax.core.state import StateUse
from te_sched.relax.vm.bytecode import (
    MACHINE,
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
from te_sched.relax.vm.native import NativePlan
from te_sched.runtime.ndarray import NDArray, array_maker, storage_name

KIND = "relax"
_MOST_REGISTERS = 1 << 24
_INSTRUCTIONS: dict[str, Callable[..., Instruction]] = {
    "call": CallInstruction,
    "ret": ReturnInstruction,
    "goto": JumpInstruction,
    "if": BranchInstruction,
}
_NAMES = {kind: name for name, kind in _INSTRUCTIONS.items()}


def as_plain(
    bytecode: Bytecode,
    plans: Mapping[str, NativePlan],
    has_kernels: bool,
    device_code: tuple[object, ...] | None = None,
) -> dict[str, Any]:
    """The instructions, constants and plans as dicts, lists, numbers and bytes.

    `has_kernels` says whether the file has machine code of kernels, `device_code` is the program
    of those for a GPU.
    """
    return {
        "kind": KIND,
        "has_kernels": has_kernels,
        "device_code": device_code,
        "functions": [
            [
                function.name,
                list(function.params),
                function.is_packed,
                [_plain(k) for k in function.instructions],
            ]
            for function in bytecode.functions
        ],
        "constants": [_plain_constant(constant) for constant in bytecode.constants],
        "plans": [asdict(plan) for plan in plans.values()],
        "states": {
            name: [[list(pair) for pair in use.updates], use.initializer]
            for name, use in bytecode.states.items()
        },
    }


def from_plain(data: dict[str, Any]) -> tuple[Bytecode, dict[str, NativePlan]]:
    """The instructions and plans that `as_plain` described.

    Raises LookupError, TypeError, ValueError or AttributeError for other data.
    """
    functions = [
        ExecutableFunction(name, tuple(params), [_instruction(row) for row in code], is_packed)
        for name, params, is_packed, code in data["functions"]
    ]
    states = {
        name: StateUse(tuple([(param, state) for param, state in updates]), initializer)
        for name, (updates, initializer) in data["states"].items()
    }
    bytecode = Bytecode(functions, [_constant(value) for value in data["constants"]], states)
    for function in functions:
        _check_instructions(bytecode, function)
    plans = {plan["name"]: NativePlan(**plan) for plan in data["plans"]}
    return bytecode, plans


def _plain(instruction: Instruction) -> list[object]:
    if isinstance(instruction, CallInstruction):
        return [
            "call",
            instruction.function,
            [list(k) for k in instruction.args],
            list(instruction.dst),
        ]
    return [
        _NAMES[type(instruction)],
        *[list(k) if isinstance(k, VmOperand) else k for k in instruction],
    ]


def _instruction(data: list[Any]) -> Instruction:
    if data[0] == "call":
        _, function, args, dst = data
        return CallInstruction(
            function, tuple([VmOperand(*operand) for operand in args]), VmOperand(*dst)
        )
    fields = [VmOperand(*field) if isinstance(field, list) else field for field in data[1:]]
    return _INSTRUCTIONS[data[0]](*fields)


def _check_instructions(bytecode: Bytecode, function: ExecutableFunction) -> None:
    """Raise ValueError for instructions that name what the bytecode does not have."""
    sizes = {"f": len(bytecode.functions), "c": len(bytecode.constants), "r": _MOST_REGISTERS}
    count = len(function.instructions)
    for number, instruction in enumerate(function.instructions):
        if isinstance(instruction, CallInstruction):
            operands = [VmOperand("f", instruction.function), instruction.dst, *instruction.args]
        else:
            operands = [part for part in instruction if isinstance(part, VmOperand)]
        for kind, value in operands:
            least = MACHINE.value if kind == "r" else 0
            if type(value) is not int or (kind != "i" and not least <= value < sizes[kind]):
                raise ValueError(f"instruction {number} of {function.name} has operand {value!r}")
        offset = {JumpInstruction: "offset", BranchInstruction: "false_offset"}.get(
            type(instruction)
        )
        if offset is not None and not 0 <= number + getattr(instruction, offset) < count:
            raise ValueError(f"instruction {number} of {function.name} jumps out of the function")


def bytes_of_constants(bytecode: Bytecode) -> int:
    """The bytes of the arrays of `as_plain`, at least."""
    return sum(
        constant._array.nbytes for constant in bytecode.constants if isinstance(constant, NDArray)
    )


def _plain_constant(value: object) -> list[object]:
    if isinstance(value, NDArray):
        values = np.ascontiguousarray(value._array)
        return ["array", value.dtype, list(value.shape), values.tobytes()]
    if isinstance(value, ShapeTuple):
        return ["shape", list(value)]
    if isinstance(value, TypeName):
        return ["dtype", value.name]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return ["value", kind(value)]  # of no other class: GlobalVar, numpy.float64
    raise CallError(
        f"cannot save a constant that is {kind_of(value)}",
        "",
        "pass the value as an argument of the function",
    )


def _constant(data: list[Any]) -> object:
    kind, value, *rest = data
    if kind == "array":
        shape, content = rest
        stored = np.frombuffer(content, np.dtype(storage_name(value))).reshape(shape)
        new_array = array_maker(tuple(shape), value)()
        np.copyto(new_array._array, stored)
        return new_array
    if kind == "shape":
        return ShapeTuple(value)
    return TypeName(value) if kind == "dtype" else value
