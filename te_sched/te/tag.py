"""The tag scope: a tag for every operation declared inside. Must not know operations."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import TagError, repr_of

_CURRENT: ContextVar[str | None] = ContextVar("tag", default=None)


class TagScope:
    """`with te.tag_scope("tag"):`, or a decorator of a function that declares operations.

    >>> te.tag_scope("mine")
    te.tag_scope('mine')
    """

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._token: Token[str | None] | None = None

    def __repr__(self) -> str:
        return f"te.tag_scope({self.tag!r})"

    def __enter__(self) -> TagScope:
        if _CURRENT.get() is not None:
            raise TagError(
                f"tag scope {repr_of(self.tag)} is nested in tag scope {_CURRENT.get()!r}",
                "an operation has one tag",
                "leave the outer scope first",
            )
        self._token = _CURRENT.set(self.tag)
        return self

    def __exit__(self, *_: object) -> None:
        if self._token is not None:
            _CURRENT.reset(self._token)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def tagged(*args: Any, **kwargs: Any) -> Any:
            with TagScope(self.tag):
                return function(*args, **kwargs)

        return tagged


def tag_scope(tag: str) -> TagScope:
    """Tag the operations declared in a `with` block or in a decorated function.

    >>> with te.tag_scope("mine"):
    ...     B = te.compute((4,), lambda i: i, name="B")
    >>> B.op.tag
    'mine'
    """
    return TagScope(tag)


def tag_or_current(tag: str) -> str:
    """The tag of an operation: its own or that of the scope, never both."""
    current = _CURRENT.get()
    if current is not None and tag:
        raise TagError(
            f"tag {repr_of(tag)} is given inside tag scope {current!r}",
            "an operation has one tag",
            "leave out one of the two",
        )
    return tag if current is None else current


_tell_of_absent_names(__name__)
