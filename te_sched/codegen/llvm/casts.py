"""Conversions between data types, and arithmetic of the small floats through float32.

float16 values live in registers as `half`, bfloat16 values as their 16 bits; both are widened to
float32 for every operation and rounded (to nearest even) after it. Must not know expressions.
"""

from __future__ import annotations

from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import (
    Value,
    integer,
    integer_range,
    llvm_type,
    mask_type,
    splat,
    unknown,
)
from te_sched.ir import dtypes


def widen(out: FunctionText, value: Value) -> Value:
    """A float16 or bfloat16 value as float32."""
    wide = dtypes.with_lanes("float32", dtypes.lanes(value.dtype))
    if dtypes.parse(value.dtype).code == "float":
        return Value(_convert(out, "fpext", value.text, value.dtype, wide), wide)
    bits = _convert(out, "zext", value.text, value.dtype, _like(wide, "uint32"))
    shifted = out.emit(f"shl {llvm_type(_like(wide, 'uint32'))} {bits}, {_constant(16, wide)}")
    return Value(_convert(out, "bitcast", shifted, _like(wide, "uint32"), wide), wide)


def narrow(out: FunctionText, value: Value, dtype: str) -> Value:
    """A float32 value rounded to float16 or bfloat16."""
    if dtypes.parse(dtype).code == "float":
        return Value(_convert(out, "fptrunc", value.text, value.dtype, dtype), dtype)
    integers = _like(value.dtype, "uint32")
    kind = llvm_type(integers)
    bits = _convert(out, "bitcast", value.text, value.dtype, integers)
    high = out.emit(f"lshr {kind} {bits}, {_constant(16, integers)}")
    odd = out.emit(f"and {kind} {high}, {_constant(1, integers)}")
    bias = out.emit(f"add {kind} {odd}, {_constant(0x7FFF, integers)}")
    rounded = out.emit(
        f"lshr {kind} {out.emit(f'add {kind} {bits}, {bias}')}, {_constant(16, integers)}"
    )
    quiet = out.emit(f"or {kind} {high}, {_constant(0x40, integers)}")
    nan = out.emit(f"fcmp uno {llvm_type(value.dtype)} {value.text}, {value.text}")
    kept = out.emit(f"select {mask_type(dtype)} {nan}, {kind} {quiet}, {kind} {rounded}")
    return Value(_convert(out, "trunc", kept, integers, dtype), dtype)


def cast(out: FunctionText, value: Value, dtype: str) -> Value:
    """The value converted to another type of as many lanes."""
    if value.dtype == dtype:
        return value
    source, target = dtypes.parse(value.dtype), dtypes.parse(dtype)
    if source.code == "handle" or target.code == "handle":
        return _cast_handle(out, value, dtype)
    if dtypes.is_small_float(value.dtype):
        return cast(out, widen(out, value), dtype)
    if dtypes.is_small_float(dtype):
        return narrow(out, _to_float32_for_rounding(out, value, dtype), dtype)
    if target.code == "bool":
        return _to_bool(out, value, dtype)
    if source.code == "float":
        return _from_float(out, value, dtype)
    if target.code == "float":
        kind = "sitofp" if source.code == "int" else "uitofp"
        return Value(_convert(out, kind, value.text, value.dtype, dtype), dtype, data=value.data)
    return _resize(out, value, dtype)


def _like(dtype: str, element: str) -> str:
    return dtypes.with_lanes(element, dtypes.lanes(dtype))


def _constant(value: int, dtype: str) -> str:
    constant = integer(value, "uint32")
    return constant.text if dtypes.lanes(dtype) == 1 else splat(constant)


def _convert(out: FunctionText, instruction: str, text: str, source: str, target: str) -> str:
    return out.emit(f"{instruction} {llvm_type(source)} {text} to {llvm_type(target)}")


