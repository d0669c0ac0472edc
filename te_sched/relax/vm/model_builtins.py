"""Functions of executables for models: caches of keys and values, and printing while they run."""

from __future__ import annotations

from typing import Any, TypeVar

from te_sched.errors import CallError
from te_sched.relax.vm.bytecode import ShapeTuple, VmFunction
from te_sched.runtime.ndarray import NDArray, array_inside, empty
from te_sched.runtime.registry import get_global_func


class AttentionCache:
    """Elements of a shape, one after the other, in memory that grows."""

    __slots__ = ("_memory", "count")

    def __init__(self, initial: NDArray, shape: ShapeTuple, count: int) -> None:
        self._memory = empty(tuple(shape), initial.dtype, initial.device)
        self._memory._array[:count] = initial._array[:count]
        self.count = count

    def append(self, values: NDArray) -> None:
        """Add elements at the end."""
        memory, rows = self._memory, values._array
        rows = rows if rows.ndim == memory.ndim else rows[None]
        unit = memory.shape[1:]
        if rows.shape[1:] != unit or values.dtype != memory.dtype:
            raise CallError(
                f"a value of shape {rows.shape} and dtype {values.dtype} is appended to a cache",
                f"the elements of the cache are {unit} of {memory.dtype}",
                "append elements of this shape and dtype",
            )
        total = self.count + len(rows)
        if total > len(memory):
            size = max(total, 2 * len(memory))
            self._memory = empty((size, *unit), memory.dtype, memory.device)
            self._memory._array[: self.count] = memory._array[: self.count]
        self._memory._array[self.count : total] = rows
        self.count = total

    def view(self, shape: ShapeTuple) -> NDArray:
        """The elements, as an array of a shape: memory of the cache, in which later elements are
        appended after these.
        """
        unit = self._memory.shape[1:]
        if shape[0] != self.count or tuple(shape[1:]) != unit:
            raise CallError(
                f"the cache is viewed as {tuple(shape)}",
                f"it has {self.count} elements of shape {unit}",
                "give the number of its elements",
            )
        return array_inside(self._memory, 0, tuple(shape), self._memory.dtype)


_Effect = TypeVar("_Effect")


def _create(initial: NDArray, shape: ShapeTuple, count: int) -> AttentionCache:
    return AttentionCache(initial, shape, count)


def _append(cache: AttentionCache, values: NDArray) -> AttentionCache:
    cache.append(values)
    return cache


def _view(cache: AttentionCache, shape: ShapeTuple) -> NDArray:
    return cache.view(shape)


def _debug_print(location: str, value: NDArray) -> None:
    print(f"{location}: shape = {tuple(value.shape)}, dtype = {value.dtype}, data =\n{value}")


def _invoke_debug_func(effect: _Effect, name: str, location: str, *args: Any) -> _Effect:
    """Call a registered function with the place in the program; the effect goes on."""
    if name == "vm.builtin.debug_print":
        _debug_print(location, *args)
    else:
        get_global_func(name)(location, *args)  # type: ignore[misc]
    return effect


MODEL_BUILTINS: dict[str, VmFunction] = {
    "vm.builtin.attention_kv_cache_create": _create,
    "vm.builtin.attention_kv_cache_append": _append,
    "vm.builtin.attention_kv_cache_view": _view,
    "vm.builtin.invoke_debug_func": _invoke_debug_func,
    "vm.builtin.debug_print": _debug_print,
}
