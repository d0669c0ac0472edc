"""Names of modules and methods of classes that are loaded at their first use.

A place is a text, "module" or "module:attribute". Must not know what is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from te_sched.garbage import garbage_kept
from te_sched.locks import new_reentrant_lock

_LOADING = new_reentrant_lock()
_PATIENCE = 5.0  # seconds


def load(path: str) -> Any:
    """The module or the attribute of a module at a place.

    >>> load("math:pi") == load("math").pi
    True
    """
    module, _, attribute = path.partition(":")
    loaded = _imported(module)
    return getattr(loaded, attribute) if attribute else loaded


def _imported(module: str) -> ModuleType:
    """A module, loaded by one thread at a time: threads that enter a cycle of imports at different
    modules would get parts of them. A thread whose import statement waits for another thread may
    keep the lock from it, so that none waits for long.
    """
    loaded = sys.modules.get(module)
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return loaded
    is_alone = _LOADING.acquire(timeout=_PATIENCE)
    try:
        with garbage_kept():  # modules stay
            return import_module(module)
    finally:
        if is_alone:
            _LOADING.release()


def lazy_module(name: str) -> ModuleType:
    """A module that is loaded when one of its attributes is read.

    >>> lazy_module("math").gcd(12, 8)
    4
    """
    module = ModuleType(name)
    vars(module)["__getattr__"] = lambda attribute: getattr(load(name), attribute)
    return module


def set_lazy_names(
    module: ModuleType,
    places: Mapping[str, str],
    convert: Callable[[Any], Any] = lambda value: value,
) -> None:
    """Give a module names that it loads at their first use, then converts and keeps."""

    def load_name(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        value = convert(load(places[name]))
        setattr(module, name, value)
        return value

    vars(module).update(__getattr__=load_name, _lazy_names=tuple(places))


def submodule(module: ModuleType, name: str) -> ModuleType | None:
    """The module of a name in a package, which is loaded; None if there is none.

    >>> import json
    >>> submodule(json, "tool").__name__, submodule(json, "absent"), submodule(load("math"), "pi")
    ('json.tool', None, None)
    """
    full_name, path = f"{module.__name__}.{name}", getattr(module, "__path__", None)
    if path is None or PathFinder.find_spec(full_name, path) is None:
        return None
    return _imported(full_name)


def lazy_function(path: str, summary: str = "") -> Callable[..., Any]:
    """A function or method, with a docstring, that loads the function at a place when it is called.

    >>> lazy_function("math:gcd")(12, 8)
    4
    """

    def function(*args: Any, **options: Any) -> Any:
        return load(path)(*args, **options)

    function.__doc__ = summary
    return function