def _cast_handle(out: FunctionText, value: Value, dtype: str) -> Value:
    if dtypes.parse(dtype).code == "handle":
        return Value(_convert(out, "inttoptr", value.text, value.dtype, dtype), dtype)
    return unknown(_convert(out, "ptrtoint", value.text, value.dtype, dtype), dtype)


def _to_bool(out: FunctionText, value: Value, dtype: str) -> Value:
    kind = llvm_type(value.dtype)
    test = "fcmp une" if dtypes.is_float(value.dtype) else "icmp ne"
    return Value(out.emit(f"{test} {kind} {value.text}, zeroinitializer"), dtype, 0, 1, value.data)


def _from_float(out: FunctionText, value: Value, dtype: str) -> Value:
    target = dtypes.parse(dtype)
    if target.code == "float":
        instruction = "fpext" if target.bits > dtypes.bits(value.dtype) else "fptrunc"
        return Value(
            _convert(out, instruction, value.text, value.dtype, dtype), dtype, data=value.data
        )
    if (
        target.bits < 32
    ):  # through a wider integer, so that values out of range wrap as C compilers do
        wide = _like(dtype, "int32")
        return _resize(out, _whole(out, "fptosi", value, wide), dtype)
    return _whole(out, "fptosi" if target.code == "int" else "fptoui", value, dtype)


def _whole(out: FunctionText, instruction: str, value: Value, dtype: str) -> Value:
    """A float truncated to an integer; an arbitrary number where it is NaN or out of range."""
    text = _convert(out, instruction, value.text, value.dtype, dtype)
    return unknown(out.emit(f"freeze {llvm_type(dtype)} {text}"), dtype, value.data)


def _resize(out: FunctionText, value: Value, dtype: str) -> Value:
    """Between integers (bool included): sign or zero extend, or cut."""
    source, target = dtypes.parse(value.dtype), dtypes.parse(dtype)
    lo, hi = integer_range(dtype)
    if lo <= value.lo and value.hi <= hi:
        lo, hi = value.lo, value.hi
    if value.lo == value.hi and source.lanes == 1 and not value.text.startswith("%"):
        return integer(value.lo, dtype)
    if source.bits == target.bits:
        return Value(value.text, dtype, lo, hi, value.data, value.multiple)
    extend = "sext" if source.code == "int" else "zext"
    instruction = extend if target.bits > source.bits else "trunc"
    text = _convert(out, instruction, value.text, value.dtype, dtype)
    return Value(text, dtype, lo, hi, value.data, value.multiple)


def _to_float32_for_rounding(out: FunctionText, value: Value, dtype: str) -> Value:
    """A float32 from which rounding to a small float gives what rounding directly would give.

    From float64, the last bit of an inexact float32 is made odd ("round to odd"), so that it is
    never a tie.
    """
    wide = _like(dtype, "float32")
    if not dtypes.is_float(value.dtype) or dtypes.bits(value.dtype) == 32:
        return cast(out, value, wide)
    integers, bools = _like(dtype, "uint32"), mask_type(dtype)
    kind, double, single = llvm_type(integers), llvm_type(value.dtype), llvm_type(wide)
    near = out.emit(f"fptrunc {double} {value.text} to {single}")
    back = out.emit(f"fpext {single} {near} to {double}")
    bits = _convert(out, "bitcast", near, wide, integers)
    inexact = out.emit(f"fcmp one {double} {back}, {value.text}")
    sizes = [out.intrinsic("fabs", value.dtype, text) for text in (back, value.text)]
    above = out.emit(f"fcmp ogt {double} {sizes[0]}, {sizes[1]}")
    below = out.emit(
        f"select {bools} {above}, {kind} {_constant(-1, wide)}, {kind} {_constant(0, wide)}"
    )
    towards_zero = out.emit(f"add {kind} {bits}, {below}")
    odd = out.emit(f"or {kind} {towards_zero}, {_constant(1, wide)}")
    chosen = out.emit(f"select {bools} {inexact}, {kind} {odd}, {kind} {bits}")
    return Value(_convert(out, "bitcast", chosen, integers, wide), wide)
