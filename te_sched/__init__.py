"""te_sched: TVM's legacy tensor-expression schedules on today's Python.

The names are TVM's: many programs only need `import te_sched as tvm`. Importing it loads what
declares programs; schedules, lowering, TensorIR, graphs and LLVM are loaded at their first use.
"""

import sys
import types
import typing

from te_sched import absent_names, lazy_loading, public_names
from te_sched import ir as ir
from te_sched import nd as nd
from te_sched import runtime as runtime
from te_sched import signatures as _signatures
from te_sched import target as target
from te_sched import te as te
from te_sched.config import SELF as _config
from te_sched.errors import AccessError as AccessError
from te_sched.errors import BuildError as BuildError
from te_sched.errors import CallError as CallError
from te_sched.errors import DeclarationError as DeclarationError
from te_sched.errors import InternalError as InternalError
from te_sched.errors import LoweringError as LoweringError
from te_sched.errors import ScheduleError as ScheduleError
from te_sched.errors import TeSchedError as TeSchedError
from te_sched.ir.expr import IterVar as IterVar
from te_sched.ir.stmt import IRModule as IRModule
from te_sched.late_methods import give_methods as _give_methods
from te_sched.runtime import DataType as DataType
from te_sched.runtime import cl as cl
from te_sched.runtime import cpu as cpu
from te_sched.runtime import cuda as cuda
from te_sched.runtime import device as device
from te_sched.runtime import emulated_cuda as emulated_cuda
from te_sched.runtime import ext_dev as ext_dev
from te_sched.runtime import get_global_func as get_global_func
from te_sched.runtime import gpu as gpu
from te_sched.runtime import hexagon as hexagon
from te_sched.runtime import metal as metal
from te_sched.runtime import mtl as mtl
from te_sched.runtime import opencl as opencl
from te_sched.runtime import register_extern as register_extern
from te_sched.runtime import register_func as register_func
from te_sched.runtime import rocm as rocm
from te_sched.runtime import vpi as vpi
from te_sched.runtime import vulkan as vulkan
from te_sched.short_tracebacks import install as _shorten_tracebacks
from te_sched.views.notebook import install as _install_views
from te_sched.whole_tensors import give_operators as _give_operators

if typing.TYPE_CHECKING:
    from te_sched import analysis as analysis
    from te_sched import autotvm as autotvm
    from te_sched import compat as compat
    from te_sched import contrib as contrib
    from te_sched import dlight as dlight
    from te_sched import errors as error  # noqa: F401
    from te_sched import instrument as instrument
    from te_sched import meta_schedule as meta_schedule
    from te_sched import relax as relax
    from te_sched import script as script
    from te_sched import testing as testing
    from te_sched import tir as tir
    from te_sched import topi as topi
    from te_sched import transform as transform
    from te_sched.driver import build as build
    from te_sched.lowering.pipeline import lower as lower
    from te_sched.meta_schedule.tuning import tune as tune
    from te_sched.story.explaining import explain as explain
    from te_sched.tir.ranges import Range as Range

__version__ = "0.1.0"

config = _config
TVMError = TeSchedError

_give_methods()
_give_operators()
_install_views()
_shorten_tracebacks()

# What is loaded at its first use.
_LATE = {
    "Range": "te_sched.tir.ranges:Range",
    "analysis": "te_sched.analysis",
    "autotvm": "te_sched.autotvm",
    "build": "te_sched.driver:build",
    "compat": "te_sched.compat",
    "contrib": "te_sched.contrib",
    "dlight": "te_sched.dlight",
    "error": "te_sched.errors",
    "explain": "te_sched.story.explaining:explain",
    "instrument": "te_sched.instrument",
    "lower": "te_sched.lowering.pipeline:lower",
    "meta_schedule": "te_sched.meta_schedule",
    "relax": "te_sched.relax",
    "script": "te_sched.script",
    "testing": "te_sched.testing",
    "tir": "te_sched.tir",
    "topi": "te_sched.topi",
    "transform": "te_sched.transform",
    "tune": "te_sched.meta_schedule.tuning:tune",
}
lazy_loading.set_lazy_names(sys.modules[__name__], _LATE)


def _tell_of_absent_names(module: types.ModuleType) -> None:
    absent_names.tell_of_absent_names(module.__name__)


for _module in (ir, nd, runtime, target, te, sys.modules["te_sched.arith"]):
    _tell_of_absent_names(_module)
for _name in ("te_sched", "te_sched.errors"):
    absent_names.tell_of_absent_names(_name)
absent_names.tell_of_absent_modules()
_MODULES = (
    *("arith", "config", "instrument", "ir", "nd", "runtime", "target", "te", "testing", "tir"),
    "transform",
)
_FUNCTIONS = ("Range", "build", "lower")
public_names.list_names(sys.modules[__name__], *_MODULES, *_FUNCTIONS, late=_LATE)
_signatures.bind_functions(sys.modules[__name__])
