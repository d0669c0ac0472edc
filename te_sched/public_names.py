"""The names of modules that users use: what `dir` and completion show, and `__all__`.

Must not know the modules.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any


def list_names(
    module: ModuleType, *more: str, late: Iterable[str] = (), home: str = "te_sched"
) -> None:
    """Set `__all__` of a module: its public names, no modules, and `more`. Classes and functions
    are from modules of the package `home`.

    Type checkers treat names imported `as` themselves as public. `dir` and completion list these
    and the names that the module loads `late`.
    """
    members = vars(module).items()
    public = [name for name, value in members if name[0] != "_" and _is_from(home, value)]
    vars(module)["__all__"] = sorted({*more, *public})
    _set_dir(module, late)


def show_names(module: ModuleType, *submodules: str) -> None:
    """Let `dir` and completion show the names of `__all__`, or those that the module defines, those
    that it loads late, and `submodules`, unless the module has listed them.
    """
    if "__dir__" in vars(module):
        return
    late = (*vars(module).get("_lazy_names", ()), *submodules)
    if "__all__" in vars(module):
        _set_dir(module, late)
    else:
        list_names(module, late=late, home=module.__name__)


def _set_dir(module: ModuleType, late: Iterable[str]) -> None:
    special = [name for name in vars(module) if name.startswith("__")]
    shown = sorted({*vars(module)["__all__"], *late, *special})
    vars(module)["__dir__"] = lambda: list(shown)


def _is_from(home: str, value: Any) -> bool:
    """Whether a value of a module is from a package or a constant, and not a module."""
    if isinstance(value, ModuleType | type(annotations)):
        return False
    module_name = getattr(value, "__module__", None)
    is_constant = not isinstance(module_name, str)
    return home == "te_sched" if is_constant else f"{module_name}.".startswith(f"{home}.")
