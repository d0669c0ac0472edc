"""Elementwise operators, as a table, and constant tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.te.tensor import Tensor
from te_sched.topi.tag import ELEMWISE
from te_sched.topi.utils import Number, check_same, check_tensor, tensor_of


def map_elements(
    x: Any, function: Callable[[Any], Any], what: str, name: str = "compute", prefix: str = "i"
) -> Tensor:
    """The tensor with `function` applied to each element of x."""
    data = check_tensor(x, what)
    return tensor_of(data.shape, lambda *i: function(data(*i)), name, ELEMWISE, prefix)


def _sign(x: Any) -> Expr:
    zero, unit = te.const(0, x.dtype), te.const(1, x.dtype)
    minus = te.const(-1, x.dtype) if not x.dtype.startswith("uint") else zero
    return te.select(x > zero, unit, te.select(x < zero, minus, zero))


_OF_TE = (
    *("exp", "erf", "log", "log2", "log10", "sqrt", "rsqrt", "sigmoid", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
    *("floor", "ceil", "trunc", "round"),
)
# name: (the function of an element, the name of the tensor, the prefix of its axes, the meaning)
_FUNCTIONS: dict[str, tuple[Callable[[Any], Any], str, str, str]] = {
    "identity": (lambda x: x, "compute", "i", "x"),
    **{name: (getattr(te, name), "compute", "i", INTRINSICS[name].text) for name in _OF_TE},
    "abs": (te.abs, "compute", "i", "The absolute value of x"),
    "negative": (lambda x: -x, "compute", "i", "-x"),
    "sign": (_sign, "T_sign", "ax", "1, 0 or -1: the sign of x"),
    "isnan": (te.isnan, "compute", "i", "Whether x is not a number"),
    "isinf": (te.isinf, "compute", "i", "Whether x is infinite"),
    "isfinite": (te.isfinite, "compute", "i", "Whether x is a number and not infinite"),
    "logical_not": (ops.logical_not, "T_logical_not", "ax", "Logical not of x"),
    "bitwise_not": (ops.bitwise_not, "T_bitwise_not", "ax", "Bitwise not of x"),
}
# What the examples print, and their dtypes, where they are not T.name(element) and float32.
_RESULTS = {
    "identity": "{}",
    "abs": "T.fabs({})",
    "negative": "{} * T.float32(-1)",
    "sign": "T.Select({0} > 0, 1, T.Select({0} < 0, -1, 0))",
    "isinf": 'T.fabs({0}) == T.float32("inf") and not T.isnan({0})',
    "isfinite": 'not (T.fabs({0}) == T.float32("inf") and not T.isnan({0})) and not T.isnan({0})',
    "logical_not": "not {}",
}
_DTYPES = {"sign": "int32", "logical_not": "bool", "bitwise_not": "int32"}
_TEXT = """\
{meaning}, for each element.

