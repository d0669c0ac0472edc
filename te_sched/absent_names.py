"""Errors of modules about names that they do not have: alternatives, and the nearest name.

Must not know the names; the table is that of `te_sched.compat`, which is loaded for an error alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from te_sched.lazy_loading import load, submodule
from te_sched.public_names import show_names


class _LastFinder(MetaPathFinder):
    """Refuses imports of modules of te_sched that no other finder has found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        if not fullname.startswith("te_sched."):
            return
        package = sys.modules.get(fullname.rpartition(".")[0])
        folders = getattr(package, "__path__", None)
        # pytest asks each finder with folders of its own
        if folders is not None and PathFinder.find_spec(fullname, folders) is None:
            raise load("te_sched.compat.absent:absent_module")(fullname, dir(package))


def tell_of_absent_modules() -> None:
    """Add the alternatives to the errors of imports of modules that te_sched does not have."""
    sys.meta_path.append(_LastFinder())


def tell_of_absent_names(name: str, *submodules: str) -> None:
    """Add the alternatives to the errors for names that a module does not have; a package loads its
    submodules at their first use. `dir` shows the public names of the module, and `submodules`.
    """
    module = sys.modules[name]
    own = vars(module).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        if name.startswith("__") or name == "_mock_name":  # Python and pytest ask every module
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        below = submodule(module, name)
        if below is not None:
            return below
        public = {*vars(module).get("__all__", ()), *dir(module)}
        names = sorted([candidate for candidate in public if not candidate.startswith("_")])
        raise load("te_sched.compat.absent:absent_name")(module.__name__, name, names)

    vars(module)["__getattr__"] = __getattr__
    show_names(module, *submodules)
