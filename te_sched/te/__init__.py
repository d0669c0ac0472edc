"""Declaring: tensors, axes, reductions, and the functions of their elements.

`create_schedule` and the classes of schedules are found here too, as in TVM; they are loaded when
first used, since schedules are built on declarations and not the other way round.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from te_sched.ir.intrinsics import (
    abs,
    acos,
    acosh,
    all,
    any,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    clz,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    exp10,
    fabs,
    floor,
    fmod,
    hypot,
    if_then_else,
    infinity,
    isfinite,
    isinf,
    isnan,
    ldexp,
    likely,
    log,
    log1p,
    log2,
    log10,
    max_value,
    min_value,
    nearbyint,
    nextafter,
    not_,
    popcount,
    pow,
    power,
    reinterpret,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)  # fmt: skip
from te_sched.ir.ops import (
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceildiv,
    div,
    floordiv,
    floormod,
    shift_left,
    shift_right,
    truncdiv,
    truncmod,
)  # fmt: skip
from te_sched.ir.ops import floordiv as indexdiv
from te_sched.ir.ops import floormod as indexmod
from te_sched.ir.ops import mul as multiply
from te_sched.ir.ops import sub as subtract
from te_sched.te import sympy_door
from te_sched.te.declare import (
    AXIS_SEPARATOR,
    compute,
    const,
    placeholder,
    reduce_axis,
    size_var,
    thread_axis,
    var,
)  # fmt: skip
from te_sched.te.extern import extern
from te_sched.te.operation import (
    ComputeOp,
    ExternOp,
    HybridOp,
    Operation,
    PlaceholderOp,
    ScanOp,
)  # fmt: skip
from te_sched.te.reducer import Reducer, comm_reducer, max, min, prod, sum
from te_sched.te.scan import scan
from te_sched.te.tag import TagScope, tag_scope
from te_sched.te.tensor import Tensor, TensorSlice
from te_sched.te.tensor_intrin import TensorIntrin, decl_tensor_intrin

if TYPE_CHECKING:  # see __getattr__
    from te_sched.schedule import Schedule as Schedule
    from te_sched.schedule import Stage as Stage
    from te_sched.schedule import create_schedule as create_schedule
    from te_sched.te import hybrid as hybrid

sympy_door.open_door()

_OF_SCHEDULES = ("Schedule", "Stage", "create_schedule")


def __getattr__(name: str) -> Any:
    if name in _OF_SCHEDULES:
        return getattr(importlib.import_module("te_sched.schedule"), name)
    if name == "hybrid":  # it reads Python texts, which few programs need
        return importlib.import_module("te_sched.te.hybrid")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AXIS_SEPARATOR",
    "ComputeOp",
    "ExternOp",
    "HybridOp",
    "Operation",
    "PlaceholderOp",
    "Reducer",
    "ScanOp",
    "TagScope",
    "Tensor",
    "TensorIntrin",
    "TensorSlice",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "ceildiv",
    "clz",
    "comm_reducer",
    "compute",
    "const",
    "copysign",
    "cos",
    "cosh",
    "decl_tensor_intrin",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "extern",
    "fabs",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "nearbyint",
    "nextafter",
    "not_",
    "placeholder",
    "popcount",
    "pow",
    "power",
    "prod",
    "reduce_axis",
    "reinterpret",
    "round",
    "rsqrt",
    "scan",
    "select",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "size_var",
    "sqrt",
    "subtract",
    "sum",
    "tag_scope",
    "tan",
    "tanh",
    "thread_axis",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]  # fmt: skip
