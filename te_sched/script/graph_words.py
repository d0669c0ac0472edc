"""The words of TVMScript for graphs, besides the operators: struct infos, bindings and values.

They act on the function that is being written (`script.graph_frames`). Must not know Python's
syntax.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any

from te_sched.errors import ScriptError
from te_sched.ir import ops as _ops
from te_sched.ir.graph import DataTypeImm, GraphString, GraphVar, PrimValue, VarBinding, as_expr
from te_sched.ir.graph import ExternFunc as ExternFunc
from te_sched.ir.graph import Tuple as _Tuple
from te_sched.ir.graph import TupleGetItem as TupleGetItem
from te_sched.ir.stmt import GlobalVar
from te_sched.ir.struct_info import ShapeExpr as ShapeExpr
from te_sched.relax import op as _op
from te_sched.relax.constant import const as const
from te_sched.relax.dpl.rewrite import PatternMatchingRewriter as _PatternMatchingRewriter
from te_sched.runtime.device import Device as _Device
from te_sched.runtime.device import cpu as cpu
from te_sched.runtime.device import cuda as cuda
from te_sched.runtime.device import device as _device
from te_sched.script import graph_frames as _frames
from te_sched.script.annotations import Callable_ as Callable  # noqa: F401
from te_sched.script.annotations import Object as Object
from te_sched.script.annotations import Prim as Prim
from te_sched.script.annotations import Shape as Shape
from te_sched.script.annotations import Tensor as Tensor
from te_sched.script.annotations import Tuple as Tuple
from te_sched.script.annotations import device_named as _device_named
from te_sched.script.frames import ModuleFrame, ScriptBuilder
from te_sched.script.graph_frames import DataflowFrame, MatchCastValue
from te_sched.script.ir import ir_module as _ir_module

# Words that are defined elsewhere.
_IMPORTED = (
    *("Callable", "ExternFunc", "Object", "Prim", "Shape", "ShapeExpr", "Tensor", "Tuple"),
    *("TupleGetItem", "const", "cpu", "cuda"),
)
_NO_WORDS = frozenset(globals()) - {*_IMPORTED}

# Devices


def device(dev_type: Any, dev_id: int = 0) -> _Device:
    """A device, by its kind or TVM's number of it."""
    return _device(dev_type, dev_id)


def to_vdevice(data: Any, dst_vdevice: Any) -> Any:
    """A tensor on another device of the module, which may be given as "cuda:1"."""
    is_text = isinstance(dst_vdevice, builtins.str)
    return _op.to_vdevice(data, _device_named(dst_vdevice) if is_text else dst_vdevice)


def hint_on_device(data: Any, dst_vdevice: Any) -> Any:
    """A tensor that is meant to be on a device."""
    return _op.hint_on_device(data, dst_vdevice)


def rewriter(cls: type) -> _PatternMatchingRewriter:
    """A decorator that makes a rewriter of a class with functions `pattern` and `replacement`."""
    return _PatternMatchingRewriter.from_module(_ir_module(cls))


# Functions


def func_name(name: builtins.str) -> None:
    """Name the function."""
    _frames.function_frame("R.func_name").name = name


def func_attr(attrs: Mapping[builtins.str, Any]) -> None:
    """Give the function attributes."""
    frame = _frames.function_frame("R.func_attr")
    if frame.attrs is not None:
        raise ScriptError("R.func_attr is used twice", "", "give one dictionary")
    frame.attrs = dict(attrs)


def arg(name: builtins.str, struct_info: Any) -> GraphVar:
    """A parameter of the function."""
    var = GraphVar(name, struct_info)
    _frames.function_frame("R.arg").add_parameter(var)
    return var


def func_ret_struct_info(struct_info: Any) -> None:
    """Declare what is known of the result."""
    from_script = GraphVar("", struct_info).struct_info_
    _frames.function_frame("R.func_ret_struct_info").ret_struct_info = from_script


def func_ret_value(value: Any) -> None:
    """The result of the function."""
    frame = _frames.function_frame("R.func_ret_value")
    if frame.result is not None:
        raise ScriptError(f"function {frame.name} returns twice", "", "return once, at the end")
    frame.result = as_expr(value)


# Bindings


def dataflow() -> DataflowFrame:
    """A dataflow block: bindings without effects and control flow."""
    return DataflowFrame()


def output(*variables: Any) -> None:
    """The variables of a dataflow block that are visible outside of it."""
    block = _frames.open_dataflow()
    if block is None:
        raise ScriptError(
            "R.output stands outside of a dataflow block", "", "use it in `with R.dataflow():`"
        )
    block.output(variables)


def emit(value: Any, annotate_struct_info: Any = None) -> GraphVar:
    """Bind a value to a new variable."""
    struct_info = GraphVar("", annotate_struct_info).struct_info_
    return _frames.emit(value, struct_info)


def emit_te(func: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of a function of tensor expressions, which becomes a function of the module."""
    return _frames.function_frame("R.emit_te").builder.call_te(func, *args, **kwargs)


def emit_match_cast(value: Any, struct_info: Any) -> GraphVar:
    """Bind a value that has a struct info when it runs."""
    return _frames.emit(match_cast(value, struct_info))


def emit_var_binding(binding: VarBinding) -> GraphVar:
    """Append a binding."""
    _frames.function_frame("R.emit_var_binding").builder.emit_normalized(binding)
    return binding.var


def match_cast(value: Any, struct_info: Any) -> MatchCastValue:
    """A value that has a struct info when it runs; defines the variables in its sizes."""
    if value is None or struct_info is None:
        raise ScriptError(
            "R.match_cast has no value or struct info",
            "",
            "write R.match_cast(x, R.Tensor((n, m)))",
        )
    return MatchCastValue(as_expr(value), struct_info)


def call_tir(
    gvar: Any, args: Any, out_sinfo: Any = None, tir_vars: Any = None, **older: Any
) -> Any:
    """A call of a function of loops; a string names one of the module, or a registered function."""
    if isinstance(gvar, builtins.str) and not isinstance(gvar, GlobalVar):
        module = ScriptBuilder.current().find(ModuleFrame) if ScriptBuilder.is_in_scope() else None
        if module is None or gvar not in module.functions:
            return _op.call_dps_packed(gvar, args, out_sinfo, **older)
        gvar = GlobalVar(gvar)
    return _op.call_tir(gvar, args, out_sinfo, tir_vars, **older)


# Values


def shape(value: Any) -> ShapeExpr:
    """A shape as a value."""
    return ShapeExpr(builtins.tuple(value))


def str(value: builtins.str) -> GraphString:
    """A string as a value."""
    return GraphString(value)


def dtype(value: Any) -> DataTypeImm:
    """A dtype as a value."""
    return DataTypeImm(value)


def prim_value(value: Any) -> PrimValue:
    """A number as a value."""
    if isinstance(value, builtins.bool | builtins.int):
        value = _ops.const(builtins.int(value), "int64")
    return PrimValue(value)


def tuple(*fields: Any) -> _Tuple:
    """Several values."""
    return _Tuple(builtins.tuple([as_expr(field) for field in fields]))


__all__ = sorted([name for name in globals() if name[0] != "_" and name not in _NO_WORDS])
