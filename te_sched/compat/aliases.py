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
            return sorted(member for member in dir(self) if not member.startswith("_"))
        module_path = _place_of(self.__name__)
        assert module_path is not None
        value = _look_up(module_path, name)
        if value is _NOTHING:
            names = [] if name.startswith("__") else dir(self)
            raise absent_name(self.__name__, name, names)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        module_path = _place_of(self.__name__)
        assert module_path is not None
        alias = _alias_at(module_path)
        below = [
            name.rpartition(".")[2]
            for name in TREE
            if name and name.rpartition(".")[0] == module_path
        ]
        faces = [
            name
            for face in alias.faces
            if _exists(face)
            for name in _public(importlib.import_module(face))
        ]
        return sorted({*super().__dir__(), *alias.names, *below, *faces})


_NOTHING = object()


def _look_up(module_path: str, name: str) -> Any:
    """The value of a name in a module of the tree."""
    alias = _alias_at(module_path)
    if name in alias.names:
        module, _, attribute = alias.names[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    if name.startswith("__"):
        return _NOTHING
    below = f"{module_path}.{name}" if module_path else name
    if below in TREE and _is_module(below):
        return _module_at(below)
    for face in alias.faces:
        value = (
            getattr(importlib.import_module(face), name, _NOTHING) if _exists(face) else _NOTHING
        )
        if isinstance(value, ModuleType) and _is_module(below):
            return _module_at(below)
        if value is not _NOTHING:  # a function may have the name of its module
            return value
    if _is_module(below):
        return _module_at(below)
    return AbsentName(f"tvm.{module_path}", name) if alias.is_absent else _NOTHING


def _module_at(module_path: str) -> ModuleType:
    full = f"tvm.{module_path}"
    return importlib.import_module(full) if is_installed() else AliasModule(full)


def _public(module: ModuleType) -> list[str]:
    return list(getattr(module, "__all__", ()))


def _place_of(module: str) -> str | None:
    """The position of a module in the tree: "te" for tvm.te, "topi.nn" for topi.nn."""
    root, _, rest = module.partition(".")
    if root == "topi":
        return module
    return rest if root == "tvm" else None


def _alias_at(module_path: str) -> Alias:
    """The module at a position, for which `_is_module` holds."""
    return TREE[module_path] if module_path in TREE else Alias((f"te_sched.{module_path}",))


def _is_module(module_path: str) -> bool:
    if module_path in TREE:
        return all(_exists(face) for face in TREE[module_path].faces)
    root = module_path.partition(".")[0]
    return root in OPEN and root != module_path and _exists(f"te_sched.{module_path}")


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
        module_path = _place_of(fullname)
        if module_path is None:
            return None
        if not _is_module(module_path):
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
    for name in [name for name, module in sys.modules.items() if isinstance(module, AliasModule)]:
        del sys.modules[name]


def is_installed() -> bool:
    """Whether `import tvm` imports te_sched."""
    return _finder in sys.meta_path
