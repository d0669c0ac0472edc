"""Names that generated code may call: Python functions (call_packed), externs (call_extern).

Also keeps the exceptions that callbacks raise until their caller raises them again. Must not know
modules.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.errors import CallError, did_you_mean, kind_of, listing, repr_of
from te_sched.lazy_loading import load
from te_sched.locks import new_lock
from te_sched.public_members import is_function
from te_sched.runtime import access_reports, numpy_functions
from te_sched.signatures import checked_as


@dataclass(frozen=True, slots=True)
class Extern:
    """A registered C function (`address`) or Python callback (`function`)."""

    name: str
    address: int = 0
    function: Callable[..., Any] | None = None
    keep_alive: Any = None

    @property
    def kind(self) -> str:
        """How generated code calls it: "pointer" or "callback"."""
        return "pointer" if self.function is None else "callback"


def _echo(value: Any) -> Any:
    """The argument."""
    return value


# Those of TVM itself, and what failed checks call.
_BROUGHT: dict[str, Callable[..., Any]] = {
    **numpy_functions.PACKED_FUNCTIONS,
    **access_reports.PACKED_FUNCTIONS,
    "testing.echo": _echo,
}
# Modules that bring functions, by prefixes of their names.
_BRINGING: dict[str, str] = {}
_functions: dict[str, Callable[..., Any]] = {}
_externs: dict[str, Extern] = {}
_C_FUNCTION = type(ctypes.CFUNCTYPE(None)()).__mro__[1]


def register_func(
    name: Any, function: Callable[..., Any] | None = None, override: bool = False
) -> Any:
    """Register a Python function for call_packed; with a name alone, or nothing, a decorator.

    >>> @te_sched.register_func("doc.double")
    ... def double(source, result):
    ...     result.copyfrom(source.numpy() * 2)
    >>> te_sched.get_global_func("doc.double") is double
    True
    >>> te_sched.runtime.remove_global_func("doc.double")
    """
    if is_function(name) and hasattr(name, "__name__"):
        return register_func(name.__name__, name, override)
    if name is None and function is None:
        return register_func  # of a decorator without a name
    if not isinstance(name, str):
        raise CallError(
            f"the name of a function is {repr_of(name)}, expected a string",
            "",
            "give a string and a function",
        )
    if function is not None and not is_function(function):
        raise CallError(
            f"cannot register {repr_of(function)} as {name!r}: it is not a function",
            "",
            "give a Python function",
        )
    if function is None:
        return lambda decorated: register_func(name, decorated, override)
    if name in _functions and not override:
        raise CallError(
            f"function {name!r} is registered already",
            "",
            "pass override=True to replace it",
        )
    _functions[name] = function
    return function


@checked_as(CallError)
def get_global_func(name: str, allow_missing: bool = False) -> Callable[..., Any] | None:
    """The Python function registered under a name.

    >>> te_sched.get_global_func("doc.absent", allow_missing=True) is None
    True
    """
    function = _functions[name] if name in _functions else _brought(name)
    if function is None and not allow_missing:
        names = listing(sorted(_functions)) or "none"
        raise CallError(
            f"no function is registered as {name!r}",
            f"registered are: {names}",
            f'register it with te_sched.register_func("{name}", function)'
            + did_you_mean(name, _functions),
        )
    return function


def registered_names() -> list[str]:
    """The names of all functions, those of users first."""
    return [*_functions, *_BROUGHT]


def bring(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Make functions of te_sched known, which those of users replace."""
    _BROUGHT.update(functions)


def bring_late(modules: Mapping[str, str]) -> None:
    """Make known the modules that bring functions, by prefixes of the names of these: a module is
    loaded when a function is first asked for.
    """
    _BRINGING.update(modules)


def _brought(name: str) -> Callable[..., Any] | None:
    if name not in _BROUGHT:
        for prefix, module in _BRINGING.items():
            if name.startswith(prefix):
                load(module)
    return _BROUGHT.get(name)


@checked_as(CallError)
def remove_global_func(name: str) -> None:
    """Forget a registered function.

    >>> add = te_sched.register_func("doc.add", lambda a, b: a + b)
    >>> te_sched.runtime.remove_global_func("doc.add")
    >>> te_sched.get_global_func("doc.add", allow_missing=True) is None
    True
    """
    _functions.pop(name, None)


@checked_as(CallError)
def register_extern(name: str, function: Any, override: bool = True) -> Any:
    """Register what call_extern(name, ...) calls.

    `function` is a ctypes or cffi function pointer, an address, an object with an `address`
    (numba's cfunc), or a Python function. Python functions get numbers as int and float, and
    pointers as ctypes pointers to their element type.

    >>> one = te_sched.register_extern("doc_one", lambda: 1)
    >>> te_sched.runtime.remove_extern("doc_one")
    """
    if name in _externs and not override:
        raise CallError(
            f"extern {name!r} is registered already",
            "",
            "pass override=True to replace it",
        )
    address = _address_of(function)
    if address is not None and address == 0:
        raise CallError(
            f"cannot register extern {name!r}: the pointer is null", "", "give it a function"
        )
    if address is None and not is_function(function):
        raise CallError(
            f"cannot register extern {name!r}: "
            f"{kind_of(function)} is neither a function pointer nor callable",
            "",
            "give it a ctypes or cffi function pointer, an address or a Python function",
        )
    _externs[name] = Extern(name, address or 0, function if address is None else None, function)
    return function


@checked_as(CallError)
def remove_extern(name: str) -> None:
    """Forget a registered extern.

    >>> two = te_sched.register_extern("doc_two", lambda: 2)
    >>> te_sched.runtime.remove_extern("doc_two")
    """
    _externs.pop(name, None)


def find_extern(name: str) -> Extern | None:
    """The extern registered under a name."""
    return _externs.get(name)


def extern_kind(name: str) -> str | None:
    """How generated code calls a registered name; None when it is not registered."""
    extern = _externs.get(name)
    return extern.kind if extern is not None else None


def _address_of(function: Any) -> int | None:
    if isinstance(function, bool):
        return None
    if isinstance(function, int):
        return function
    if isinstance(function, ctypes.c_void_p):
        return function.value or 0
    if isinstance(function, _C_FUNCTION):
        return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
    if type(function).__module__.startswith("_cffi_backend"):
        return int(importlib.import_module("cffi").FFI().cast("intptr_t", function))
    address = getattr(function, "address", None)
    return address if isinstance(address, int) else None


_pending: dict[int, tuple[BaseException, Sequence[Any]]] = {}
_tickets = itertools.count(1)
_lock = new_lock()
_PENDING_LIMIT = 64


def keep_exception(error: BaseException, memory: Sequence[Any] = ()) -> int:
    """Store an exception and return its (negative) code. `memory` is the borrowed memory of the
    callback that views may still refer to, or None.
    """
    code = -(next(_tickets) % (1 << 30) + 1)
    with _lock:
        _pending[code] = error, memory
        while len(_pending) > _PENDING_LIMIT:  # those of threads whose error was not the first
            _pending.pop(next(iter(_pending)))
    return code


def take_exception(code: int) -> tuple[BaseException, Sequence[Any]]:
    """The exception of a callback, and the memory stored with it; for a callback that was
    interrupted before it could report, the interruption.
    """
    stopped = KeyboardInterrupt("a callback of compiled code was stopped before it began")
    with _lock:
        return _pending.pop(code, (stopped, ()))
