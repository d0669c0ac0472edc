"""Intrinsics that do not depend on threads: mathematics, bits, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from te_sched.codegen.checker.expressions import (
    CallCompiler,
    Compiler,
    ExprClosure,
    always,
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
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.ir.intrinsics import fixed_point_product


def _elementwise(meaning: Callable[..., Any]) -> CallCompiler:
    """A function of each element; of halves it is computed as float32, as the device does."""

    def compile_call(c: Compiler, node: E.Call) -> ExprClosure:
        parts = c.operands(node.args)
        dtype, types = node.dtype, [arg.dtype for arg in node.args]
        result_type, has_halves = numpy_dtype(dtype), "float16" in map(dtypes.element, types)

        def run() -> Value:
            values = [typed(part.run(), kind) for part, kind in zip(parts, types, strict=True)]
            if has_halves:
                values = [
                    value.astype(np.float32) if value.dtype.kind == "f" else value
                    for value in values
                ]
            result = np.asarray(meaning(*values)).astype(result_type, copy=False)
            return rounded(plain(result), dtype)

        return c.joined(run, parts)

    return compile_call


def _large_unsigned(c: Compiler, node: E.Call) -> ExprClosure:
    low, high = node.args
    if not isinstance(low, E.IntImm) or not isinstance(high, E.IntImm):
        raise c.unknown("large_uint_imm of what is not constant")
    return always(wrapped((high.value << 32) | (low.value & 0xFFFFFFFF), node.dtype))


def _reinterpret(c: Compiler, node: E.Call) -> ExprClosure:
    (part,) = c.operands(node.args)
    source, result_type = node.args[0].dtype, numpy_dtype(node.dtype)
    if "bfloat16" in (dtypes.element(source), dtypes.element(node.dtype)):
        raise c.unknown("reinterpret of bfloat16")
    if dtypes.lanes(source) != dtypes.lanes(node.dtype):
        raise c.unknown("reinterpret to another number of lanes")

    def run() -> Value:
        value = np.ascontiguousarray(typed(part.run(), source))
        return plain(value.view(result_type).reshape(np.shape(value)))

    return c.joined(run, [part])


def _dot_of_four(c: Compiler, node: E.Call) -> ExprClosure:
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
    def compile_call(c: Compiler, node: E.Call) -> ExprClosure:
        (part,) = c.operands(node.args)
        count, dtype = dtypes.lanes(node.dtype), dtypes.element(node.dtype)
        start = count if upper else 0

        def run() -> Value:
            value = part.run()
            return stacked([lane_of(value, start + k, 2 * count) for k in range(count)], dtype)

        return c.joined(run, [part])

    return compile_call


CALLS: Mapping[str, CallCompiler] = {
    **{name: _elementwise(row.meaning) for name, row in INTRINSICS.items() if row.meaning},
    "likely": lambda c, node: c.expression(node.args[0]),
    "tvm_thread_invariant": lambda c, node: c.expression(node.args[0]),
    "if_then_else": lambda c, node: conditional(c, *node.args),
    "reinterpret": _reinterpret,
    "q_multiply_shift": lambda c, node: c.expression(fixed_point_product(*node.args)),
    "large_uint_imm": _large_unsigned,
    "undef": lambda _, node: always(constant(0, dtypes.element(node.dtype))),
    "assume": lambda _, node: always(0),
    "prefetch": lambda _, node: always(0),
    "dp4a": _dot_of_four,
    "vectorlow": _vector_half(False),
    "vectorhigh": _vector_half(True),
}
