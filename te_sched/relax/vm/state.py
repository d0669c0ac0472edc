"""States of a virtual machine: arrays that functions are given, and whose new values they return.

A function with the attribute "state" (`relax.core.state`) is called without its states; the machine
adds them, takes their new values from the end of the result, and gives the caller the rest. A new
value that a kernel wrote into the memory of its state is there already; others are copied. Must
not know how functions run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from te_sched.errors import (
    ArgumentError,
    ArgumentTypeError,
    CallError,
    GraphError,
    MemoryKindError,
    did_you_mean,
    repr_of,
)
from te_sched.relax.core.state import StateUse
from te_sched.relax.vm.builtins import as_value
from te_sched.relax.vm.bytecode import VmFunction
from te_sched.relax.vm.interpreter import wrong_count
from te_sched.runtime.ndarray import NDArray, array, from_dlpack, memory_of

# What begins a call with arguments: the rest of the call, and whether they are checked by then.
Enter = Callable[[Sequence[object]], tuple[Callable[[], object], bool]]
_Result = tuple[object, Sequence[NDArray]]  # what the caller gets, and new values
_OF_ARGUMENTS = (ArgumentError, ArgumentTypeError, MemoryKindError)


class MachineState:
    """The values of the states of a machine, by name.

    They are made at their first use, by the functions that make the first values.
    """

    def __init__(self, uses: Mapping[str, StateUse], functions: Mapping[str, VmFunction]) -> None:
        self._uses, self._functions = uses, functions
        self._arrays: dict[str, NDArray] = {}
        self._changed_by = ""  # a function whose call failed after it had begun
        self.lock = threading.RLock()

    @property
    def names(self) -> list[str]:
        """The names of all states."""
        return list(dict.fromkeys([name for use in self._uses.values() for name in use.states]))

    def arrays(self) -> dict[str, NDArray]:
        """The memory of all states."""
        if not self._arrays:
            arrays: dict[str, NDArray] = {}
            for use in self._uses.values():
                first = self._functions[use.initializer]() if use.states else ()
                for name, value in zip(use.states, first, strict=True):
                    if name not in arrays:
                        arrays[name] = value.copyto(value.device)
                    _check_like(name, arrays[name], value)
            self._arrays = arrays
        return self._arrays

    def get(self, name: str | None) -> NDArray | dict[str, NDArray]:
        """A copy of a state, or of all of them by name."""
        with self.lock:
            arrays = self.arrays()
            self.refuse_changed()
            if name is not None:
                self._check_name(name)
                return arrays[name].copyto(arrays[name].device)
            return {state: value.copyto(value.device) for state, value in arrays.items()}

    def set(self, values: Mapping[str, object]) -> None:
        """Copy arrays into states; all are checked before the first one is changed."""
        with self.lock:
            arrays = self.arrays()
            checked: dict[str, NDArray] = {}
            for name, value in values.items():
                self._check_name(name)
                new = as_value(value)
                checked[name] = new if isinstance(new, NDArray) else array(new)
                _check_like(name, arrays[name], checked[name])
            for name, new in checked.items():
                new.copyto(arrays[name])
            if len(checked) == len(arrays):
                self._changed_by = ""

    def reset(self) -> None:
        """Go back to the first values."""
        with self.lock:
            self._arrays = {}
            self._changed_by = ""

    def mark_changed(self, function: str) -> None:
        """Note that a call of a function failed while it changed states."""
        self._changed_by = function

    def refuse_changed(self) -> None:
        """Refuse states that a call which failed may have changed in part."""
        if self._changed_by:
            raise CallError(
                f"a call of {self._changed_by} failed after it had begun, and may have changed "
                f"a part of the states {', '.join(self.names)}",
                "they are updated in their memory",
                "call machine.reset_state(), or machine.set_state with all states",
            )

    def _check_name(self, name: str) -> None:
        if name not in self._arrays:
            names = ", ".join(self._arrays) or "none"
            raise GraphError(
                f"the machine has no state {repr_of(name)}",
                f"its states are: {names}",
                f"use one of these names{did_you_mean(str(name), self._arrays)}",
            )


class StatefulFunction:
    """A function of a machine that is called without its states.

    `enter` begins a call with all arguments, as far as it changes nothing.
    """

    def __init__(
        self, name: str, use: StateUse, params: Sequence[str], state: MachineState, enter: Enter
    ) -> None:
        self.name, self._state, self._enter = name, state, enter
        states = dict(use.updates)
        self.params = tuple([param for param in params if not states.get(param)])
        self._places = [(n, states[param]) for n, param in enumerate(params) if states.get(param)]
        numbers = {param: number for number, param in enumerate(self.params)}
        # For each new value the state, or the number of the argument.
        self._targets = [
            (name, -1) if name else ("", numbers[param]) for param, name in use.updates
        ]

    def __call__(self, *args: object) -> object:
        """Call it, and keep the new values of states."""
        if len(args) != len(self.params):
            raise wrong_count(self.name, self.params, len(args))
        with self._state.lock:
            self._state.refuse_changed()
            states = self._state.arrays()
            full = [as_value(value) for value in args]
            for number, name in self._places:
                full.insert(number, states[name])
            run, is_checked = self._enter(full)
            try:
                result, new = cast(_Result, run())
            except BaseException as error:
                if self._places and (is_checked or not isinstance(error, _OF_ARGUMENTS)):
                    self._state.mark_changed(self.name)
                raise
            return self._keep(args, result, new, states)

    def _keep(
        self,
        args: Sequence[object],
        result: object,
        new: Sequence[NDArray],
        states: Mapping[str, NDArray],
    ) -> object:
        """Store new values; the result for the caller, which shares no memory with states."""
        memory = [memory_of(value) for value in states.values()]
        stores: list[tuple[object, NDArray]] = []
        for (name, number), value in zip(self._targets, new, strict=True):
            target = states[name] if name else args[number]
            if value is not target:
                is_shared = any(_overlaps(memory_of(value), span) for span in memory)
                stores.append((target, value.copyto(value.device) if is_shared else value))
        visible = _apart(result, memory)
        for target, value in stores:
            _store(target, value)
        return visible


def _check_like(name: str, value: NDArray, other: NDArray) -> None:
    if (value.shape, value.dtype) != (other.shape, other.dtype):
        raise ArgumentError(
            f"state {name} is given an array of shape {other.shape} and dtype {other.dtype}",
            f"it has shape {value.shape} and dtype {value.dtype}",
            "give an array of this shape and dtype",
        )


def _overlaps(memory: range, other: range) -> bool:
    return memory.start < other.stop and other.start < memory.stop


def _apart(value: object, memory: Sequence[range]) -> object:
    """A value without memory of states."""
    if isinstance(value, NDArray):
        span = memory_of(value)
        return (
            value.copyto(value.device) if any(_overlaps(span, other) for other in memory) else value
        )
    if type(value) is tuple:
        return tuple([_apart(field, memory) for field in value])
    return value


def _store(target: object, value: NDArray) -> None:
    """Copy a new value into an array of any library."""
    if isinstance(target, np.ndarray):
        np.copyto(target, value._readable(), casting="unsafe")
    else:
        value.copyto(target if isinstance(target, NDArray) else from_dlpack(target))
