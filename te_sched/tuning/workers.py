"""Calls in worker processes under the switches of the caller, and why they fail. Must not know the
calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import partial
from typing import Any, NamedTuple, TypeVar

from te_sched import config
from te_sched.errors import WrongAnswerError
from te_sched.worker_pool import WorkerTimeoutError

_T = TypeVar("_T")


def with_switches(function: Callable[..., _T]) -> Callable[..., _T]:
    """A function that runs under the switches that are in force now, also in another process.

    >>> with te_sched.config(max_steps=7):
    ...     steps = with_switches(lambda: te_sched.config.current().max_steps)
    >>> steps()
    7
    """
    current = config.current()
    fields = dataclasses.fields(current)
    switches = {field.name: getattr(current, field.name) for field in fields}
    return partial(_call, switches, function)


def _call(switches: Mapping[str, Any], function: Callable[..., _T], *args: Any) -> _T:
    with config.scoped(**switches):
        return function(*args)


def loading(
    function: Callable[..., object], initializer: Callable[[], object] | None = None
) -> Callable[[], None]:
    """An initializer of workers: the module of a function is loaded when a worker starts, outside
    of the limits of time of calls. Then another initializer is called.
    """
    return partial(_begin, function, initializer)


def _begin(
    function: Callable[..., object], initializer: Callable[[], object] | None = None
) -> None:
    del function  # it is here, so that its module is loaded
    if initializer is not None:
        initializer()


class FailureKind(Enum):
    """How a call failed."""

    TIMEOUT = auto()
    WRONG_ANSWER = auto()
    ERROR = auto()


class Failure(NamedTuple):
    """Why a call has no result."""

    kind: FailureKind
    error: Exception

    def message(self, who: str, limit: str) -> str:
        """The failure as a line for the records of `who`, which gave it `limit` seconds."""
        if self.kind is FailureKind.TIMEOUT:
            return f"{who}: Timeout, killed after {limit} seconds"
        return f"{who}: An exception occurred\n{self.error}"


def outcome_of(call: Callable[[], _T]) -> _T | Failure:
    """The result of a call, such as `future.result` of one in a worker, or its failure. Ctrl-C is
    neither, and raised.

    >>> outcome_of(lambda: 1 // 0).kind
    <FailureKind.ERROR: 3>
    """
    try:
        return call()
    except WorkerTimeoutError as error:
        return Failure(FailureKind.TIMEOUT, error)
    except WrongAnswerError as error:
        return Failure(FailureKind.WRONG_ANSWER, error)
    except Exception as error:
        return Failure(FailureKind.ERROR, error)
