"""What intrinsics compute that know nothing of threads: mathematics, bits, choices."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from te_sched.arith.fold import FOLDED_CALLS
from te_sched.codegen.checker.expressions import (
    CallCompiler,
    Code,
    Compiler,
    conditional,
    lane_of,
    stacked,
)
from te_sched.codegen.checker.numbers import (
    Value,
    constant,
    numpy_dtype,
    plain,
    rounded,
    typed,
    wrapped,
)
from te_sched.ir import dtypes
from te_sched.ir import expr as E

_erf = np.frompyfunc(math.erf, 1, 1)

_OF_NUMPY = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "hypot", "fabs"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil", "trunc", "rint"),
    *("nextafter", "copysign"),
)
_ARCUS = ("sin", "cos", "tan", "sinh", "cosh", "tanh")

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in [
            "exp",
            "exp2",
            "log",
            "log2",
            "log10",
            "log1p",
            "expm1",
            "sqrt",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "fabs",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "hypot",
            "nextafter",
            "copysign",
            "cbrt",
        ]
    },
    **{f"a{name}": getattr(np, f"arc{name}") for name in _ARCUS},
    "exp10": lambda x: np.power(10.0, x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: np.asarray(_erf(x)).astype(np.float64),
    "round": np.rint,
    "nearbyint": np.rint,
    "atan2": np.arctan2,
    "pow": np.power,
    "fmod": np.fmod,
    "truncmod": np.fmod,
    "fma": lambda x, y, z: x * y + z,
    "ldexp": np.ldexp,
}


def _mathematics(function: Callable[..., Any]) -> CallCompiler:
    """A function of floats; halves are computed as float32, as the device does."""

    def compile_call(c: Compiler, node: E.Call) -> Code:
        parts = c.operands(node.args)
        dtype = node.dtype
        is_half = dtypes.bits(dtype) == 16
        kept = numpy_dtype(dtype)
        types = [arg.dtype for arg in node.args]

        def run() -> Value:
            values = [typed(part.run(), one) for part, one in zip(parts, types, strict=True)]
            if is_half:
                values = [
                    value.astype(np.float32) if value.dtype.kind == "f" else value
                    for value in values
                ]
            return rounded(plain(np.asarray(function(*values)).astype(kept)), dtype)

        return c.joined(run, parts)

    return compile_call


def _classify(function: Callable[..., Any]) -> CallCompiler:
    def compile_call(c: Compiler, node: E.Call) -> Code:
        (part,) = c.operands(node.args)
        return c.joined(lambda: plain(function(part.run())), [part])

    return compile_call


def _bits(
    of_ints: Callable[[int, int], int], of_arrays: Callable[[Value, Value], Value]
) -> CallCompiler:
    def compile_call(c: Compiler, node: E.Call) -> Code:
        a, b = parts = c.operands(node.args)
        left, right, dtype = a.run, b.run, node.dtype

        def run() -> Value:
            x, y = left(), right()
            if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
                return plain(of_arrays(typed(x, dtype), typed(y, dtype)))
            result = of_ints(x, y)
            return wrapped(result, dtype) if type(result) is int else result

        return c.joined(run, parts)

    return compile_call


def _unary(function: Callable[[Any, str], Any]) -> CallCompiler:
    """A function of an array of integers, and of their type."""

    def compile_call(c: Compiler, node: E.Call) -> Code:
        (part,) = c.operands(node.args)
        source, dtype = node.args[0].dtype, node.dtype

        def run() -> Value:
            result = function(np.asarray(typed(part.run(), source)), source)
            return plain(result.astype(numpy_dtype(dtype)))

        return c.joined(run, [part])

    return compile_call


def _unsigned(value: np.ndarray) -> np.ndarray:
    return value.view(np.dtype(f"u{value.dtype.itemsize}"))


def _popcount(value: np.ndarray, dtype: str) -> np.ndarray:
    return np.asarray(np.bitwise_count(_unsigned(value)))


def _leading_zeros(value: np.ndarray, dtype: str) -> np.ndarray:
    smeared = _unsigned(value).astype(np.uint64)
    for step in (1, 2, 4, 8, 16, 32):
        smeared |= smeared >> np.uint64(step)
    return np.asarray(dtypes.bits(dtype) - np.bitwise_count(smeared).astype(np.int32))


def _bitwise_not(value: np.ndarray, dtype: str) -> np.ndarray:
    return np.asarray(~value)


def _same(c: Compiler, node: E.Call) -> Code:
    return c.expression(node.args[0])


def _nothing(c: Compiler, node: E.Call) -> Code:
    return Code(lambda: 0, is_leaf=True)


def _undefined(c: Compiler, node: E.Call) -> Code:
    value = constant(0, dtypes.element(node.dtype))
    return Code(lambda: value, is_leaf=True)


def _large_unsigned(c: Compiler, node: E.Call) -> Code:
    low, high = node.args
    if not isinstance(low, E.IntImm) or not isinstance(high, E.IntImm):
        raise c.unknown("large_uint_imm of what is not constant")
    value = wrapped((high.value << 32) | (low.value & 0xFFFFFFFF), node.dtype)
    return Code(lambda: value, is_leaf=True)


def _if_then_else(c: Compiler, node: E.Call) -> Code:
    return conditional(c, node.args[0], node.args[1], node.args[2])


def _reinterpret(c: Compiler, node: E.Call) -> Code:
    (part,) = c.operands(node.args)
    source, kept = node.args[0].dtype, numpy_dtype(node.dtype)
    if "bfloat16" in (dtypes.element(source), dtypes.element(node.dtype)):
        raise c.unknown("reinterpret of bfloat16")
    if dtypes.lanes(source) != dtypes.lanes(node.dtype):
        raise c.unknown("reinterpret to another number of lanes")

    def run() -> Value:
        value = np.ascontiguousarray(typed(part.run(), source))
        return plain(value.view(kept).reshape(np.shape(value)))

    return c.joined(run, [part])


def _dot_of_four(c: Compiler, node: E.Call) -> Code:
    """dp4a(x, y, sum)"""
    parts = c.operands(node.args)
    types = [arg.dtype for arg in node.args]

    def lanes(value: Value, dtype: str) -> list[Value]:
        if dtypes.lanes(dtype) == 4:
            return [typed(lane_of(value, k, 4), dtype).astype(np.int32) for k in range(4)]
        packed = np.asarray(typed(value, dtype))
        return [(packed << (24 - 8 * k)) >> 24 for k in range(4)]

    def run() -> Value:
        x, y, total = (part.run() for part in parts)
        for a, b in zip(lanes(x, types[0]), lanes(y, types[1]), strict=True):
            total = total + a * b
        return plain(total)

    return c.joined(run, parts)


def _vector_half(upper: bool) -> CallCompiler:
    def compile_call(c: Compiler, node: E.Call) -> Code:
        (part,) = c.operands(node.args)
        count, dtype = dtypes.lanes(node.dtype), dtypes.element(node.dtype)
        start = count if upper else 0

        def run() -> Value:
            value = part.run()
            return stacked([lane_of(value, start + k, 2 * count) for k in range(count)], dtype)

        return c.joined(run, [part])

    return compile_call


CALLS: Mapping[str, CallCompiler] = {
    **{name: _mathematics(function) for name, function in _FUNCTIONS.items()},
    **{name: _classify(getattr(np, name)) for name in ("isnan", "isinf", "isfinite")},
    "bitwise_and": _bits(operator.and_, operator.and_),
    "bitwise_or": _bits(operator.or_, operator.or_),
    "bitwise_xor": _bits(operator.xor, operator.xor),
    "shift_left": _bits(FOLDED_CALLS["tir.shift_left"], np.left_shift),
    "shift_right": _bits(FOLDED_CALLS["tir.shift_right"], np.right_shift),
    "bitwise_not": _unary(_bitwise_not),
    "popcount": _unary(_popcount),
    "clz": _unary(_leading_zeros),
    "abs": _unary(lambda value, dtype: np.abs(value)),
    "likely": _same,
    "tvm_thread_invariant": _same,
    "if_then_else": _if_then_else,
    "reinterpret": _reinterpret,
    "large_uint_imm": _large_unsigned,
    "undef": _undefined,
    "assume": _nothing,
    "prefetch": _nothing,
    "dp4a": _dot_of_four,
    "vectorlow": _vector_half(False),
    "vectorhigh": _vector_half(True),
}
