"""Copies and pickles of objects that are nested more deeply than Python recurses.

`copy.deepcopy` and pickle recurse into the fields of an object. Of one that is nested deeply, they
are given parts first, from the innermost outwards, so that what is left of each is shallow. Which
objects are one stays as it is. Must not know the classes.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any, SupportsIndex, TypeVar

_T = TypeVar("_T", bound="DeeplyNested")
_STEP = 20  # levels of nesting between two parts, of which each takes a few frames
_PARTS = "te_sched.nested_copies"  # the key of the objects that a copy has planned, in its memo


class _OfThread(threading.local):
    """The objects that the pickle of an outer one has planned, by their addresses."""

    def __init__(self) -> None:
        self.planned: dict[int, Any] = {}


_PICKLED = _OfThread()


class DeeplyNested:
    """Base class of objects that are copied and pickled however deeply they are nested."""

    __slots__ = ()

    def __copy__(self: _T) -> _T:
        twin = type(self).__new__(type(self))
        _set_state(twin, _state_of(self))
        return twin

    def __deepcopy__(self: _T, memo: dict[Any, Any]) -> _T:
        twin = memo[id(self)] = type(self).__new__(type(self))
        planned = memo.setdefault(_PARTS, {})
        if planned.pop(id(self), None) is None:
            parts, inside = _plan(self)
            planned.update(inside)
            for part in parts:
                copy.deepcopy(part, memo)
        _set_state(twin, copy.deepcopy(_state_of(self), memo))
        return twin

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        reduced: Any = object.__reduce_ex__(self, protocol)
        if _PICKLED.planned.pop(id(self), None) is not None:
            return reduced
        parts, inside = _plan(self)
        if not inside:
            return reduced
        end = _EndOfPickle(_PICKLED.planned)
        _PICKLED.planned = inside
        return (*reduced[:2], (parts, reduced[2], end), None, None, restore)


class _EndOfPickle:
    """Pickled after the state of an object: what it has planned is over."""

    def __init__(self, outer: dict[int, Any]) -> None:
        self._outer = outer

    def __reduce__(self) -> Any:
        _PICKLED.planned = self._outer
        return restore, ()


def restore(twin: Any = None, state: Any = None) -> None:
    """Give an object the state that pickle wrote, after its parts."""
    if isinstance(twin, DeeplyNested):
        _set_state(twin, state[1])


def _state_of(holder: Any) -> Any:
    """The fields of an object, as pickle writes them: a dictionary, or two with those of slots."""
    reduced: Any = object.__reduce_ex__(holder, 4)
    return reduced[2]


def _set_state(twin: Any, state: Any) -> None:
    for fields in state if isinstance(state, tuple) else (state,):
        for name, value in (fields or {}).items():
            object.__setattr__(twin, name, value)


def _plan(whole: DeeplyNested) -> tuple[list[Any], dict[int, Any]]:
    """The parts that are handled before an object, and all objects inside of it, by their
    addresses.
    """
    heights: dict[int, int] = {}  # of what is left of each, when the parts are handled
    held: dict[int, list[Any]] = {}
    parts: list[Any] = []
    stack: list[Any] = [whole]
    inside: dict[int, Any] = {}
    while stack:
        holder = stack[-1]
        address = id(holder)
        if address not in heights:
            heights[address] = _OPEN
            held[address] = values = _values_in(holder)
            stack += [value for value in values if id(value) not in heights]
            continue
        stack.pop()
        if heights[address] != _OPEN:
            continue  # it was on the stack twice
        height = 1 + max([heights[id(value)] for value in held.pop(address)], default=0)
        if isinstance(holder, DeeplyNested) and holder is not whole:
            inside[address] = holder
            if height >= _STEP:
                parts.append(holder)
                height = 0
        heights[address] = height
    return parts, inside


_OPEN = -1  # the height of an object while those that it holds are visited


def _values_in(holder: Any) -> list[Any]:
    """The objects and containers that an object or container holds."""
    values: Iterable[Any] = holder
    kind: Any = type(holder)
    if isinstance(holder, DeeplyNested):
        values = [getattr(holder, name, None) for name in _slots_of(kind)]
        values += getattr(holder, "__dict__", {}).values()
    elif isinstance(holder, dict):
        values = [*holder.keys(), *holder.values()]
    return [value for value in values if _IS_HOLDER[type(value)]]


@cache
def _slots_of(kind: type) -> list[str]:
    slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    names = [name for some in slots for name in ((some,) if isinstance(some, str) else some)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


class _IsHolder(dict[type, bool]):
    """Whether instances of a class are objects or containers."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, (DeeplyNested, tuple, list, dict, set, frozenset))
        return self[kind]


_IS_HOLDER = _IsHolder()
