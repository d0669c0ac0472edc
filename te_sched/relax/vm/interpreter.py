"""Instructions as steps that a loop of Python runs; prepared once, when a machine is made.

The registers of a call are a list: those of the function, then its constants and integers. A step
is a function, a getter of its arguments from that list, and the number of its result. Must not know
where functions come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from operator import itemgetter
from typing import Any

from te_sched.errors import (
    ArgumentError,
    ArgumentTypeError,
    CallError,
    MemoryKindError,
    Subject,
)
from te_sched.relax.vm.builtins import DeviceOwner, declared_sizes, expected_array, read_if_cond
from te_sched.relax.vm.bytecode import (
    MACHINE,
    BranchInstruction,
    CallInstruction,
    ExecutableFunction,
    JumpInstruction,
    ShapeTuple,
    TypeName,
    VmFunction,
    VmOperand,
)
from te_sched.runtime.arguments import copy_to
from te_sched.runtime.device import cpu
from te_sched.runtime.ndarray import NDArray
from te_sched.signatures import check_function

Step = tuple[Any, ...]  # its kind is the first item
_EXAMPLE = "a function with a parameter for each argument of its call in the program"
# The functions that check parameters, and store and compute the sizes of a call.
_AT_ENTRY = (
    *("vm.builtin.alloc_shape_heap", "vm.builtin.check_", "vm.builtin.match_"),
    *("vm.builtin.tuple_getitem", "vm.builtin.null_value", "shape_func"),
)
# What runs a call: of its name, its function and the arguments.
Around = Callable[[str, VmFunction, tuple[object, ...]], object]
Frame = list[object]


class InterpretedFunction:
    """A function whose instructions are run one by one.

    `around(name, function, args)`, if it is set, runs each call, to time it or watch it.
    """

    def __init__(self, code: ExecutableFunction, around: Around | None = None) -> None:
        self.code, self.name, self.around = code, code.name, around
        self.fast: VmFunction | None = None  # what computes the same in other ways than by steps
        self.steps: list[Step] = []
        self.frame: Frame = []
        self.device = cpu(0)  # of the machine

    def prepare(
        self,
        machine: DeviceOwner,
        functions: Sequence[VmFunction],
        names: Sequence[str],
        constants: Sequence[object],
    ) -> None:
        """Make the steps, with the functions of the executable."""
        frame: Frame = [None] * (self.code.registers + 1)  # the last one is never read
        places: dict[VmOperand, int] = {}

        def place(operand: VmOperand) -> int:
            if operand.kind == "r" and operand.value >= 0:
                return operand.value
            if operand not in places:
                places[operand] = len(frame)
                frame.append(_value(operand, machine, functions, constants))
            return places[operand]

        self.device = machine.device(0)
        dropped = self.code.registers
        for instruction in self.code.instructions:
            if isinstance(instruction, CallInstruction):
                args = _getter([place(operand) for operand in instruction.args])
                dst = dropped if instruction.dst.value < 0 else instruction.dst.value
                self.steps.append(
                    (0, functions[instruction.function], args, dst, names[instruction.function])
                )
            elif isinstance(instruction, BranchInstruction):
                self.steps.append((1, place(instruction.cond), instruction.false_offset))
            elif isinstance(instruction, JumpInstruction):
                self.steps.append((2, instruction.offset))
            else:
                self.steps.append((3, place(instruction.result)))
        self.frame = frame

    def __call__(self, *args: object) -> object:
        """Run it."""
        return self._explained(args, self._frame_of(args), 0, None)

    def call(self, *args: object) -> object:
        """Run it as other functions call it: in the fastest way, unless calls are watched."""
        fast = self.fast
        return self(*args) if fast is None or self.around is not None else fast(*args)

    def entered(self, args: Sequence[object]) -> Callable[[], object]:
        """Check the arguments of a call, before anything is computed; the rest of the call."""
        frame, entry = self._frame_of(args), _entry(self.steps)
        self._explained(args, frame, 0, entry)
        return partial(self._explained, args, frame, entry, None)

    def _frame_of(self, args: Sequence[object]) -> Frame:
        count = len(self.code.params)
        if len(args) != count:
            raise wrong_count(self.name, self.code.params, len(args))
        frame = self.frame.copy()
        frame[:count] = args
        return frame

    def _explained(
        self, args: Sequence[object], frame: Frame, begin: int, end: int | None
    ) -> object:
        """Run the steps from one to another, or to the return; errors say what to pass."""
        try:
            return self._run(frame, begin, end)
        except RecursionError as error:
            raise too_deep(self.name) from error
        except MemoryKindError:
            self._refuse_misplaced(args)
            raise
        except (ArgumentError, ArgumentTypeError) as error:
            if error.check is not None:
                _advise_sizes(error, *error.check, self.steps, frame)
            raise

    def _refuse_misplaced(self, args: Sequence[object]) -> None:
        """Refuse arguments in memory of another device than the machine's."""
        for number, (param, value) in enumerate(zip(self.code.params, args, strict=True)):
            devices = [array.device for array in _arrays(value) if array.device != self.device]
            if not devices:
                continue
            is_part = not isinstance(value, NDArray)
            raise MemoryKindError(
                f"{'an array of ' * is_part}argument {param} of {self.name} is on {devices[0]}, "
                f"the machine is on {self.device}",
                "functions of graphs work in memory of the machine's device",
                f"copy the array there: {copy_to(self.device, 'array' if is_part else param)}",
                (
                    Subject("argument", param, f"argument {number} of {self.name}()"),
                    Subject("function", self.name, f"call of {self.name!r}"),
                ),
            ) from None

    def _run(self, frame: Frame, begin: int, end: int | None) -> object:
        steps, around, at = self.steps, self.around, begin
        while at != end:
            step = steps[at]
            kind = step[0]
            if kind == 0:
                arguments = step[2](frame)
                if around is None:
                    try:
                        frame[step[3]] = step[1](*arguments)
                    except TypeError:
                        check_function(
                            step[1], len(arguments), f'call_packed "{step[4]}"', _EXAMPLE
                        )
                        raise
                else:
                    frame[step[3]] = around(step[4], step[1], arguments)
                at += 1
            elif kind == 1:
                at += 1 if read_if_cond(frame[step[1]]) else step[2]
            elif kind == 2:
                at += step[1]
            else:
                return frame[step[1]]
        return None


