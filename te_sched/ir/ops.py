"""Operators that match types, broadcast lanes and fold constants.

Operands are all values that `convert` accepts. The operators fold as much as TVM's, because their
results are printed; but x * 0, x + 0 and 0 / x of floats are kept, since they are not always equal
to 0 or x (`reals` folds them for the text). Further simplification is in `arith`.
"""

from __future__ import annotations

import ctypes
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, SupportsFloat, SupportsIndex, TypeVar

from te_sched.errors import DeclarationError, kind_of, repr_of, with_article
from te_sched.ir import dtypes
from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Broadcast,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    CompareOp,
    Div,
    Expr,
    ExprLike,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    StringImm,
    Sub,
    Var,
)  # fmt: skip
from te_sched.ir.intrinsic_table import INTRINSICS, MATHEMATICS
from te_sched.wording import wording

TRUE = IntImm(1, "bool")
FALSE = IntImm(0, "bool")

_CONSTANTS = (IntImm, FloatImm)
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1

# Converters of objects of other libraries (sympy): each returns an expression or None.
FOREIGN_CONVERSIONS: list[Callable[[Any], Expr | None]] = []


def const(value: Any, dtype: str | None = None) -> Expr:
    """A constant of a dtype.

    The default dtype is bool, int32 (int64 for large integers) or float32 (float64 for large
    floats), or that of a numpy scalar. Raises DeclarationError if the dtype cannot represent the
    value.

    >>> te.const(1.5)
    T.float32(1.5)
    >>> te.const(3, "int8").dtype
    'int8'
    """
    dtype = _default_dtype(value) if dtype is None else dtypes.spelled(dtype)
    if not isinstance(value, numbers.Number) and not hasattr(value, "item"):
        raise DeclarationError(
            f"a constant must be a number, got {repr_of(value)}", "", "give a bool, int or float"
        )
    element = dtypes.element(dtype)
    kind = dtypes.parse(element)
    if dtypes.is_float(element):
        scalar: Expr = _float_const(_as_float(value, element), element)
    elif kind.code in ("int", "uint", "bool"):
        scalar = _int_const(value, element)
    else:
        raise DeclarationError(
            f"dtype {dtype} has no constants",
            "",
            "use a bool, integer or float type",
        )
    count = dtypes.lanes(dtype)
    return scalar if count == 1 else Broadcast(scalar, count)


def _as_float(value: SupportsFloat | SupportsIndex, dtype: str) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        raise DeclarationError(
            f"the constant {repr_of(value)} cannot be converted to {dtype}",
            "",
            "give a real number, or float('inf')",
        ) from None


