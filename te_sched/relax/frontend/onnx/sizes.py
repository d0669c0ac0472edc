"""Sizes where ONNX has tensors of numbers: what computes shapes is evaluated while a model is read.

    Shape, Gather, Sub, Div      OnnxSizes((n - 9) / 2), without dimensions, rounded towards zero
    Cast to float, Mul, Floor    floor(float32(n) * 1.5), which a cast to integers makes a size

Must not know rows of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from te_sched.arith.analyzer import Analyzer
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Call, Cast, Expr, FloatImm, IntImm, Mul
from te_sched.ir.graph import GraphExpr
from te_sched.relax.frontend.onnx.sequences import OnnxAbsent, OnnxList, OnnxSequence
from te_sched.relax.frontend.tensors import Size

_LARGEST_RATIO = 1 << 10  # products of sizes and small ratios are exact in float32


# What a node computes with: an element of a tensor of numbers, which may be a size.
Number = Expr | float
Numbers = NDArray[Any]  # of any dtype
Array = Numbers | np.generic


class OnnxSizes(tuple[Number, ...]):
    """Numbers of which some are expressions: those of a tensor of one dimension, or of none.

    `make` gives the tensor of the graph where the numbers cannot be computed as a shape.
    """

    is_scalar: bool
    dtype: str
    make: Callable[[], GraphExpr] | None

    def __new__(
        cls,
        values: Sequence[Number],
        is_scalar: bool = False,
        dtype: str = "int64",
        make: Callable[[], GraphExpr] | None = None,
    ) -> OnnxSizes:
        """The numbers, ints and expressions."""
        sizes = super().__new__(cls, values)
        sizes.is_scalar, sizes.dtype, sizes.make = is_scalar, dtype, make
        return sizes


# Values that are known while a model is read, and all values of its nodes.
Known = Array | OnnxSizes
Value = GraphExpr | Known | OnnxSequence | OnnxList | OnnxAbsent

_T = TypeVar("_T")


def is_known(value: object) -> TypeGuard[Known]:
    """Whether a value is an array or sizes."""
    return isinstance(value, np.ndarray | np.generic | OnnxSizes)


def are_open(*sizes: Number) -> bool:
    """Whether a call gives one of the sizes.

    >>> are_open(1, 2.5), are_open(1, ops.convert(2) + 1)
    (False, True)
    """
    return any(isinstance(size, Expr) for size in sizes)


def arrays_of(*values: Value) -> list[Numbers] | None:
    """Values as arrays; None if a call gives one of them, or its sizes.

    >>> arrays_of(np.array([1]), np.float32(2))
    [array([1]), array(2., dtype=float32)]
    """
    arrays = [np.asarray(value) for value in values if isinstance(value, np.ndarray | np.generic)]
    return arrays if len(arrays) == len(values) else None


def as_sizes(
    values: Sequence[Number],
    is_scalar: bool = False,
    dtype: str = "int64",
    make: Callable[[], GraphExpr] | None = None,
) -> Known:
    """Sizes; an array if all are numbers."""
    simple = [value.value if isinstance(value, IntImm | FloatImm) else value for value in values]
    if any(isinstance(value, Expr) for value in simple):
        return OnnxSizes(simple, is_scalar, dtype, make)
    return np.array(simple[0] if is_scalar else simple, dtype)


def rank_of(value: Known) -> int:
    """The number of dimensions of sizes or of an array."""
    return int(not value.is_scalar) if isinstance(value, OnnxSizes) else np.ndim(value)


def elements(value: Known) -> list[Number]:
    """The numbers of sizes or of an array."""
    return list(value) if isinstance(value, OnnxSizes) else np.asarray(value).ravel().tolist()


def zipped(function: Callable[[Number, Number], _T], a: Known, b: Known) -> list[_T] | None:
    """The results of a function of the numbers of two values; None if they do not fit."""
    numbers, other = elements(a), elements(b)
    count = max(len(numbers), len(other)) if numbers and other else 0
    if max(rank_of(a), rank_of(b)) > 1 or any(len(it) not in (1, count) for it in (numbers, other)):
        return None
    pairs = zip(*[it * (count if len(it) == 1 else 1) for it in (numbers, other)], strict=True)
    return [function(*pair) for pair in pairs]


def quotient(a: Number, b: Number, analyzer: Analyzer) -> Number:
    """A quotient: that of integers is rounded towards zero."""
    dividend, other = ops.convert(a), ops.convert(b)
    if not (isinstance(a, Expr) or isinstance(b, Expr)):
        is_integral = isinstance(a, int) and isinstance(b, int)
        return (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) if is_integral else a / b
    if dtypes.is_float(dividend.dtype) or dtypes.is_float(other.dtype):
        return real(a) / real(b)
    is_positive = analyzer.can_prove(ops.greater_equal(dividend, 0))
    if is_positive and analyzer.can_prove(ops.greater(other, 0)):
        return ops.floordiv(a, b)
    return ops.truncdiv(a, b)


def real(value: Number) -> Number:
    """A number as one of float32."""
    return ops.cast("float32", value) if isinstance(value, Expr) else float(value)


def product(a: Number, b: Number) -> Number:
    """A product; that of a size that is cast to float32 and of an integer is cast afterwards."""
    if not isinstance(a, Expr):
        a, b = b, a
    if isinstance(a, Cast) and not isinstance(b, Expr) and float(b).is_integer():
        return ops.cast("float32", ops.multiply(a.value, int(b)))
    return a * b


def largest(a: Number, b: Number) -> Number:
    """The larger one of two numbers.

    >>> largest(2, 3), largest(te.var("n"), 3)
    (3, T.max(n, 3))
    """
    return ops.maximum(a, b) if are_open(a, b) else max(a, b)


def smallest(a: Number, b: Number) -> Number:
    """The smaller one of two numbers."""
    return ops.minimum(a, b) if are_open(a, b) else min(a, b)


def decided(condition: object, analyzer: Analyzer) -> bool | None:
    """Whether a condition of sizes holds always (True) or never (False); None if that depends."""
    if not isinstance(condition, Expr):
        return bool(condition)
    if analyzer.can_prove(condition):
        return True
    return False if analyzer.can_prove(ops.logical_not(condition)) else None


def rounded(name: str, value: Number) -> Number:
    """`floor` or `ceil` of a number of float32."""
    if not isinstance(value, Expr):
        return float(np.floor(value) if name == "floor" else np.ceil(value))
    return value if isinstance(value, Cast) else getattr(intrinsics, name)(value)


def integral(value: Number) -> tuple[Size, bool]:
    """A number of float32 as an integer, rounded towards zero; whether it is a plain size, which
    has no floats in it.
    """
    if not isinstance(value, Expr):
        return int(value), True
    if isinstance(value, Cast):
        return value.value, True
    inner = value.args[0] if isinstance(value, Call) and value.op == "tir.floor" else None
    if isinstance(inner, Mul) and isinstance(inner.a, Cast) and isinstance(inner.b, FloatImm):
        ratio = Fraction(inner.b.value)
        if 0 < ratio.numerator < _LARGEST_RATIO and ratio.denominator < _LARGEST_RATIO:
            return scaled(inner.a.value, ratio), True
    return ops.cast("int64", value), False


def is_whole(value: Number) -> bool:
    """Whether a number is a size, also one that is cast to float32, or a whole number.

    >>> is_whole(2.0), is_whole(2.5)
    (True, False)
    """
    if not isinstance(value, Expr):
        return float(value).is_integer()
    return not dtypes.is_float(value.dtype) or isinstance(value, Cast)


def scaled(size: Size, ratio: Fraction) -> Size:
    """A size times a ratio, rounded down."""
    return ops.floordiv(ops.multiply(size, ratio.numerator), ratio.denominator)
