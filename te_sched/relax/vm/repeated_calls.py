"""Calls of interpreted functions with the sizes of an earlier call, which repeat its kernels.

    y = machine["main"](x)      x: (3, 4)    interpreted
    y = machine["main"](x)      x: (3, 4)    interpreted and recorded
    y = machine["main"](x)      x: (3, 4)    the kernels alone, in memory that is kept for them

Must not know instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from te_sched.relax.vm.bytecode import ShapeTuple
from te_sched.relax.vm.interpreter import InterpretedFunction
from te_sched.relax.vm.recorded_calls import RecordedCall, RecordedResult, record
from te_sched.runtime.ndarray import NDArray, array_inside, array_maker, memory_of

_MOST_SIZES = 64  # combinations of sizes that are remembered
_MISALIGNED = 63  # the bits of addresses that recorded calls do not have

_Run = Callable[[Sequence[object]], object]


class RepeatedFunction:
    """A function that is interpreted, unless its arguments have the sizes of a recorded call.

    Watched functions are interpreted, and so are those with conditions, values that are computed in
    Python, or arguments in tuples.
    """

    def __init__(self, function: InterpretedFunction, constants: Sequence[object]) -> None:
        self._function, self._constants = function, constants
        # Of the types and sizes of arguments, the oldest first: None if they were seen once, the
        # interpreted function if their calls cannot be repeated.
        self._calls: dict[tuple[object, ...], _Run | None] = {}
        self._arenas: list[NDArray] = []  # that no call is using

    def __call__(self, *args: object) -> object:
        """Run it."""
        key = None if self._function.around is not None else _key(args)
        if key is None:
            return self._function(*args)
        run = self._calls.get(key)
        return self._first(key, args) if run is None else run(args)

    def _first(self, key: tuple[object, ...], args: Sequence[object]) -> object:
        """A call of the interpreter, which is recorded if it is the second one of its sizes."""
        if key not in self._calls or _share_memory(args, self._constants):
            result = self._function(*args)
            for oldest in list(self._calls)[: max(0, len(self._calls) + 1 - _MOST_SIZES)]:
                self._calls.pop(oldest, None)
            self._calls[key] = None
            return result
        result, recorded = record(self._function, args, self._constants)
        self._calls[key] = self._interpreted if recorded is None else self._repeating(recorded)
        return result

    def _interpreted(self, args: Sequence[object]) -> object:
        return self._function(*args)

    def _repeating(self, recorded: RecordedCall) -> _Run:
        """What repeats a recorded call with other arrays of the same sizes."""
        makers = [_result_maker(result) for result in recorded.results]
        arenas, size, is_tuple = self._arenas, recorded.arena, recorded.is_tuple
        new_arena, call = array_maker((size,), "uint8"), recorded.kernels.run

        def run(args: Sequence[object]) -> object:
            bases, bits = [], 0
            for value in args:
                address = value.address if type(value) is NDArray else 0
                bits |= address
                bases.append(address)
            if bits & _MISALIGNED:
                return self._interpreted(args)
            try:  # other threads may run it, too
                arena = arenas.pop()
            except IndexError:
                arena = new_arena()
            if arena.size < size:
                arena = new_arena()
            results = []
            for make in makers:
                memory, result = make()
                bases.append(memory.address)
                results.append(result)
            call([*bases, arena.address, 0])
            arenas.append(arena)
            return tuple(results) if is_tuple else results[0]

        return run


def _key(args: Sequence[object]) -> tuple[object, ...] | None:
    """The types and sizes of arguments, and the values of numbers; None if there are others."""
    key: list[object] = []
    for value in args:
        kind = type(value)
        if kind is NDArray:
            own = value.key  # type: ignore[attr-defined]
            if own[2] is not None:  # it has strides
                return None
            key.append(own)
        elif kind is int or kind is float or kind is ShapeTuple:
            key.append((kind, value))
        else:
            return None
    return tuple(key)


def _share_memory(args: Sequence[object], constants: Sequence[object]) -> bool:
    """Whether an argument has memory of another one, or of a constant."""
    arrays = [memory_of(value) for value in args if isinstance(value, NDArray)]
    others = [memory_of(value) for value in constants if isinstance(value, NDArray)]
    pairs = [*combinations(arrays, 2), *[(own, other) for own in arrays for other in others]]
    return any(own.start < other.stop and other.start < own.stop for own, other in pairs)


def _result_maker(result: RecordedResult) -> Callable[[], tuple[NDArray, NDArray]]:
    """What makes the memory that a call needs for a result, and the result in it."""
    make_array = array_maker(result.shape, result.dtype)
    array = make_array()
    if len(memory_of(array)) >= result.size:

        def make_whole() -> tuple[NDArray, NDArray]:
            whole = make_array()
            return whole, whole

        return make_whole
    make_memory = array_maker((result.size,), "uint8")

    def make_part() -> tuple[NDArray, NDArray]:
        memory = make_memory()
        return memory, array_inside(memory, 0, result.shape, result.dtype)

    return make_part
