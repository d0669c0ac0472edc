"""Intrinsic functions: mathematics, bits, addresses, control.

One table per kind of lowering: an LLVM intrinsic, a function of libm, or a few instructions. Calls
of the outside world are in `calls`. Must not know statements.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from te_sched.codegen.calls import intrinsic_of
from te_sched.codegen.llvm import arithmetic, atomics, calls, memory, vector_math
from te_sched.codegen.llvm.casts import cast, narrow, widen
from te_sched.codegen.llvm.expressions import (
    conditional,
    evaluate,
    evaluate_condition,
    evaluate_index,
    use_calls,
)
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, floating, intrinsic_suffix, llvm_type, unknown
from te_sched.errors import BuildError, kind_of
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.intrinsic_table import INTRINSICS, MATHEMATICS
from te_sched.ir.intrinsics import fixed_point_product

_PURE = "nounwind willreturn memory(none)"

# Functions of libm (the float32 version has an f at its end). The others LLVM knows for every type
# of floats and vectors, and calls libm where it must.
_LIBM = (
    *("erf", "log1p", "expm1", "asinh", "acosh", "atanh", "hypot", "nextafter", "cbrt"),
    *("lgamma", "tgamma"),
)
_OTHER_NAMES = {"round": "roundeven"}


def call(out: FunctionText, node: E.Call) -> Value:
    """The value of a call."""
    name = intrinsic_of(node)
    writer = WRITERS.get(name)
    if writer is not None:
        return writer(out, node)
    if name in MATHEMATICS:
        return _mathematics(out, name, _arguments(out, node))
    raise BuildError(
        f"intrinsic {node.op} is not available for target llvm",
        _why_unknown(name),
        "use one of: " + ", ".join(sorted({*WRITERS, *MATHEMATICS})),
    )


def _why_unknown(name: str) -> str:
    if name in INTRINSICS and INTRINSICS[name].needs_threads:
        return "it exists only on devices with threads, and the target is a processor"
    return ""


def _mathematics(out: FunctionText, name: str, values: list[Value]) -> Value:
    dtype = values[0].dtype
    if dtypes.is_small_float(dtype):
        return narrow(out, _mathematics(out, name, [widen(out, value) for value in values]), dtype)
    if vector_math.is_known(name, dtype):
        return vector_math.call_helper(out, name, values)
    if name in _LIBM:
        return _each_lane(out, values, lambda lanes: _libm(out, name, lanes))
    operands = [value.text for value in values]
    return Value(out.intrinsic(_OTHER_NAMES.get(name, name), dtype, *operands), dtype)


def _libm(out: FunctionText, name: str, values: list[Value]) -> Value:
    dtype = values[0].dtype
    kind = llvm_type(dtype)
    function = out.module.declare(
        name + ("f" if dtype == "float32" else ""), kind, (kind,) * len(values), _PURE
    )
    operands = ", ".join(f"{kind} {value.text}" for value in values)
    return Value(out.emit(f"call {kind} {function}({operands})"), dtype)


def _each_lane(
    out: FunctionText, values: list[Value], function: Callable[[list[Value]], Value]
) -> Value:
    count = dtypes.lanes(values[0].dtype)
    if count == 1:
        return function(values)
    results = [function([memory.lane(out, value, k) for value in values]) for k in range(count)]
    return memory.concatenate(out, results)


def _constant(value: float, dtype: str) -> Value:
    scalar, lanes = floating(value, dtypes.element(dtype)), dtypes.lanes(dtype)
    return (
        scalar if lanes == 1 else Value(f"splat ({llvm_type(scalar.dtype)} {scalar.text})", dtype)
    )


def _in_float32(
    function: Callable[[FunctionText, Value], Value],
) -> Callable[[FunctionText, E.Call], Value]:
    """A function of one float, computed in float32 when its argument is smaller."""

    def write(out: FunctionText, node: E.Call) -> Value:
        value = evaluate(out, node.args[0])
        if dtypes.is_small_float(value.dtype):
            return narrow(out, function(out, widen(out, value)), value.dtype)
        return function(out, value)

    return write


def _rsqrt(out: FunctionText, value: Value) -> Value:
    root = Value(out.intrinsic("sqrt", value.dtype, value.text), value.dtype)
    return arithmetic.binary(out, "div", _constant(1.0, value.dtype), root)


def _absolute(out: FunctionText, node: E.Call) -> Value:
    value = evaluate(out, node.args[0])
    if dtypes.is_float(value.dtype):
        return _mathematics(out, "fabs", [value])
    if not dtypes.is_int(value.dtype):
        return value
    return arithmetic.select(
        out,
        arithmetic.compare(out, "lt", value, arithmetic.constant_like(0, value.dtype)),
        arithmetic.binary(out, "sub", arithmetic.constant_like(0, value.dtype), value),
        value,
    )


def _arguments(out: FunctionText, node: E.Call) -> list[Value]:
    return [evaluate(out, argument) for argument in node.args]


def _scale_by_power(out: FunctionText, node: E.Call) -> Value:
    value, power = _arguments(out, node)
    exponent = cast(out, power, dtypes.with_lanes("int32", dtypes.lanes(power.dtype)))
    wide = widen(out, value) if dtypes.is_small_float(value.dtype) else value
    kind, integers = llvm_type(wide.dtype), llvm_type(exponent.dtype)
    name = f"llvm.ldexp.{intrinsic_suffix(wide.dtype)}.{intrinsic_suffix(exponent.dtype)}"
    function = out.module.declare(name, kind, (kind, integers))
    result = Value(
        out.emit(f"call {kind} {function}({kind} {wide.text}, {integers} {exponent.text})"),
        wide.dtype,
    )
    return cast(out, result, value.dtype)


def _classify(out: FunctionText, node: E.Call) -> Value:
    name, value = node.op.removeprefix("tir."), evaluate(out, node.args[0])
    if not dtypes.is_float(value.dtype):
        return arithmetic.constant_like(
            int(name == "isfinite"), dtypes.with_lanes("bool", dtypes.lanes(value.dtype))
        )
    value = widen(out, value) if dtypes.is_small_float(value.dtype) else value
    kind, result = llvm_type(value.dtype), dtypes.with_lanes("bool", dtypes.lanes(value.dtype))
    if name == "isnan":
        return Value(out.emit(f"fcmp uno {kind} {value.text}, {value.text}"), result, 0, 1)
    size = out.intrinsic("fabs", value.dtype, value.text)
    test, infinite = "oeq" if name == "isinf" else "one", _constant(math.inf, value.dtype)
    return Value(out.emit(f"fcmp {test} {kind} {size}, {infinite.text}"), result, 0, 1)


def _bits(instruction: str) -> Callable[[FunctionText, E.Call], Value]:
    def write(out: FunctionText, node: E.Call) -> Value:
        a, b = _arguments(out, node)
        text = out.emit(f"{instruction} {llvm_type(a.dtype)} {a.text}, {b.text}")
        return _with_bounds(Value(text, a.dtype), instruction, a, b)

    return write


def _shift(left: bool) -> Callable[[FunctionText, E.Call], Value]:
    def write(out: FunctionText, node: E.Call) -> Value:
        a, b = _arguments(out, node)
        name = "shl" if left else "shr"
        return _with_bounds(arithmetic.shift(out, left, a, b), name, a, b)

    return write


def _with_bounds(result: Value, name: str, a: Value, b: Value) -> Value:
    value = unknown(result.text, result.dtype, a.data or b.data)
    if name == "shr" and a.lo >= 0 and b.lo == b.hi >= 0:
        value.lo, value.hi = a.lo >> b.lo, a.hi >> b.lo
    elif name == "and" and max(a.lo, b.lo) >= 0:
        value.lo, value.hi = 0, min(x.hi for x in (a, b) if x.lo >= 0)
    return value


def _bitwise_not(out: FunctionText, node: E.Call) -> Value:
    value = evaluate(out, node.args[0])
    ones = arithmetic.constant_like(1 if dtypes.is_bool(value.dtype) else -1, value.dtype)
    return unknown(
        out.emit(f"xor {llvm_type(value.dtype)} {value.text}, {ones.text}"), value.dtype, value.data
    )


def _popcount(out: FunctionText, node: E.Call) -> Value:
    value = evaluate(out, node.args[0])
    count = out.intrinsic("ctpop", value.dtype, value.text)
    return cast(out, unknown(count, value.dtype), node.dtype)


def _leading_zeros(out: FunctionText, node: E.Call) -> Value:
    value = evaluate(out, node.args[0])
    kind = llvm_type(value.dtype)
    name = f"llvm.ctlz.{intrinsic_suffix(value.dtype)}"
    function = out.module.declare(name, kind, (kind, "i1"))
    result = unknown(
        out.emit(f"call {kind} {function}({kind} {value.text}, i1 false)"), value.dtype
    )
    return cast(out, result, node.dtype)


def _reinterpret(out: FunctionText, node: E.Call) -> Value:
    value = evaluate(out, node.args[0])
    source, target = llvm_type(value.dtype), llvm_type(node.dtype)
    text = (
        value.text if source == target else out.emit(f"bitcast {source} {value.text} to {target}")
    )
    return unknown(text, node.dtype)


def _likely(out: FunctionText, node: E.Call) -> Value:
    value = evaluate_condition(out, node.args[0])
    if dtypes.lanes(value.dtype) > 1 or not value.text.startswith("%"):
        return value
    function = out.module.declare("llvm.expect.i1", "i1", ("i1", "i1"))
    return Value(
        out.emit(f"call i1 {function}(i1 {value.text}, i1 true)"), "bool", 0, 1, value.data
    )


def _address_of(out: FunctionText, node: E.Call) -> Value:
    load = node.args[0]
    if not isinstance(load, E.BufferLoad):
        raise BuildError(
            f"address_of expects an element of a buffer, got {kind_of(load)}",
            help="pass an element of a buffer",
        )
    index = evaluate_index(out, load.indices[0])
    pointer = out.lookup(load.buffer.data)
    return Value(
        memory.address(out, pointer, load.buffer.dtype, memory.lane(out, index, 0), inside=False),
        "handle",
    )


def _access_pointer(out: FunctionText, node: E.Call) -> Value:
    """tvm_access_ptr(type, data, offset, extent, mode): the address of element `offset`."""
    annotation, data, offset = node.args[:3]
    index = evaluate_index(out, offset)
    return Value(
        memory.address(out, evaluate(out, data), annotation.dtype, index, inside=False), "handle"
    )


def _prefetch(out: FunctionText, node: E.Call) -> Value:
    values = _arguments(out, node)
    options = [f"i32 {value.text}" for value in values[1:4]] + ["i32 0", "i32 3", "i32 1"][
        len(values) - 1 :
    ]
    function = out.module.declare(
        "llvm.prefetch.p0", "void", ("ptr", "i32 immarg", "i32 immarg", "i32 immarg")
    )
    out.do(f"call void {function}(ptr {values[0].text}, {', '.join(options)})")
    return Value("", "void")


def _large_unsigned(out: FunctionText, node: E.Call) -> Value:
    low, high = (argument.value for argument in node.args[:2] if isinstance(argument, E.IntImm))
    return evaluate(out, E.IntImm((high << 32) | low, node.dtype))


def _assume(out: FunctionText, node: E.Call) -> Value:
    function = out.module.declare("llvm.assume", "void", ("i1",))
    out.do(f"call void {function}(i1 {evaluate_condition(out, node.args[0]).text})")
    return Value("", "void")


def _is_null(out: FunctionText, node: E.Call) -> Value:
    return Value(out.emit(f"icmp eq ptr {evaluate(out, node.args[0]).text}, null"), "bool", 0, 1)


def _lanes_below(out: FunctionText, node: E.Call) -> Value:
    base, limit = _arguments(out, node)
    return memory.lanes_below(out, base, limit, node.dtype)


WRITERS: dict[str, Callable[[FunctionText, E.Call], Value]] = {
    "if_then_else": lambda out, node: conditional(out, *node.args),
    "likely": _likely,
    "rsqrt": _in_float32(_rsqrt),
    "sigmoid": lambda out, node: _mathematics(out, "sigmoid", _arguments(out, node)),
    **dict.fromkeys(("abs", "fabs"), _absolute),
    **dict.fromkeys(
        ("fmod", "truncmod"),
        lambda out, node: arithmetic.binary(out, "mod", *_arguments(out, node)),
    ),
    "ldexp": _scale_by_power,
    **dict.fromkeys(("isnan", "isinf", "isfinite"), _classify),
    "bitwise_and": _bits("and"),
    "bitwise_or": _bits("or"),
    "bitwise_xor": _bits("xor"),
    "bitwise_not": _bitwise_not,
    "shift_left": _shift(left=True),
    "shift_right": _shift(left=False),
    "popcount": _popcount,
    "clz": _leading_zeros,
    "reinterpret": _reinterpret,
    "q_multiply_shift": lambda out, node: evaluate(out, fixed_point_product(*node.args)),
    "address_of": _address_of,
    "tvm_access_ptr": _access_pointer,
    "prefetch": _prefetch,
    "large_uint_imm": _large_unsigned,
    "assume": _assume,
    "undef": lambda _, node: unknown("undef", node.dtype),
    "get_active_lane_mask": _lanes_below,
    "isnullptr": _is_null,
    "call_extern": lambda out, node: calls.call_extern(out, node, pure=False),
    "call_pure_extern": lambda out, node: calls.call_extern(out, node, pure=True),
    "call_function": calls.call_function,
    "linked_memory": calls.linked_memory,
    **atomics.CALLS,
    **dict.fromkeys(("call_packed", "tvm_call_packed"), calls.call_packed),
    **dict.fromkeys(("call_llvm_intrin", "call_llvm_pure_intrin"), calls.call_llvm),
}

use_calls(call)
