"""Calls of functions with dynamic shapes, recorded for the sizes of one call.

The interpreter runs a function once, and what it calls is noted: kernels, with the memory on which
they work, which is that of parameters, of constants, or of storages that the call allocates. Calls
with arguments of the same sizes repeat the kernels, and neither check nor compute sizes. Must not
know whose memory it is.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.relax.vm.arena import Lifetime, offsets_in_arena
from te_sched.relax.vm.builtins import Storage
from te_sched.relax.vm.bytecode import BranchInstruction, ShapeTuple, VmFunction
from te_sched.relax.vm.interpreter import InterpretedFunction
from te_sched.runtime.call_sequence import CallSequence, Place, Step
from te_sched.runtime.module import Function
from te_sched.runtime.ndarray import NDArray, memory_of

# What reads or makes no elements of arrays: sizes, views and tuples of values.
_WITHOUT_ELEMENTS = frozenset(
    f"vm.builtin.{name}"
    for name in (
        *("check_tensor_info", "check_shape_info", "check_prim_value_info", "check_tuple_info"),
        *("match_shape", "match_prim_value", "check_sizes", "make_shape", "make_prim_value"),
        *("alloc_shape_heap", "alloc_storage", "alloc_tensor", "shape_of", "reshape", "copy"),
        *("make_tuple", "tuple_getitem", "null_value", "ensure_zero_offset", "to_device"),
    )
)


@dataclass(frozen=True)
class RecordedResult:
    """An array that a call gives: the base at which it begins, its dtype and shape, and the bytes
    that the call needs there.
    """

    base: int
    dtype: str
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class RecordedCall:
    """What a call with some sizes does.

    Storages that hold no result are parts of an arena of `arena` bytes. The bases of the kernels
    are the addresses of parameters, of memory for the results in their order, of the arena, and 0.
    All are multiples of 64.
    """

    results: list[RecordedResult]
    arena: int
    is_tuple: bool  # the results, which are one array otherwise
    kernels: CallSequence


def record(
    function: InterpretedFunction, args: Sequence[object], constants: Sequence[object]
) -> tuple[object, RecordedCall | None]:
    """The result of a call, and its record; None if the call does something else than kernels.

    Arrays among the arguments must not share memory.
    """
    recorder = _Recorder(args, constants)
    watched = copy.copy(function)
    watched.around = recorder.call
    result = watched(*args)
    has_branches = any(
        isinstance(instruction, BranchInstruction) for instruction in function.code.instructions
    )
    return result, None if has_branches else recorder.recorded(result)


class _Recorder:
    """Notes the calls of one run. The bases of places are parameters, then storages, then 0."""

    def __init__(self, args: Sequence[object], constants: Sequence[object]) -> None:
        self.params = [
            memory_of(array) if isinstance(array, NDArray) else range(0) for array in args
        ]
        self.constants = [memory_of(array) for array in constants if isinstance(array, NDArray)]
        self.storages: list[Storage] = []
        self.heaps: list[NDArray] = []
        self.calls: list[tuple[Function, list[object]]] = []
        self.is_plain = True

    def call(self, name: str, function: VmFunction, args: tuple[object, ...]) -> object:
        """Run a call of the function."""
        result = function(*args)
        if name == "vm.builtin.call_tir_dyn":
            *arrays, sizes = args[1:]
            self._note(args[0], [*arrays, *(sizes if isinstance(sizes, ShapeTuple) else ())])
        elif name == "vm.builtin.alloc_shape_heap" and isinstance(result, NDArray):
            self.heaps.append(result)
        elif isinstance(result, Storage):
            self.storages.append(result)
        elif name not in _WITHOUT_ELEMENTS:
            self._note(function, args)
        return result

    def _note(self, function: object, args: Sequence[object]) -> None:
        is_kernel = isinstance(function, Function) and not function.signature.result
        if is_kernel and all(any(value is heap for heap in self.heaps) for value in args):
            return  # it computes sizes
        if not is_kernel or not all(isinstance(value, NDArray | int | float) for value in args):
            self.is_plain = False
        elif isinstance(function, Function):
            self.calls.append((function, list(args)))

    def recorded(self, result: object) -> RecordedCall | None:
        """The record, after the run."""
        values = result if isinstance(result, tuple) else (result,)
        arrays = [value for value in values if isinstance(value, NDArray)]
        results = [self._result(array) for array in arrays]
        noted = [[self._place(value) for value in args] for _, args in self.calls]
        result_records = [result for result in results if result is not None]
        bases = {result.base for result in result_records}
        is_whole = len(values) == len(result_records) == len(bases)
        if not self.is_plain or not is_whole or any(None in row for row in noted):
            return None
        steps = [[location for location in row if location is not None] for row in noted]
        offsets, arena = self._offsets(steps, bases)
        places = self._places_of_bases(result_records, offsets)
        count = len(self.params) + len(result_records) + 2
        rows: list[Step] = []
        for (function, args), step in zip(self.calls, steps, strict=True):
            moved = [(places[base][0], places[base][1] + offset) for base, offset in step]
            rows.append((function, args, moved))
        kernels = CallSequence(rows, count)
        return RecordedCall(result_records, arena, isinstance(result, tuple), kernels)

    def _places_of_bases(
        self, results: Sequence[RecordedResult], offsets: Sequence[int | None]
    ) -> list[Place]:
        """Where bases are among parameters, results, the arena and 0."""
        first = len(self.params)
        places: list[Place] = [(number, 0) for number in range(first)]
        numbers = {result.base: number for number, result in enumerate(results, first)}
        arena = first + len(results)
        for base, offset in enumerate(offsets, first):
            places.append((arena, offset) if offset is not None else (numbers[base], 0))
        return [*places, (arena + 1, 0)]

    def _result(self, array: NDArray) -> RecordedResult | None:
        location = self._place(array)
        is_storage = location is not None and len(self.params) <= location[0] < self._end
        if location is None or not is_storage or location[1]:
            return None  # an argument, a constant, or a part of a storage
        size = self.storages[location[0] - len(self.params)].memory.size
        return RecordedResult(location[0], array.dtype, array.shape, size)

    @property
    def _end(self) -> int:
        """The number of the base 0, from which addresses of constants and numbers count."""
        return len(self.params) + len(self.storages)

    def _place(self, value: object) -> Place | None:
        if isinstance(value, int | float):
            return self._end, value
        if not isinstance(value, NDArray):
            return None
        memories = [*self.params, *[memory_of(storage.memory) for storage in self.storages]]
        for number, memory in enumerate(memories):
            if value.address in memory:
                return number, value.address - memory.start
        is_fixed = any(value.address in memory for memory in self.constants)
        return (self._end, value.address) if is_fixed or not value.size else None

    def _offsets(
        self, steps: Sequence[Sequence[Place]], bases: set[int]
    ) -> tuple[list[int | None], int]:
        """Where in an arena the storages begin that hold no results, and its size."""
        uses: dict[int, list[int]] = {}
        for number, places in enumerate(steps):
            for base, _ in places:
                uses.setdefault(base, []).append(number)
        blocks = {
            base: Lifetime(storage.memory.size, uses[base][0], uses[base][-1])
            for base, storage in enumerate(self.storages, len(self.params))
            if base in uses and base not in bases
        }
        placed, arena = offsets_in_arena([*blocks.values()])
        offsets: dict[int, int] = dict(zip(blocks, placed, strict=True))
        order = range(len(self.params), self._end)
        return [None if base in bases else offsets.get(base, 0) for base in order], arena
