"""tvm.auto_scheduler: functions that declare workloads, registered by name.

A workload key is JSON, ["name", arguments...]. Nothing searches with them:
`te_sched.tune` takes the function and its arguments.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import DeclarationError, repr_of

__all__ = ["make_workload_key", "register_workload", "workload_key_to_tensors"]

_WORKLOADS: dict[str, Callable[..., Any]] = {}


def register_workload(
    func_name: str | Callable[..., Any],
    f: Callable[..., Any] | None = None,
    override: bool = False,
) -> Any:
    """Register a function that declares tensors; a decorator, with or without a name.

    >>> @register_workload("example.vector", override=True)
    ... def vector(n):
    ...     return [n]
    >>> workload_key_to_tensors('["example.vector", 4]')
    [4]
    """
    if callable(func_name):
        return register_workload(func_name.__name__, func_name, override)
    if f is None:
        return lambda decorated: register_workload(func_name, decorated, override)
    if func_name in _WORKLOADS and not override:
        raise DeclarationError(
            f"workload {func_name!r} is registered already", "", "pass override=True to replace it"
        )
    _WORKLOADS[func_name] = f
    return f


def make_workload_key(func: str | Callable[..., Any], args: Sequence[Any]) -> str:
    """The key of a registered function with arguments.

    >>> found = register_workload("example.pair", lambda n, shape: [], override=True)
    >>> make_workload_key("example.pair", (3, (4, 5)))
    '["example.pair", 3, [4, 5]]'
    """
    name = str(getattr(func, "__name__", func))
    if name not in _WORKLOADS and callable(func):
        name = next(
            (workload_key for workload_key, function in _WORKLOADS.items() if function is func),
            name,
        )
    _workload(name)
    return json.dumps([name, *args])


def workload_key_to_tensors(workload_key: str) -> Any:
    """The tensors that a workload key declares."""
    try:
        name, *args = json.loads(workload_key)
    except (ValueError, TypeError, RecursionError) as error:
        raise DeclarationError(
            f"{repr_of(workload_key)} is not a workload key",
            f"{type(error).__name__}: {error}",
            "give what make_workload_key returned",
        ) from None
    return _workload(name)(*[tuple(arg) if isinstance(arg, list) else arg for arg in args])


def _workload(name: Any) -> Callable[..., Any]:
    workload = _WORKLOADS.get(name)
    if workload is None:
        raise DeclarationError(
            f"workload {repr_of(name)} is not registered",
            "",
            "decorate its function with auto_scheduler.register_workload",
        )
    return workload
