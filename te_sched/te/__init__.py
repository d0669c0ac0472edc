"""Declaring: tensors, axes, reductions, and the functions of their elements.

`create_schedule` and the classes of schedules are found here too, as in TVM; they are loaded when
first used, since schedules are built on declarations and not the other way round.
"""

import sys
import typing

from te_sched import lazy_loading, public_names
from te_sched import signatures as _signatures
from te_sched.ir.index_map import AXIS_SEPARATOR as AXIS_SEPARATOR
from te_sched.ir.intrinsics import abs as abs
from te_sched.ir.intrinsics import acos as acos
from te_sched.ir.intrinsics import acosh as acosh
from te_sched.ir.intrinsics import all as all
from te_sched.ir.intrinsics import any as any
from te_sched.ir.intrinsics import asin as asin
from te_sched.ir.intrinsics import asinh as asinh
from te_sched.ir.intrinsics import atan as atan
from te_sched.ir.intrinsics import atan2 as atan2
from te_sched.ir.intrinsics import atanh as atanh
from te_sched.ir.intrinsics import ceil as ceil
from te_sched.ir.intrinsics import clz as clz
from te_sched.ir.intrinsics import copysign as copysign
from te_sched.ir.intrinsics import cos as cos
from te_sched.ir.intrinsics import cosh as cosh
from te_sched.ir.intrinsics import erf as erf
from te_sched.ir.intrinsics import exp as exp
from te_sched.ir.intrinsics import exp2 as exp2
from te_sched.ir.intrinsics import exp10 as exp10
from te_sched.ir.intrinsics import fabs as fabs
from te_sched.ir.intrinsics import floor as floor
from te_sched.ir.intrinsics import fmod as fmod
from te_sched.ir.intrinsics import hypot as hypot
from te_sched.ir.intrinsics import if_then_else as if_then_else
from te_sched.ir.intrinsics import infinity as infinity
from te_sched.ir.intrinsics import isfinite as isfinite
from te_sched.ir.intrinsics import isinf as isinf
from te_sched.ir.intrinsics import isnan as isnan
from te_sched.ir.intrinsics import ldexp as ldexp
from te_sched.ir.intrinsics import likely as likely
from te_sched.ir.intrinsics import log as log
from te_sched.ir.intrinsics import log1p as log1p
from te_sched.ir.intrinsics import log2 as log2
from te_sched.ir.intrinsics import log10 as log10
from te_sched.ir.intrinsics import max_value as max_value
from te_sched.ir.intrinsics import min_value as min_value
from te_sched.ir.intrinsics import nearbyint as nearbyint
from te_sched.ir.intrinsics import nextafter as nextafter
from te_sched.ir.intrinsics import not_ as not_
from te_sched.ir.intrinsics import popcount as popcount
from te_sched.ir.intrinsics import pow as pow
from te_sched.ir.intrinsics import power as power
from te_sched.ir.intrinsics import reinterpret as reinterpret
from te_sched.ir.intrinsics import round as round
from te_sched.ir.intrinsics import rsqrt as rsqrt
from te_sched.ir.intrinsics import select as select
from te_sched.ir.intrinsics import sigmoid as sigmoid
from te_sched.ir.intrinsics import sin as sin
from te_sched.ir.intrinsics import sinh as sinh
from te_sched.ir.intrinsics import sqrt as sqrt
from te_sched.ir.intrinsics import tan as tan
from te_sched.ir.intrinsics import tanh as tanh
from te_sched.ir.intrinsics import trunc as trunc
from te_sched.ir.ops import add as add
from te_sched.ir.ops import bitwise_and as bitwise_and
from te_sched.ir.ops import bitwise_not as bitwise_not
from te_sched.ir.ops import bitwise_or as bitwise_or
from te_sched.ir.ops import bitwise_xor as bitwise_xor
from te_sched.ir.ops import ceildiv as ceildiv
from te_sched.ir.ops import div as div
from te_sched.ir.ops import floordiv as floordiv
from te_sched.ir.ops import floormod as floormod
from te_sched.ir.ops import multiply as multiply
from te_sched.ir.ops import shift_left as shift_left
from te_sched.ir.ops import shift_right as shift_right
from te_sched.ir.ops import subtract as subtract
from te_sched.ir.ops import truncdiv as truncdiv
from te_sched.ir.ops import truncmod as truncmod
from te_sched.te import sympy_door
from te_sched.te.autodiff import gradient as gradient
from te_sched.te.declare import compute as compute
from te_sched.te.declare import const as const
from te_sched.te.declare import placeholder as placeholder
from te_sched.te.declare import reduce_axis as reduce_axis
from te_sched.te.declare import size_var as size_var
from te_sched.te.declare import thread_axis as thread_axis
from te_sched.te.declare import var as var
from te_sched.te.extern import extern as extern
from te_sched.te.intrin_call import TensorComputeOp as TensorComputeOp
from te_sched.te.intrin_call import TensorIntrin as TensorIntrin
from te_sched.te.operation import ComputeOp as ComputeOp
from te_sched.te.operation import ExternOp as ExternOp
from te_sched.te.operation import HybridOp as HybridOp
from te_sched.te.operation import Operation as Operation
from te_sched.te.operation import PlaceholderOp as PlaceholderOp
from te_sched.te.operation import ScanOp as ScanOp
from te_sched.te.reducer import Reducer as Reducer
from te_sched.te.reducer import comm_reducer as comm_reducer
from te_sched.te.reducer import max as max
from te_sched.te.reducer import min as min
from te_sched.te.reducer import prod as prod
from te_sched.te.reducer import sum as sum
from te_sched.te.scan import scan as scan
from te_sched.te.tag import TagScope as TagScope
from te_sched.te.tag import tag_scope as tag_scope
from te_sched.te.tensor import Tensor as Tensor
from te_sched.te.tensor import TensorSlice as TensorSlice
from te_sched.te.tensor_intrin import decl_tensor_intrin as decl_tensor_intrin

if typing.TYPE_CHECKING:  # see _LATE
    from te_sched.lowering.prim_func import create_prim_func as create_prim_func
    from te_sched.schedule import Schedule as Schedule
    from te_sched.schedule import Stage as Stage
    from te_sched.schedule import create_schedule as create_schedule
    from te_sched.te import hybrid as hybrid

indexdiv = floordiv
indexmod = floormod
sympy_door.open_door()

# What is loaded at its first use.
_LATE = {
    "Schedule": "te_sched.schedule:Schedule",
    "Stage": "te_sched.schedule:Stage",
    "create_prim_func": "te_sched.lowering.prim_func:create_prim_func",
    "create_schedule": "te_sched.schedule:create_schedule",
    "hybrid": "te_sched.te.hybrid",
}
_ADVICE = "te_sched.schedule.schedule:advice_for_declaration"
lazy_loading.set_lazy_names(sys.modules[__name__], _LATE)
public_names.list_names(sys.modules[__name__], late=_LATE)
_signatures.bind_functions(sys.modules[__name__])

for _kind in (Tensor, Operation):
    setattr(_kind, "_advice_for", lazy_loading.lazy_function(_ADVICE))  # noqa: B010
