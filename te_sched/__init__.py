"""te_sched: TVM's legacy tensor-expression schedules on today's Python.

`import te_sched as tvm` is enough for a program that declares, schedules, lowers, builds and runs:
the names are TVM's. What needs LLVM is loaded when it is first used.
"""

from te_sched import config, nd, runtime, target, te, testing, tir
from te_sched.driver import build
from te_sched.errors import (
    BuildError,
    CallError,
    DeclarationError,
    InternalError,
    LoweringError,
    ScheduleError,
    TeSchedError,
)
from te_sched.ir.expr import IterVar, Range
from te_sched.ir.stmt import IRModule
from te_sched.lower.pipeline import lower  # takes the place of the package of this name
from te_sched.runtime import (
    cpu,
    device,
    get_global_func,
    register_extern,
    register_func,
)

__version__ = "0.1.0"

__all__ = [
    "BuildError",
    "CallError",
    "DeclarationError",
    "IRModule",
    "InternalError",
    "IterVar",
    "LoweringError",
    "Range",
    "ScheduleError",
    "TeSchedError",
    "build",
    "config",
    "cpu",
    "device",
    "get_global_func",
    "lower",
    "nd",
    "register_extern",
    "register_func",
    "runtime",
    "target",
    "te",
    "testing",
    "tir",
]
