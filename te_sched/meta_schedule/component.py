"""What the exchangeable parts of a search have in common: creation by name, a context, copies.

A part is a space generator, a schedule rule, a postprocessor, a mutator, a search strategy, a cost
model, ...; users derive their own from the base class of its kind. Must not know any kind.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Self, TypeVar

from te_sched.errors import DeclarationError, did_you_mean, repr_of
from te_sched.public_members import PublicObject

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext

T = TypeVar("T")


class Component(PublicObject):
    """A part of a search."""

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """Take from the context what the part needs: module, target, random state, threads."""

    def clone(self) -> Self:
        """A copy that another task uses, without what this one has learned of its task."""
        return copy.copy(self)

    def __str__(self) -> str:
        return f"meta_schedule.{type(self).__name__}({id(self):#x})"


def not_written(part: Component, base: str, method: str) -> DeclarationError:
    """The error of a method that a class of the user must have.

    Parameters
    ----------
    base : TVM's name of the class to derive from.
    method : the method as users write it.
    """
    words = "".join(word.capitalize() for word in method.strip("_").split("_"))
    return DeclarationError(
        f"class {type(part).__name__} has no method {method}",
        f"a {base} needs it",
        f"define {method} in {type(part).__name__}",
        in_tvm=f"{base}'s {words} method not implemented!",
    )


def named(kind: str, choices: Mapping[str, Any], choice: object) -> Any:
    """One of several choices by its name.

    Raises
    ------
    DeclarationError for another name.
    """
    if isinstance(choice, str) and choice in choices:
        return choices[choice]
    legal = ", ".join(map(repr, choices))
    raise DeclarationError(
        f"{repr_of(choice)} is not a {kind}",
        "",
        f"use one of {legal}{did_you_mean(choice, choices)}",
    )


def made(
    base: type[T],
    kind: str,
    choices: Mapping[str, Any],
    choice: object,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> T:
    """A part of a search, by the name of its class and the arguments that this takes; a part of
    class `base` is returned as it is.

    Raises
    ------
    DeclarationError for another name, or for other arguments.
    """
    if isinstance(choice, base):
        return choice
    chosen = named(kind, choices, choice)
    try:
        signature(chosen).bind(*args, **kwargs)
    except TypeError as error:
        raise DeclarationError(
            f"cannot make the {kind} {choice!r}: {error}",
            "",
            f"make it as {chosen.__name__}(...), and give that instead of its name",
        ) from None
    component: T = chosen(*args, **kwargs)
    return component
