"""The display of objects by methods that `te_sched.views` registers by the names of classes.

A class may be defined before or after its methods are registered: `te_sched.views` loads no class.
Must not know pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any

from te_sched.public_members import PublicClass, PublicObject

Methods = Mapping[str, Callable[..., Any]]
_METHODS: dict[str, Methods] = {}
_CLASSES: dict[str, type] = {}


def register_methods(class_name: str, methods: Methods) -> None:
    """Give methods to the class of a dotted name, now or when it is defined."""
    _METHODS[class_name] = methods
    if class_name in _CLASSES:
        _set_methods(_CLASSES[class_name], methods)


def _set_methods(kind: type, methods: Methods) -> None:
    for name, method in methods.items():
        documented = vars(kind).get(name)
        if documented is not None and documented is not method:
            update_wrapper(method, documented)
        setattr(kind, name, method)


class Shown(PublicClass, PublicObject):
    """Base class of objects whose display `te_sched.views` registers.

    A notebook shows them as HTML if such a method is registered.
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name = f"{cls.__module__}.{cls.__qualname__}"
        if name.startswith("te_sched."):
            _CLASSES[name] = cls
            _set_methods(cls, _METHODS.get(name, {}))

    def _repr_html_(self) -> str | None:
        return None