def _advise_sizes(
    error: CallError, declaration: str, more: str, steps: Sequence[Step], frame: Frame
) -> None:
    """Advise to pass an array of the sizes in this call, as far as its arguments tell them."""
    texts = declared_sizes(declaration)
    matches, computations = _matches_at_entry(steps, frame)
    own = [pairs for _, _, pairs, context in matches if context == declaration]
    if texts is None or not own:
        return
    bound_slots: set[int] = set()
    variables: set[int] = set()
    for value, heap, pairs, context in sorted(matches, key=lambda match: match[3] == declaration):
        shape = value.shape if isinstance(value, NDArray) else ()
        sizes = value if isinstance(value, ShapeTuple) else shape
        names = declared_sizes(context) or [""] * len(pairs)
        fits = len(sizes) == len(pairs)
        for k, (code, slot) in enumerate(pairs):
            if code != 1 and not (code == 3 and names[k].isidentifier()):
                continue
            variables.add(slot)
            if fits and slot not in bound_slots:
                heap._array[slot] = sizes[k]
                bound_slots.add(slot)
    if bound_slots == variables:
        for compute, heap in computations:
            compute(heap)
            bound_slots.update(range(len(heap._array)))
    for k, (code, number) in enumerate(own[-1]):
        if code == 0 or (code != 2 and number in bound_slots):
            texts[k] = str(number if code == 0 else matches[0][1]._array[number])
    error.advice = expected_array(texts, more)


def _entry(steps: Sequence[Step]) -> int:
    """How many steps at the begin check parameters, and store and compute sizes."""
    calls = takewhile(lambda step: step[0] == 0 and step[4].startswith(_AT_ENTRY), steps)
    return sum(1 for _ in calls)


# A value, the heap, the pairs of codes and slots or sizes, and the context.
_Match = tuple[object, NDArray, list[tuple[int, int]], str]


def _matches_at_entry(
    steps: Sequence[Step], frame: Frame
) -> tuple[list[_Match], list[tuple[VmFunction, NDArray]]]:
    """The values with the pairs that they are matched with, and what computes sizes of a heap."""
    matches: list[_Match] = []
    computations: list[tuple[VmFunction, NDArray]] = []
    for _, function, getter, register, name in steps[: _entry(steps)]:
        if name == "vm.builtin.tuple_getitem":
            values, index = getter(frame)
            is_there = isinstance(values, tuple) and index < len(values)
            frame[register] = values[index] if is_there else None
        elif name == "vm.builtin.match_shape":
            value, heap, _, *pairs, context = getter(frame)
            matches.append((value, heap, list(zip(pairs[::2], pairs[1::2], strict=True)), context))
        elif name.startswith("shape_func"):
            computations.append((function, *getter(frame)))
    return matches, computations


def _arrays(value: object) -> Iterator[NDArray]:
    if isinstance(value, NDArray):
        yield value
    elif isinstance(value, tuple):
        for element in value:
            yield from _arrays(element)


def too_deep(name: str) -> CallError:
    """The error of a call at Python's recursion limit."""
    return CallError(
        f"the call of {name} is nested too deeply",
        "functions call one another without an end, or more deeply than Python's recursion limit",
        "let a recursion end earlier, or raise the limit by sys.setrecursionlimit",
    )


def wrong_count(name: str, params: Sequence[str], arg_count: int) -> CallError:
    """The error of a call with another number of arguments."""
    count = len(params)
    return CallError(
        f"{name}() takes {count} argument{'' if count == 1 else 's'}, got {arg_count}",
        f"the arguments are {', '.join(params)}" if params else "",
        "pass one value for each parameter",
    )


def _getter(places: list[int]) -> Callable[[Frame], tuple[object, ...]]:
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        only = places[0]
        return lambda frame: (frame[only],)
    return lambda frame: ()


def _value(
    operand: VmOperand,
    machine: DeviceOwner,
    functions: Sequence[VmFunction],
    constants: Sequence[object],
) -> object:
    if operand == MACHINE:
        return machine
    if operand.kind == "f":
        return functions[operand.value]
    if operand.kind == "i":
        return operand.value
    constant = constants[operand.value]
    return constant.name if isinstance(constant, TypeName) else constant
