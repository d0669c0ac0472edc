"""Modules named tvm with te_sched's names, and the finder that imports them.

Owns sys.modules["tvm"] and what is below it between `install` and `uninstall`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from te_sched.compat.absent import AbsentName, absent_module, absent_name
from te_sched.compat.names import OPEN, TREE, Alias
from te_sched.errors import TeSchedError, show_words_of_tvm

_ROOTS = ("tvm", "topi")  # until 0.6 the operators were a package of their own


class AliasModule(ModuleType):
    """A module of tvm whose names are resolved at their first use."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return sorted(one for one in dir(self) if not one.startswith("_"))
        place = _place_of(self.__name__)
        assert place is not None
        found = _look_up(place, name)
        if found is _NOTHING:
            known = [] if name.startswith("__") else dir(self)
            raise absent_name(self.__name__, name, known)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        place = _place_of(self.__name__)
        assert place is not None
        alias = _alias_at(place)
        below = [
            name.rpartition(".")[2] for name in TREE if name and name.rpartition(".")[0] == place
        ]
        faces = [
            name
            for face in alias.faces
            if _exists(face)
            for name in _public(importlib.import_module(face))
        ]
        return sorted({*super().__dir__(), *alias.names, *below, *faces})


_NOTHING = object()


def _look_up(place: str, name: str) -> Any:
    """The value of a name in a module of the tree."""
    alias = _alias_at(place)
    if name in alias.names:
        module, _, attribute = alias.names[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    if name.startswith("__"):
        return _NOTHING
    below = f"{place}.{name}" if place else name
    if below in TREE and _is_module(below):
        return _module_at(below)
    for face in alias.faces:
        found = (
            getattr(importlib.import_module(face), name, _NOTHING) if _exists(face) else _NOTHING
        )
        if isinstance(found, ModuleType) and _is_module(below):
            return _module_at(below)
        if found is not _NOTHING:  # a function may have the name of its module
            return found
    if _is_module(below):
        return _module_at(below)
    return AbsentName(f"tvm.{place}", name) if alias.is_absent else _NOTHING


def _module_at(place: str) -> ModuleType:
    full = f"tvm.{place}"
    return importlib.import_module(full) if is_installed() else AliasModule(full)


def _public(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", ()))


def _place_of(module: str) -> str | None:
    """The position of a module in the tree: "te" for tvm.te, "topi.nn" for topi.nn."""
    root, _, rest = module.partition(".")
    if root == "topi":
        return module
    return rest if root == "tvm" else None


def _alias_at(place: str) -> Alias:
    """The module at a position, for which `_is_module` holds."""
    return TREE[place] if place in TREE else Alias((f"te_sched.{place}",))


def _is_module(place: str) -> bool:
    if place in TREE:
        return all(_exists(face) for face in TREE[place].faces)
    root = place.partition(".")[0]
    return root in OPEN and root != place and _exists(f"te_sched.{place}")


def _exists(module: str) -> bool:
    """Whether te_sched has a module."""
    if module in sys.modules:
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class _Finder(MetaPathFinder, Loader):
    """Finds tvm, topi, and their submodules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        place = _place_of(fullname)
        if place is None:
            return None
        if not _is_module(place):
            raise absent_module(fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return AliasModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Does nothing: names are resolved at their first use."""


_finder = _Finder()


def install() -> None:
    """Make `import tvm` in this process import te_sched, with the names of all generations.

    Raises
    ------
    TeSchedError if TVM itself is already imported.
    """
    if is_installed():
        return
    real = sys.modules.get("tvm")
    if real is not None and not isinstance(real, AliasModule):
        raise TeSchedError(
            f"TVM itself is imported already, from {getattr(real, '__file__', 'elsewhere')}",
            "te_sched cannot take its name",
            "call te_sched.compat.install() before anything imports tvm",
        )
    sys.meta_path.insert(0, _finder)
    show_words_of_tvm(True)


def uninstall() -> None:
    """Undo `install`; modules that are already imported keep working."""
    if is_installed():
        sys.meta_path.remove(_finder)
        show_words_of_tvm(False)
    for name in [name for name, one in sys.modules.items() if isinstance(one, AliasModule)]:
        del sys.modules[name]


def is_installed() -> bool:
    """Whether `import tvm` imports te_sched."""
    return _finder in sys.meta_path
