"""Calls of functions with dynamic shapes, recorded for the sizes of one call.

The interpreter runs a function once, and what it calls is noted: kernels, with the memory on which
they work, which is that of parameters, of constants, or of storages that the call allocates. Calls
with arguments of the same sizes repeat the kernels, and neither check nor compute sizes. Must not
know whose memory it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from te_sched.relax.vm.arena import Lifetime, offsets_in_arena
from te_sched.relax.vm.builtins import Storage
from te_sched.relax.vm.bytecode import BranchInstruction, ShapeTuple, VmFunction
from te_sched.relax.vm.interpreter import InterpretedFunction
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

# The number of a base, and an offset from it: bases are parameters, then storages, then 0.
Place = tuple[int, float]


@dataclass(frozen=True)
class RecordedResult:
    """An array that a call gives: the base at which it begins, its dtype and shape, and the bytes
    that the call needs there.
    """

    base: int
    dtype: str
    shape: tuple[int, ...]
    size: int


@dataclass
class RecordedCall:
    """What a call with some sizes does.

    Storages that hold no result have an offset in an arena of `arena` bytes. All addresses are
    multiples of 64.
    """

    results: list[RecordedResult]
    offsets: list[int | None]
    arena: int
    is_tuple: bool  # the results, which are one array otherwise
    steps: list[tuple[Callable[..., None], list[Place]]] = field(default_factory=list)

    def run(self, params: Sequence[float], results: Sequence[int], arena: int) -> None:
        """Call the kernels with the addresses of parameters, of memory for the results in their
        order, and of the arena.
        """
        owners = {
            result.base: address for result, address in zip(self.results, results, strict=True)
        }
        bases = [*params]
        for offset in self.offsets:
            bases.append(owners[len(bases)] if offset is None else arena + offset)
        bases.append(0)
        for kernel, places in self.steps:
            kernel(*[bases[base] + offset for base, offset in places])


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
    has_branches = any(isinstance(one, BranchInstruction) for one in function.code.instructions)
    return result, None if has_branches else recorder.recorded(result)


class _Recorder:
    """Notes the calls of one run."""

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
        places = [[self._place(value) for value in args] for _, args in self.calls]
        known = [result for result in results if result is not None]
        bases = {result.base for result in known}
        is_whole = len(values) == len(known) == len(bases)
        if not self.is_plain or not is_whole or any(None in row for row in places):
            return None
        steps = [[place for place in row if place is not None] for row in places]
        offsets, arena = self._offsets(steps, bases)
        call = RecordedCall(known, offsets, arena, isinstance(result, tuple))
        for (function, args), step in zip(self.calls, steps, strict=True):
            call.steps.append((function.bound(*args), step))
        return call

    def _result(self, array: NDArray) -> RecordedResult | None:
        place = self._place(array)
        is_storage = place is not None and len(self.params) <= place[0] < self._end
        if place is None or not is_storage or place[1]:
            return None  # an argument, a constant, or a part of a storage
        size = self.storages[place[0] - len(self.params)].memory.size
        return RecordedResult(place[0], array.dtype, array.shape, size)

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