>>> A = te.placeholder((4, 8), "{dtype}", name="A")
>>> topi.{name}(A).op.body[0]
{result}
"""


def _elementwise(name: str) -> Callable[[Tensor], Tensor]:
    function, tensor_name, prefix, meaning = _FUNCTIONS[name]

    def operator(x: Tensor) -> Tensor:
        return map_elements(x, function, name, tensor_name, prefix)

    operator.__name__ = operator.__qualname__ = name
    at, result = f"A[{prefix}0, {prefix}1]", _RESULTS.get(name, f"T.{name}({{}})")
    operator.__doc__ = _TEXT.format(
        meaning=meaning.removesuffix("."),
        dtype=_DTYPES.get(name, "float32"),
        name=name,
        result=result.format(at),
    )
    return operator


identity = _elementwise("identity")
exp = _elementwise("exp")
erf = _elementwise("erf")
log = _elementwise("log")
log2 = _elementwise("log2")
log10 = _elementwise("log10")
sqrt = _elementwise("sqrt")
rsqrt = _elementwise("rsqrt")
sigmoid = _elementwise("sigmoid")
sin = _elementwise("sin")
cos = _elementwise("cos")
tan = _elementwise("tan")
sinh = _elementwise("sinh")
cosh = _elementwise("cosh")
tanh = _elementwise("tanh")
asin = _elementwise("asin")
acos = _elementwise("acos")
atan = _elementwise("atan")
asinh = _elementwise("asinh")
acosh = _elementwise("acosh")
atanh = _elementwise("atanh")
floor = _elementwise("floor")
ceil = _elementwise("ceil")
trunc = _elementwise("trunc")
round = _elementwise("round")
abs = _elementwise("abs")
negative = _elementwise("negative")
sign = _elementwise("sign")
isnan = _elementwise("isnan")
isinf = _elementwise("isinf")
isfinite = _elementwise("isfinite")
logical_not = _elementwise("logical_not")
bitwise_not = _elementwise("bitwise_not")


def fast_exp(x: Tensor) -> Tensor:
    """exp; unlike TVM's function of this name, not an approximation.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.fast_exp(A).op.body[0]
    T.exp(A[i0, i1])
    """
    return exp(x)


def fast_tanh(x: Tensor) -> Tensor:
    """tanh; unlike TVM's function of this name, not an approximation.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.fast_tanh(A).op.body[0]
    T.tanh(A[i0, i1])
    """
    return tanh(x)


def fast_erf(x: Tensor) -> Tensor:
    """erf; unlike TVM's function of this name, not an approximation.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.fast_erf(A).op.body[0]
    T.erf(A[i0, i1])
    """
    return erf(x)


def ceil_log2(x: Any) -> Any:
    """The base-2 logarithm of a tensor or an expression, rounded up.

    >>> n = te.var("n", "float32")
    >>> topi.ceil_log2(n)
    T.ceil(T.log2(n))
    """
    return ceil(log2(x)) if isinstance(x, Tensor) else te.ceil(te.log2(x))


def clip(x: Tensor, a_min: Number, a_max: Number) -> Tensor:
    """x limited to the interval [a_min, a_max].

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.clip(A, 0, 6).op.body[0]
    T.max(T.min(A[i0, i1], T.float32(6)), T.float32(0))
    """

    def clipped(value: Any) -> Expr:
        low, high = (_bound(bound, value.dtype) for bound in (a_min, a_max))
        return ops.maximum(ops.minimum(value, high), low)

    return map_elements(x, clipped, "clip")


def _bound(bound: Number, dtype: str) -> Expr:
    """A bound of values of a dtype; a number beyond its integers is the last one of them."""
    if isinstance(bound, int | float) and dtypes.is_integral(dtype):
        bound = sorted((bound, *ops.int_limits(dtype)))[1]
    return ops.cast(dtype, ops.convert(bound))


def cast(x: Any, dtype: str, span: object = None) -> Any:
    """x, a tensor or an expression, converted to another dtype.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.cast(A, "int8").op.body[0]
    T.Cast("int8", A[i0, i1])
    """
    if not isinstance(x, Tensor):
        return ops.cast(dtype, ops.convert(x))
    return map_elements(x, lambda value: value.astype(dtype), "cast")


def reinterpret(x: Tensor, dtype: str) -> Tensor:
    """The bits of x reinterpreted as another dtype of the same width.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.reinterpret(A, "int32").op.body[0]
    T.reinterpret("int32", A[ax0, ax1])
    """
    return map_elements(x, lambda v: te.reinterpret(dtype, v), "reinterpret", "tensor", "ax")


def full(shape: Any, dtype: str, fill_value: Number) -> Tensor:
    """A tensor filled with one value.

    >>> topi.full((4, 8), "int32", 7).op.body[0]
    7
    """
    value = ops.cast(dtype, ops.convert(fill_value))
    extents = shape if isinstance(shape, list | tuple) else (shape,)
    return tensor_of(extents, lambda *i: value, "T_full", ELEMWISE)


def full_like(x: Tensor, fill_value: Number) -> Tensor:
    """A tensor of the shape and dtype of x filled with one value.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.full_like(A, 7).op.body[0]
    T.float32(7)
    """
    data = check_tensor(x, "full_like")
    value = ops.cast(data.dtype, ops.convert(fill_value))
    return tensor_of(data.shape, lambda *i: value, "T_full_like", ELEMWISE)


def elemwise_sum(xs: Sequence[Tensor]) -> Tensor:
    """The elementwise sum of tensors of one shape.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.elemwise_sum([A, A, A]).op.body[0]
    A[ax0, ax1] + A[ax0, ax1] + A[ax0, ax1]
    """
    if not len(xs):
        raise DeclarationError(
            "topi.elemwise_sum needs at least one tensor, got none", "", "give at least one tensor"
        )
    tensors = [check_tensor(x, "elemwise_sum") for x in xs]
    first, rest = tensors[0], tensors[1:]
    for other in rest:
        check_same(other.ndim, first.ndim, "elemwise_sum", f"rank of {other.name}")
        for a, b in zip(first.shape, other.shape, strict=True):
            check_same(b, a, "elemwise_sum", f"extent of {other.name}")

    def total(*i: Any) -> Any:
        value: Any = first(*i)
        for other in rest:
            value = value + other(*i)
        return value

    return tensor_of(first.shape, total, "T_elemwise_sum", ELEMWISE)
