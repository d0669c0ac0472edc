"""Errors of modules and objects about names that they do not have: alternatives, and the nearest
name.

Must not know the names; the table is that of `te_sched.compat`, which is loaded for an error alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from te_sched.errors import AbsentNameError, did_you_mean
from te_sched.lazy_loading import load, submodule
from te_sched.public_names import show_names


def tell_of_absent_names(name: str) -> None:
    """Add the alternatives to the errors for names that a module does not have; a package loads its
    submodules at their first use. `dir` shows the public names of the module.
    """
    module = sys.modules[name]
    own = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        if name.startswith("__"):  # Python looks up some in every module
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        below = submodule(module, name)
        if below is not None:
            return below
        public = {*vars(module).get("__all__", ()), *dir(module)}
        known = sorted([one for one in public if not one.startswith("_")])
        raise load("te_sched.compat.absent:absent_name")(module.__name__, name, known)

    vars(module)["__getattr__"] = __getattr__
    show_names(module)


def absent_attribute(
    kind: type,
    name: str,
    elsewhere: Iterable[tuple[object, str]],
    shown: str = "",
    own: Iterable[str] = (),
) -> AttributeError:
    """The error for an attribute that a class lacks; it names the object that has the attribute.

    `elsewhere` has objects, or classes of them, with the expressions that give them; `shown` is
    the public name of the class, `own` has attributes of the object besides those of its class.
    """
    fault = f"{shown or kind.__name__!r} object has no attribute {name!r}"
    if name.startswith("_"):  # notebooks look for many of these
        return AttributeError(fault)
    for owner, text in elsewhere:
        if hasattr(owner, name):
            return AbsentNameError(fault, "", f"use {text}.{name}")
    legal = [one for one in (*dir(kind), *own) if not one.startswith("_")]
    return AbsentNameError(fault, "", f"use an attribute that exists{did_you_mean(name, legal)}")
