"""The members of classes that users use: what `dir` and completion show, and te_sched's errors for
attributes and items that objects lack.

Must not know the classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, NoReturn

from te_sched.errors import AbsentNameError, DeclarationError, OperandError, did_you_mean, listing


class PublicMembers:
    """Base of classes of whose objects `dir` shows the members that users use; the modules of
    te_sched also use those that `_internal_members` names, and those that begin with `_`.
    """

    __slots__ = ()
    _internal_members: ClassVar[tuple[str, ...]] = ()

    def __dir__(self) -> list[str]:
        return _public(type(self), super().__dir__())


class PublicObject(PublicMembers):
    """Base of classes of which users hold objects: an attribute that an object lacks is te_sched's
    error, with the nearest name; so is an index of an object without items.

    Python before 3.12 reads attributes of these objects more slowly. Classes whose attributes
    te_sched reads very often (nodes of expressions and statements, arrays, compiled functions,
    analyzers) are `PublicMembers` alone; for them, Python suggests the nearest name.

    >>> class Counter(PublicObject):
    ...     count = 1
    >>> try:
    ...     Counter().cuont
    ... except AttributeError as error:
    ...     print(error.help)
    use an attribute that exists (did you mean 'count'?)
    """

    __slots__ = ()
    _public_name: ClassVar[str] = ""  # in errors, if it is not that of the class
    _advice_for_items: ClassVar[str] = ""  # the help for an index, if objects have no items

    if not TYPE_CHECKING:  # type checkers then still refuse unknown attributes

        def __getattr__(self, name: str) -> NoReturn:
            refuse_attribute(self, name)

        # Python iterates with it, too; `__iter__` would make the objects `Iterable`.
        def __getitem__(self, index: object) -> NoReturn:
            fault = f"{_shown(type(self))!r} object cannot be indexed or iterated"
            raise OperandError(fault, "", lambda: self._advice_for_items or _listed(self))

    def _advice_for(self, name: str) -> str:
        """The help for an attribute that the object lacks, or ""."""
        return ""


class Unbuilt:
    """Base of programs and schedules, which are built before they are called."""

    __slots__ = ()

    def _refusal_of_calls(self) -> tuple[str, str, str]:
        """The fault, the reason and the help of the error of a call."""
        raise NotImplementedError

    if not TYPE_CHECKING:  # type checkers then refuse calls

        def __call__(self, *args: object, **named: object) -> NoReturn:
            raise OperandError(*self._refusal_of_calls())


def is_function(value: object) -> bool:
    """Whether a value can be called; programs and schedules cannot.

    >>> is_function(len), is_function(Unbuilt())
    (True, False)
    """
    return callable(value) and not isinstance(value, Unbuilt)


def refuse_attribute(owner: PublicObject, name: str) -> NoReturn:
    """AbsentNameError for an attribute that an object lacks; Python's own error for names that
    begin with `_`, which Python and notebooks look for, and for attributes that the class has: a
    property that failed, a slot that is empty.

    The help is worked out when the error is shown: `hasattr` does not need it.
    """
    kind = type(owner)
    if name[:1] == "_" or hasattr(kind, name):
        object.__getattribute__(owner, name)
    fault = f"{_shown(kind)!r} object has no attribute {name!r}"
    raise AbsentNameError(fault, "", lambda: _advice(owner, name))


def _advice(owner: PublicObject, name: str) -> str:
    near = did_you_mean(name, _members(owner))
    general = f"use an attribute that exists{near}" if near else _listed(owner)
    return owner._advice_for(name) or general


def _shown(kind: type[PublicObject]) -> str:
    return kind._public_name or kind.__name__


def _members(owner: PublicObject) -> list[str]:
    return [member for member in dir(owner) if member[0] != "_"]


def _listed(owner: PublicObject) -> str:
    return f"use one of {listing(_members(owner))}"


def advice_elsewhere(name: str, places: Iterable[tuple[object, str]]) -> str:
    """The advice to take an attribute from another object, or "".

    `places` are the objects that may have it, or their classes, with the expressions of them.

    >>> advice_elsewhere("upper", [(1, "number"), ("a", "text")])
    'use text.upper'
    """
    return next((f"use {text}.{name}" for owner, text in places if hasattr(owner, name)), "")


class _Listing(type):
    """The class of classes with `PublicClass`. It makes `isinstance` slower."""

    def __dir__(cls) -> list[str]:
        return _public(cls, super().__dir__())


class PublicClass(PublicMembers, metaclass=_Listing):
    """`dir` of the class itself shows the members that users use.

    >>> class Counter(PublicClass):
    ...     _internal_members = ("step",)
    ...     count = step = 1
    >>> [name for name in dir(Counter) if name[0] != "_"]
    ['count']
    """

    __slots__ = ()


def public_members(kind: type) -> list[str]:
    """The members of a class that users use."""
    return [name for name in _public(kind, dir(kind)) if name[0] != "_"]


def _public(kind: type, names: Iterable[str]) -> list[str]:
    """The names without internal ones and without private ones; special ones of Python stay."""
    hidden = {name for base in kind.__mro__ for name in vars(base).get("_internal_members", ())}
    return [name for name in names if name not in hidden and (name[0] != "_" or name[:2] == "__")]


def missing_method(owner: object, method: str) -> DeclarationError:
    """The error of a method that a class of the user must have."""
    name = type(owner).__name__
    return DeclarationError(f"{name} has no method {method}", "", f"write {method} in {name}")
