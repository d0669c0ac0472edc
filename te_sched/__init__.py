"""te_sched: TVM's legacy tensor-expression schedules on today's Python.

`import te_sched as tvm` is enough for a program that declares, schedules, lowers, builds and runs:
the names are TVM's. What needs LLVM is loaded when it is first used.
"""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from te_sched import ir, nd, runtime, target, te, testing, tir, transform
from te_sched.config import SELF as config
from te_sched.driver import build
from te_sched.errors import (
    AccessError,
    BuildError,
    CallError,
    DeclarationError,
    InternalError,
    LoweringError,
    ScheduleError,
    TeSchedError,
)
from te_sched.errors import TeSchedError as TVMError
from te_sched.ir.expr import IterVar
from te_sched.ir.stmt import IRModule
from te_sched.lower.pipeline import lower  # takes the place of the package of this name
from te_sched.runtime import (
    DataType,
    cl,
    cpu,
    cuda,
    device,
    emulated_cuda,
    ext_dev,
    get_global_func,
    gpu,
    hexagon,
    metal,
    mtl,
    opencl,
    register_extern,
    register_func,
    rocm,
    vpi,
    vulkan,
)
from te_sched.tir import Range
from te_sched.views.notebook import install as _install_views
from te_sched.whole_tensors import give_operators as _give_operators

if TYPE_CHECKING:
    from te_sched.story.explaining import explain as explain

__version__ = "0.1.0"

__all__ = [
    "AccessError",
    "BuildError",
    "CallError",
    "DataType",
    "DeclarationError",
    "IRModule",
    "InternalError",
    "IterVar",
    "LoweringError",
    "Range",
    "ScheduleError",
    "TVMError",
    "TeSchedError",
    "build",
    "cl",
    "config",
    "cpu",
    "cuda",
    "device",
    "emulated_cuda",
    "ext_dev",
    "get_global_func",
    "gpu",
    "hexagon",
    "ir",
    "lower",
    "metal",
    "mtl",
    "nd",
    "opencl",
    "register_extern",
    "register_func",
    "rocm",
    "runtime",
    "target",
    "te",
    "testing",
    "tir",
    "transform",
    "vpi",
    "vulkan",
]

_give_operators()
_install_views()

# Modules that are loaded when a program asks for them.
_LATE = {
    "compat": "te_sched.compat",
    "contrib": "te_sched.contrib",
    "error": "te_sched.errors",
    "topi": "te_sched.topi",
}
# Functions that are, too: the tools that show what a schedule does.
_LATE_FUNCTIONS = {"explain": "te_sched.story.explaining"}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return importlib.import_module(_LATE[name])
    if name in _LATE_FUNCTIONS:
        return getattr(importlib.import_module(_LATE_FUNCTIONS[name]), name)
    raise AttributeError(_advice("te_sched", name))


def _advice(module: str, name: str) -> str:
    """What to say of a name that is absent."""
    return str(importlib.import_module("te_sched.compat.absent").message(module, name))


def _tell_of_absent_names(module: ModuleType) -> None:
    """Let the error for a name that a module does not have say what there is instead."""
    own = vars(module).get("__getattr__")

    def find(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                pass
        if name.startswith("__"):  # of Python, which asks every module for some
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        raise AttributeError(_advice(module.__name__, name))

    vars(module)["__getattr__"] = find


for _module in (ir, nd, runtime, target, te, testing, tir, transform):
    _tell_of_absent_names(_module)
