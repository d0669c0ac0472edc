"""Rules of builds, where those of `LegalizeOps`, which write TVM's text, lose special values.

Graphs have the semantics of torch and ONNX: the place of an extremum is that of the first NaN, an
extremum of infinities is infinite, floats are divided as in Python. The tests of special values
(`tests/relax/special_values.py`) have the facts of each operator. Must not know importers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched import te, topi
from te_sched.config import TO_RUN
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Call
from te_sched.ir.graph import GraphCall
from te_sched.ir.op import Op
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops import binary, nn, statistical
from te_sched.relax.transform.legalize_ops.common import LegalizeFunc, TEFunc, rule_of
from te_sched.topi.nn.pooling import max_pool_of_floats
from te_sched.topi.reduction import reduce_elements, reduced_axes
from te_sched.topi.utils import ravel_index

_EXACT: dict[LegalizeFunc, LegalizeFunc] = {}  # by the rule of the library that each replaces


def exact_rule_of(op: Op) -> LegalizeFunc | None:
    """The rule of builds of an operator; rules that programs registered stay as they are."""
    rule = rule_of(op)
    return None if rule is None else _EXACT.get(rule, rule)


def exact_builder(builder: BlockBuilder) -> BlockBuilder:
    """A builder whose tensor expressions are those of programs to run."""
    builder.settings = TO_RUN
    return builder


def _of_all(operator: str, rule: LegalizeFunc) -> None:
    """Use a rule for all types."""
    library = rule_of(Op.get(operator))
    assert library is not None, operator
    _EXACT[library] = rule


def _of_floats(operator: str, rule: LegalizeFunc) -> None:
    """Use a rule where the first argument is a tensor of floats."""
    library = rule_of(Op.get(operator))
    assert library is not None, operator

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        dtype = getattr(call.args[0].struct_info, "dtype", None) or ""
        is_float = bool(dtype) and dtypes.is_float(dtype)
        return (rule if is_float else library)(builder, call)

    _EXACT[library] = legalize


# The places of extrema


def _place_of(extremum: TEFunc) -> TEFunc:
    """The first place of the extremum, which is NaN if an element is. To find the extremum first is
    as fast as to carry values and places along.
    """

    def find(data: Any, axis: Any, keepdims: bool) -> Any:
        axes = reduced_axes(data, axis, "argmax")
        extents = [data.shape[at] for at in axes]
        best = extremum(data, axes, True)

        def place(indices: Any, over: Any) -> Any:
            value = data(*indices)
            kept = [0 if at in axes else one for at, one in enumerate(indices)]
            is_best = value.equal(best(*kept))
            if dtypes.is_float(data.dtype):
                is_best = te.any(is_best, te.isnan(value))
            at = ravel_index([one.var for one in over], extents)
            return te.min(te.select(is_best, at, te.max_value(at.dtype)), axis=over)

        return reduce_elements(data, axes, bool(keepdims), place, f"{data.op.name}_red")

    return statistical.place_of(find)


# Those of `topi` begin with place -1, which stays where all integers are the least or the largest.
_of_all("relax.argmax", statistical.reduction(_place_of(topi.max), "argmax"))
_of_all("relax.argmin", statistical.reduction(_place_of(topi.min), "argmin"))


# Windows


def _max_pool(data: Any, kernel: Any, **options: Any) -> Any:
    named = ("stride", "dilation", "padding", "ceil_mode", "layout")
    return max_pool_of_floats(data, kernel, *[options[name] for name in named])


for _count in (1, 2, 3):
    _name = f"max_pool{_count}d"
    _of_floats(f"relax.nn.{_name}", nn.pool(_max_pool, "max", _name))


# Division that rounds down


def _floor_mod(a: Any, b: Any) -> Any:
    """The remainder of floats, with the sign of b."""
    dtype, (a, b) = a.dtype, [ops.cast("float64", one) for one in (a, b)]
    rest = _remainder(a, b, dtype)
    return ops.cast(dtype, te.select(_differs(rest, b), ops.add(rest, b), rest))


def _floor_divide(a: Any, b: Any) -> Any:
    """The quotient of floats of which `_floor_mod` is the remainder: 1.0 // 0.1 is 9."""
    dtype, (a, b) = a.dtype, [ops.cast("float64", one) for one in (a, b)]
    rest = _remainder(a, b, dtype)
    zero, half, one = [te.const(value, "float64") for value in (0.0, 0.5, 1.0)]
    inverse = ops.div(one, b)
    whole = ops.sub(a, rest)
    # The inverse of a denormal number is infinite; those of float32 are not denormal here.
    quotient = ops.div(whole, b) if dtype == "float64" else ops.mul(whole, inverse)
    less = ops.cast("float64", _differs(rest, b))
    floored = te.floor(ops.add(ops.sub(quotient, less), half))
    sign = ops.mul(te.copysign(one, a), te.copysign(one, b))
    floored = te.select(ops.equal(floored, zero), te.copysign(zero, sign), floored)
    return ops.cast(dtype, te.select(ops.equal(b, zero), ops.mul(a, inverse), floored))


def _differs(rest: Any, b: Any) -> Any:
    """Whether a remainder that is not 0 has another sign than the divisor."""
    sign = te.copysign(te.const(1.0, b.dtype), b)
    return ops.less(ops.mul(rest, sign), te.const(0.0, rest.dtype))


_STEPS = 6  # of at least 50 bits each: quotients of float32 have at most 277


def _remainder(a: Any, b: Any, dtype: str) -> Any:
    """The remainder, smaller than b, of numbers of a type that are given in float64.

    Quotients in float64 of numbers of at most 24 bits are so near that what they leave has few
    bits: fused multiply-adds give it exactly, many elements at once, where fmod is a call.
    """
    if dtype == "float64":
        return ops.truncmod(a, b)
    inverse, rest = ops.div(te.const(1.0, "float64"), b), a
    for _ in range(_STEPS):
        quotient = te.trunc(ops.mul(rest, inverse))
        minus = ops.mul(quotient, te.const(-1.0, "float64"))
        rest = Call("float64", "tir.fma", (minus, b, rest))
    too_large = ops.greater_equal(te.abs(rest), te.abs(b))  # the last quotient was rounded down
    rest = te.select(too_large, ops.sub(te.abs(rest), te.abs(b)), rest)
    is_whole = te.isinf(b)
    return te.select(is_whole, ops.add(a, ops.mul(a, te.const(0.0, "float64"))), rest)


def _elementwise(function: Callable[[Any, Any], Any], name: str) -> LegalizeFunc:
    return binary.binary(lambda a, b: topi.broadcast.combine(a, b, function, name), name)


_of_floats("relax.floor_mod", _elementwise(_floor_mod, "floor_mod"))
_of_floats("relax.floor_divide", _elementwise(_floor_divide, "floor_divide"))
