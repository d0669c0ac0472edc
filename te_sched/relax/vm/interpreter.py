"""Instructions as steps that a loop of Python runs; prepared once, when a machine is made.

The registers of a call are a list: those of the function, then its constants and integers. A step
is a function, a getter of its arguments from that list, and the number of its result. Must not know
where functions come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from te_sched.errors import CallError
from te_sched.relax.vm.builtins import read_if_cond
from te_sched.relax.vm.bytecode import (
    MACHINE,
    BranchInstruction,
    CallInstruction,
    ExecutableFunction,
    JumpInstruction,
    TypeName,
    VmOperand,
)

Step = tuple[Any, ...]
Around = Callable[[str, Callable[..., Any], tuple[Any, ...]], Any]


class InterpretedFunction:
    """A function whose instructions are run one by one.

    `around(name, function, args)`, if it is set, runs each call, to time it or watch it.
    """

    def __init__(self, code: ExecutableFunction, around: Around | None = None) -> None:
        self.code, self.name, self.around = code, code.name, around
        self.steps: list[Step] = []
        self.frame: list[Any] = []

    def prepare(
        self, machine: Any, functions: Sequence[Any], names: Sequence[str], constants: Sequence[Any]
    ) -> None:
        """Make the steps, with the functions of the executable."""
        frame: list[Any] = [None] * (self.code.registers + 1)  # the last one is never read
        places: dict[VmOperand, int] = {}

        def place(operand: VmOperand) -> int:
            if operand.kind == "r" and operand.value >= 0:
                return operand.value
            if operand not in places:
                places[operand] = len(frame)
                frame.append(_value(operand, machine, functions, constants))
            return places[operand]

        dropped = self.code.registers
        for one in self.code.instructions:
            if isinstance(one, CallInstruction):
                args = _getter([place(operand) for operand in one.args])
                dst = dropped if one.dst.value < 0 else one.dst.value
                self.steps.append((0, functions[one.function], args, dst, names[one.function]))
            elif isinstance(one, BranchInstruction):
                self.steps.append((1, place(one.cond), one.false_offset))
            elif isinstance(one, JumpInstruction):
                self.steps.append((2, one.offset))
            else:
                self.steps.append((3, place(one.result)))
        self.frame = frame

    def __call__(self, *args: Any) -> Any:
        """Run it."""
        count = len(self.code.params)
        if len(args) != count:
            raise wrong_count(self.name, self.code.params, len(args))
        frame = self.frame.copy()
        frame[:count] = args
        try:
            return self._run(frame)
        except RecursionError as error:
            raise too_deep(self.name) from error

    def _run(self, frame: list[Any]) -> Any:
        steps, around, at = self.steps, self.around, 0
        while True:
            step = steps[at]
            kind = step[0]
            if kind == 0:
                given = step[2](frame)
                if around is None:
                    frame[step[3]] = step[1](*given)
                else:
                    frame[step[3]] = around(step[4], step[1], given)
                at += 1
            elif kind == 1:
                at += 1 if read_if_cond(frame[step[1]]) else step[2]
            elif kind == 2:
                at += step[1]
            else:
                return frame[step[1]]


def too_deep(name: str) -> CallError:
    """The error of a call at Python's recursion limit."""
    return CallError(
        f"the call of {name} is nested too deeply",
        "functions call one another without an end, or more deeply than Python's recursion limit",
        "let a recursion end earlier, or raise the limit by sys.setrecursionlimit",
    )


def wrong_count(name: str, params: Sequence[str], given: int) -> CallError:
    """The error of a call with another number of arguments."""
    count = len(params)
    return CallError(
        f"{name}() takes {count} argument{'' if count == 1 else 's'}, got {given}",
        f"the arguments are {', '.join(params)}" if params else "",
        "pass one value for each parameter",
    )


def _getter(places: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        only = places[0]
        return lambda frame: (frame[only],)
    return lambda frame: ()


def _value(
    operand: VmOperand, machine: Any, functions: Sequence[Any], constants: Sequence[Any]
) -> Any:
    if operand == MACHINE:
        return machine
    if operand.kind == "f":
        return functions[operand.value]
    if operand.kind == "i":
        return operand.value
    found = constants[operand.value]
    return found.name if isinstance(found, TypeName) else found
