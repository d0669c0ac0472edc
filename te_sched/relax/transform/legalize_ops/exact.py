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
            is_best = te.any(value.equal(best(*kept)), te.isnan(value))
            at = ravel_index([one.var for one in over], extents)
            return te.min(te.select(is_best, at, te.max_value(at.dtype)), axis=over)

        return reduce_elements(data, axes, bool(keepdims), place, f"{data.op.name}_red")

    return statistical.place_of(find)


_of_floats("relax.argmax", statistical.reduction(_place_of(topi.max), "argmax"))
_of_floats("relax.argmin", statistical.reduction(_place_of(topi.min), "argmin"))


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
    rest = ops.truncmod(a, b)
    return te.select(_differs(rest, b), ops.add(rest, b), rest)


def _differs(rest: Any, b: Any) -> Any:
    """Whether a remainder that is not 0 has another sign than the divisor."""
    zero = te.const(0.0, rest.dtype)
    below = [ops.less(one, zero) for one in (rest, b)]
    return te.all(ops.not_equal(rest, zero), ops.not_equal(*below))


def _floor_divide(a: Any, b: Any) -> Any:
    """The quotient of floats of which `_floor_mod` is the remainder: 1.0 // 0.1 is 9."""
    rest = ops.truncmod(a, b)
    one, half = te.const(1.0, rest.dtype), te.const(0.5, rest.dtype)
    quotient = ops.div(ops.sub(a, rest), b)  # whole, but for rounding
    quotient = te.select(_differs(rest, b), ops.sub(quotient, one), quotient)
    floored = te.floor(quotient)
    is_less = ops.greater(ops.sub(quotient, floored), half)
    floored = te.select(is_less, ops.add(floored, one), floored)
    return te.select(ops.equal(b, te.const(0.0, rest.dtype)), ops.div(a, b), floored)


def _elementwise(function: Callable[[Any, Any], Any], name: str) -> LegalizeFunc:
    return binary.binary(lambda a, b: topi.broadcast.combine(a, b, function, name), name)


_of_floats("relax.floor_mod", _elementwise(_floor_mod, "floor_mod"))
_of_floats("relax.floor_divide", _elementwise(_floor_divide, "floor_divide"))