def _default_dtype(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -_INT32_MAX - 1 <= value <= _INT32_MAX else "int64"
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return str(value.dtype)
    is_large = isinstance(value, float) and dtypes.LARGEST["float32"] < abs(value) < math.inf
    return "float64" if is_large else "float32"


def _float_const(value: float, dtype: str) -> Expr:
    if abs(value) > dtypes.LARGEST.get(dtype, math.inf) and not math.isinf(value):
        raise DeclarationError(
            f"the constant {value!r} is out of the range of {dtype}",
            f"its largest value is {dtypes.LARGEST[dtype]!r}",
            "use a wider type, or float('inf')",
        )
    return FloatImm(value, dtype)


def _int_const(value: Any, dtype: str) -> Expr:
    try:
        number = int(value)
    except (OverflowError, ValueError, TypeError):
        raise DeclarationError(
            f"the constant {repr_of(value)} is not an integer, expected {dtype}",
            "",
            "use a float dtype",
        ) from None
    low, high = int_limits(dtype)
    if not low <= number <= high:
        raise DeclarationError(
            f"the constant {repr_of(number)} is out of the range of {dtype}",
            f"its values are {low} to {high}",
            "use a wider dtype",
        )
    if number > _INT64_MAX:  # a call, as in TVM: an IntImm has 63 bits
        halves = (IntImm(number & 0xFFFFFFFF, "uint32"), IntImm(number >> 32, "uint32"))
        return Call(dtype, "tir.large_uint_imm", halves)
    return IntImm(number, dtype)


def int_limits(dtype: str) -> tuple[int, int]:
    """The minimum and maximum of an integer type or bool."""
    kind = dtypes.parse(dtype)
    if kind.code == "int":
        most = (1 << (kind.bits - 1)) - 1
        return -most - 1, most or 1  # int1 has 1 too, as True
    return 0, (1 << kind.bits) - 1


def convert(value: ExprLike) -> Expr:
    """The expression for a value.

    Accepts expressions, axes, elements of tensors, numbers (int32, or int64 if large, and float32),
    bools, strings and sympy expressions.

    >>> convert(3), convert(0.5), convert(True)
    (3, T.float32(0.5), T.bool(True))
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, BufferRegion):
        return BufferLoad(value.buffer, value.indices)
    if isinstance(value, bool):
        return IntImm(int(value), "bool")
    if type(value) is dtypes.ScalableLanes:
        return _product_of(value)
    if isinstance(value, numbers.Integral):  # also numpy's, whatever their width
        return const(int(value))
    if isinstance(value, numbers.Real) and isinstance(value, float | _NumpyFloating):
        return const(float(value), "float32")
    if isinstance(value, str):
        return StringImm(value)
    if hasattr(value, "_te_expr_"):  # an element of a tensor
        element: Expr = value._te_expr_()
        return element
    for conversion in FOREIGN_CONVERSIONS:
        if (result := conversion(value)) is not None:
            return result
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        scalar: Any = value
        return const(scalar.item())
    raise DeclarationError(
        f"{kind_of(value)} cannot be used in an expression",
        "",
        "use its elements, such as x[0]"
        if isinstance(value, list | tuple) and len(value) and isinstance(value[0], Expr)
        else f"use {wording().operands}",
    )


def _product_of(lanes: dtypes.ScalableLanes) -> Mul:
    """The lanes of a scalable vector as an expression."""
    return Mul(Call("int32", "tir.vscale", ()), IntImm(int(lanes)))


setattr(dtypes.ScalableLanes, "a", property(lambda self: _product_of(self).a))  # noqa: B010
setattr(dtypes.ScalableLanes, "b", property(lambda self: _product_of(self).b))  # noqa: B010


class _FloatingMeta(type):
    """Recognizes numpy's floating-point scalars without importing numpy."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance).__module__ == "numpy" and hasattr(instance, "dtype")


class _NumpyFloating(metaclass=_FloatingMeta):
    pass


BinaryFunction = Callable[[ExprLike, ExprLike], Expr]
_OfNumbers = Callable[[Any, Any], Any]  # folds the values of two constants


def operands(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Both operands of an operation as expressions of one dtype."""
    if not isinstance(a, Expr):
        a = convert(a)
    if not isinstance(b, Expr):
        b = convert(b)
    return (a, b) if a.dtype == b.dtype else match_types(a, b)


def match_types(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """The operands cast to one dtype and broadcast to one number of lanes.

    Floats take precedence over integers, wider types over narrower ones, and unsigned types over
    signed ones of the same width.
    """
    if a.dtype == b.dtype:
        return a, b
    kind_a, kind_b = dtypes.parse(a.dtype), dtypes.parse(b.dtype)
    if "handle" in (kind_a.code, kind_b.code):
        raise DeclarationError(
            f"cannot compute with {a.dtype} and {b.dtype}",
            "handles and strings are not numbers",
            f"compute with {wording().operands}",
        )
    if kind_a.lanes != kind_b.lanes:
        if 1 not in (kind_a.lanes, kind_b.lanes):
            raise DeclarationError(
                f"cannot compute with {a.dtype} and {b.dtype}",
                "their numbers of lanes differ",
                "use vectors of one length, or a vector and a scalar",
            )
        if kind_a.lanes == 1:
            return match_types(Broadcast(a, kind_b.lanes), b)
        return match_types(a, Broadcast(b, kind_a.lanes))
    rank_a, rank_b = _rank(kind_a), _rank(kind_b)
    if rank_a == rank_b:  # e4m3_float8 and e5m2_float8
        raise DeclarationError(
            f"cannot compute with {a.dtype} and {b.dtype}",
            "neither type has all values of the other",
            'cast both, for example with .astype("float16")',
        )
    return (a, cast(a.dtype, b)) if rank_a > rank_b else (cast(b.dtype, a), b)


def _rank(kind: dtypes.DType) -> tuple[int, int, int]:
    is_float = 2 if kind.code == "float" else int(kind.code.endswith("float"))
    return is_float, kind.bits, int(kind.code != "int")


def cast(dtype: str, value: ExprLike) -> Expr:
    """Convert to a dtype; constants are folded, lanes are broadcast."""
    source = convert(value)
    if type(dtype) is not str:
        dtype = dtypes.spelled(dtype)
    if source.dtype == dtype:
        return source
    count = dtypes.lanes(dtype)
    if count > 1 and dtypes.lanes(source.dtype) == 1:
        return Broadcast(cast(dtypes.element(dtype), source), count)
    if dtypes.lanes(source.dtype) != count:
        raise DeclarationError(
            f"cannot cast {source.dtype} to {dtype}",
            "their numbers of lanes differ",
            "cast to a dtype of the same number of lanes",
        )
    if isinstance(source, Broadcast):
        return Broadcast(cast(dtypes.element(dtype), source.value), source.lanes)
    if isinstance(source, (IntImm, FloatImm)) and dtypes.parse(dtype).code != "handle":
        if dtype == "bool":
            return IntImm(int(source.value != 0), "bool")
        if dtypes.is_float(dtype) or math.isfinite(source.value):
            return const(source.value, dtype)
    if dtypes.parse(source.dtype).code == "handle" and dtypes.parse(dtype).code != "handle":
        raise DeclarationError(
            f"cannot cast a handle to {dtype}",
            "handles and strings are not numbers",
            f"use {wording().module}.reinterpret for the bits of a pointer",
            in_tvm="Can't cast a handle to other types",
        )
    return Cast(dtype, source)


def wrapped(value: int, dtype: str) -> IntImm:
    """An integer constant, wrapped around to its type."""
    kind = dtypes.parse(dtype)
    value &= (1 << kind.bits) - 1
    if kind.code == "int" and value >> (kind.bits - 1):
        value -= 1 << kind.bits
    return IntImm(value, dtype)


def _folded(function: _OfNumbers, a: Expr, b: Expr) -> Expr | None:
    """The result for two constants: integers wrap around, float32 rounds. None for other types."""
    if type(a) is IntImm and type(b) is IntImm:
        return wrapped(function(a.value, b.value), a.dtype)
    if type(a) is FloatImm and type(b) is FloatImm:
        if a.dtype == "float64":
            return FloatImm(function(a.value, b.value), "float64")
        if a.dtype == "float32":
            x, y = ctypes.c_float(a.value).value, ctypes.c_float(b.value).value
            return FloatImm(ctypes.c_float(function(x, y)).value, "float32")
    return None


def _is(value: Any, number: int) -> bool:
    return type(value) in _CONSTANTS and bool(value.value == number)


def _is_zero(value: Expr, sign: float) -> bool:
    """Whether a value is the integer 0, or the float 0 with a given sign."""
    if type(value) is IntImm:
        return value.value == 0
    return type(value) is FloatImm and value.value == 0 and math.copysign(1.0, value.value) == sign


def add(a: ExprLike, b: ExprLike) -> Expr:
    """a + b

    >>> te.add(te.var("n"), 1)
    n + 1
    """
    x, y = operands(a, b)
    if type(x) in _CONSTANTS:
        if (folded := _folded(operator.add, x, y)) is not None:
            return folded
        if _is_zero(x, -1.0):
            return y
    return x if type(y) in _CONSTANTS and _is_zero(y, -1.0) else Add(x, y)


def subtract(a: ExprLike, b: ExprLike) -> Expr:
    """a - b

    >>> te.subtract(te.var("n"), 1)
    n - 1
    """
    x, y = operands(a, b)
    if type(y) in _CONSTANTS:
        if (folded := _folded(operator.sub, x, y)) is not None:
            return folded
        if _is_zero(y, 1.0):
            return x
    return Sub(x, y)


def multiply(a: ExprLike, b: ExprLike) -> Expr:
    """a * b

    >>> te.multiply(te.var("n"), 2)
    n * 2
    """
    x, y = operands(a, b)
    if type(x) in _CONSTANTS:
        if (folded := _folded(operator.mul, x, y)) is not None:
            return folded
        if _is(x, 1):
            return y
        if is_const(x, 0):
            return x
    if type(y) in _CONSTANTS:
        if _is(y, 1):
            return x
        if is_const(y, 0):
            return y
    return Mul(x, y)


sub, mul = subtract, multiply


def negative(a: ExprLike) -> Expr:
    """-a"""
    a = convert(a)
    if dtypes.parse(a.dtype).code in ("uint", "bool"):
        raise DeclarationError(
            f"cannot negate {with_article(a.dtype)}",
            "it has no negative values",
            'cast it first, for example with .astype("int32")',
        )
    return mul(a, const(-1, a.dtype))


def _divisible(a: ExprLike, b: ExprLike, name: str) -> tuple[Expr, Expr]:
    a, b = operands(a, b)
    if not dtypes.is_integral(a.dtype) and not dtypes.is_bool(a.dtype):
        raise DeclarationError(
            f"{name} needs integers, got {a.dtype} and {b.dtype}",
            "",
            f"use / or {wording().module}.fmod for floats, or cast to an integer type",
        )
    _check_divisor(b)
    return a, b


def _check_divisor(b: Expr) -> None:
    if _is(b, 0):
        raise DeclarationError(
            "division by zero", "the divisor is the constant 0", "divide by another number"
        )


def truncate_division(a: int, b: int) -> int:
    """a / b rounded towards zero, of Python integers."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _float_quotient(a: float, b: float) -> float:
    """a / b of IEEE 754."""
    if b:
        return a / b
    sign = math.copysign(1.0, a) * math.copysign(1.0, b)
    return math.nan if a == 0 or math.isnan(a) else sign * math.inf


def div(a: ExprLike, b: ExprLike) -> Expr:
    """a / b; integers round towards zero, floats may be divided by 0.0

    >>> te.div(-7, 2)
    -3
    """
    a, b = operands(a, b)
    function: _OfNumbers = _float_quotient
    if not dtypes.is_float(a.dtype):
        _check_divisor(b)
        function = truncate_division
    if (folded := _folded(function, a, b)) is not None:
        return folded
    return a if is_const(a, 0) or _is(b, 1) else Div(a, b)


def truncdiv(a: ExprLike, b: ExprLike) -> Expr:
    """a / b of integers, rounded towards zero

    >>> te.truncdiv(-7, 2)
    -3
    """
    return div(*_divisible(a, b, "truncdiv"))


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """The remainder of truncdiv, with the sign of a

    >>> te.truncmod(-7, 2)
    -1
    """
    a, b = operands(a, b)
    return _modulo(Mod, lambda x, y: x - y * truncate_division(x, y), a, b)


def floordiv(a: ExprLike, b: ExprLike) -> Expr:
    """a / b of integers, rounded towards minus infinity

    >>> te.floordiv(-7, 2)
    -4
    """
    a, b = _divisible(a, b, "floordiv")
    if (folded := _folded(operator.floordiv, a, b)) is not None:
        return folded
    return a if _is(a, 0) or _is(b, 1) else FloorDiv(a, b)


def floormod(a: ExprLike, b: ExprLike) -> Expr:
    """The remainder of floordiv, with the sign of b

    >>> te.floormod(-7, 2)
    1
    """
    return _modulo(FloorMod, operator.mod, *_divisible(a, b, "floormod"))


def _modulo(kind: type[BinaryOp], function: _OfNumbers, a: Expr, b: Expr) -> Expr:
    if not dtypes.is_float(a.dtype):
        _check_divisor(b)
    if is_index_type(a.dtype):
        if _is(a, 0) or _is(b, 1):
            return IntImm(0, a.dtype)
        if type(a) is IntImm and type(b) is IntImm:
            return IntImm(function(a.value, b.value), a.dtype)
    return kind(a, b)


def is_index_type(dtype: str) -> bool:
    """int32 and int64: only these types fold in remainders, shifts and bit operations."""
    return dtype in ("int32", "int64")


def ceildiv(a: ExprLike, b: ExprLike) -> Expr:
    """a / b of integers, rounded towards infinity

    Of sizes and indices it is (a + b - 1) // b, as in TVM; of other values, whose sum with b may
    exceed their type, and of negative divisors it is computed without that sum.

    >>> te.ceildiv(7, 2), te.ceildiv(te.var("n"), 8)
    (4, (n + 8 - 1) // 8)
    >>> te.ceildiv(te.var("x", "int8"), te.const(8, "int8"))
    x // T.int8(8) + T.Cast("int8", x % T.int8(8) != T.int8(0))
    """
    a, b = _divisible(a, b, "ceildiv")
    if type(a) is IntImm and type(b) is IntImm:
        return wrapped(-(-a.value // b.value), a.dtype)
    is_negative = type(b) is IntImm and b.value < 0
    if dtypes.counts(a.dtype) and not is_negative and _is_index(a) and _is_index(b):
        return floordiv(sub(add(a, b), const(1, a.dtype)), b)
    return add(floordiv(a, b), cast(a.dtype, not_equal(floormod(a, b), const(0, a.dtype))))


def _is_index(e: Expr) -> bool:
    """Whether an integer is computed of variables alone, whose sums stay within their type."""
    if isinstance(e, BinaryOp):
        return _is_index(e.a) and _is_index(e.b)
    if type(e) is Cast:
        return dtypes.counts(e.value.dtype) and _is_index(e.value)
    return isinstance(e, Var | IntImm)


def minimum(a: ExprLike, b: ExprLike) -> Expr:
    """The smaller of a and b"""
    return _extremum(Min, min, a, b)


def maximum(a: ExprLike, b: ExprLike) -> Expr:
    """The larger of a and b"""
    return _extremum(Max, max, a, b)


def _extremum(kind: type[BinaryOp], function: _OfNumbers, a: ExprLike, b: ExprLike) -> Expr:
    x, y = operands(a, b)
    if (
        isinstance(x, _CONSTANTS)
        and isinstance(y, type(x))
        and (type(x) is IntImm or x.value < y.value or x.value > y.value)
    ):
        return type(x)(function(x.value, y.value), x.dtype)
    return x if x is y else kind(x, y)


def _is_vscale(value: Expr) -> bool:
    return type(value) is Call and value.op == "tir.vscale"


def _comparison(kind: type[CompareOp], function: _OfNumbers, sign: str) -> BinaryFunction:
    def compare(a: Any, b: Any) -> Expr:
        a, b = operands(a, b)
        if type(a) in _CONSTANTS and type(b) in _CONSTANTS:
            return TRUE if function(a.value, b.value) else FALSE
        if kind is EQ and _is_vscale(a) and _is_vscale(b):
            return TRUE
        return kind(a, b)

    compare.__doc__ = f"""The condition a {sign} b.

    >>> te.var("a") {sign} 1
    a {sign} 1
    """
    return compare


equal = _comparison(EQ, operator.eq, "==")
not_equal = _comparison(NE, operator.ne, "!=")
less = _comparison(LT, operator.lt, "<")
less_equal = _comparison(LE, operator.le, "<=")
greater = _comparison(GT, operator.gt, ">")
greater_equal = _comparison(GE, operator.ge, ">=")


def _conditions(a: ExprLike, b: ExprLike, name: str) -> tuple[Expr, Expr]:
    first, second = convert(a), convert(b)
    a, b = operands(first, second)
    if not dtypes.is_bool(dtypes.element(a.dtype)):
        raise DeclarationError(
            f"{name} needs conditions, got {first.dtype} and {second.dtype}",
            "",
            "compare the operands, or cast them to bool",
        )
    return a, b


def logical_and(a: ExprLike, b: ExprLike) -> Expr:
    """a and b"""
    a, b = _conditions(a, b, "and")
    for operand, other in ((a, b), (b, a)):
        if type(operand) is IntImm:
            return other if operand.value else operand
    return And(a, b)


def logical_or(a: ExprLike, b: ExprLike) -> Expr:
    """a or b"""
    a, b = _conditions(a, b, "or")
    for operand, other in ((a, b), (b, a)):
        if type(operand) is IntImm:
            return operand if operand.value else other
    return Or(a, b)


def logical_not(a: ExprLike) -> Expr:
    """not a"""
    a, _ = _conditions(a, TRUE, "not")
    return IntImm(1 - a.value, "bool") if type(a) is IntImm else Not(a)


def _bit_operands(a: ExprLike, b: ExprLike, name: str) -> tuple[Expr, Expr]:
    """The operands, where a Python number takes the type of the other one."""
    if isinstance(b, numbers.Integral) and not isinstance(a, numbers.Integral):
        a = convert(a)
        b = const(int(b), a.dtype)
    elif isinstance(a, numbers.Integral) and not isinstance(b, numbers.Integral):
        b = convert(b)
        a = const(int(a), b.dtype)
    a, b = operands(a, b)
    if dtypes.is_float(a.dtype):
        raise DeclarationError(
            f"{name} needs integers, got {a.dtype} and {b.dtype}", "", "cast them to integers"
        )
    return a, b


_Function = TypeVar("_Function", bound=Callable[..., object])


def _bitwise(name: str, function: _OfNumbers) -> BinaryFunction:
    def build(a: ExprLike, b: ExprLike) -> Expr:
        a, b = _bit_operands(a, b, name)
        if type(a) is IntImm and type(b) is IntImm and is_index_type(a.dtype):
            return IntImm(function(a.value, b.value), a.dtype)
        return Call(a.dtype, f"tir.{name}", (a, b))

    return named(build, name)


def _shift(name: str, function: _OfNumbers) -> BinaryFunction:
    def build(a: ExprLike, b: ExprLike) -> Expr:
        x, y = _bit_operands(a, b, name)
        if type(y) is IntImm and is_index_type(x.dtype):
            if not 0 <= y.value < dtypes.bits(x.dtype):
                raise DeclarationError(
                    f"cannot shift {x.dtype} by {y.value} bits",
                    "",
                    f"shift by 0 to {dtypes.bits(x.dtype) - 1}",
                )
            if type(x) is IntImm:
                return const(function(x.value, y.value), x.dtype)
            if y.value == 0:
                return x
        return Call(x.dtype, f"tir.{name}", (x, y))

    return named(build, name)


def named(function: _Function, name: str) -> _Function:
    """The function with the name and meaning of an intrinsic."""
    function.__name__ = function.__qualname__ = name
    row = INTRINSICS[name]
    dtype = "float32" if row.types == "float" or row.name in MATHEMATICS else "int32"
    names = ("x", "y")[: row.arity]
    declarations = [f'>>> {name} = te.var("{name}", "{dtype}")' for name in names]
    called = f"{name}({', '.join(names)})"
    function.__doc__ = "\n".join((row.text, "", *declarations, f">>> te.{called}", f"T.{called}"))
    return function


bitwise_and = _bitwise("bitwise_and", operator.and_)
bitwise_or = _bitwise("bitwise_or", operator.or_)
bitwise_xor = _bitwise("bitwise_xor", operator.xor)
shift_left = _shift("shift_left", operator.lshift)
shift_right = _shift("shift_right", operator.rshift)


def bitwise_not(a: ExprLike) -> Expr:
    """~a

    >>> te.bitwise_not(te.var("n"))
    T.bitwise_not(n)
    """
    a, _ = _bit_operands(a, a, "bitwise_not")
    return Call(a.dtype, "tir.bitwise_not", (a,))


def of_reals(kind: type, a: Expr, b: Expr) -> Expr | None:
    """The result of folding an operation with constant floats as TVM's operators do, which treat
    them as real numbers: x * 0 is 0. None if it is not folded.
    """
    if kind in (Min, Max):
        if not (isinstance(a, FloatImm) and isinstance(b, FloatImm)):
            return None
        return FloatImm((min if kind is Min else max)(a.value, b.value), a.dtype)
    if kind is Mul and (_is(a, 0) or _is(b, 1)):
        return a
    if kind is Mul and (_is(b, 0) or _is(a, 1)):
        return b
    if kind is Add and _is(a, 0):
        return b
    if (kind in (Add, Sub) and _is(b, 0)) or (kind is Div and (_is(a, 0) or _is(b, 1))):
        return a
    return None


# The function that builds each class of binary nodes.
BUILDERS: dict[type[Expr], BinaryFunction] = {
    Add: add,
    Sub: sub,
    Mul: mul,
    Div: div,
    FloorDiv: floordiv,
    FloorMod: floormod,
    Min: minimum,
    Max: maximum,
    EQ: equal,
    NE: not_equal,
    LT: less,
    LE: less_equal,
    GT: greater,
    GE: greater_equal,
    And: logical_and,
    Or: logical_or,
}


def is_const(value: object, constant: int) -> bool:
    """Whether an expression is a given integer constant."""
    return type(value) is IntImm and value.value == constant
