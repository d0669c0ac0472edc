"""Gives `Operand` its Python operators (`+`, `<`, `==`, ...), which are the functions of `ir.ops`.

Owns the truth value of expressions, and the refusal of other conversions to Python values.
Imported by te_sched.ir for this effect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from te_sched.errors import DeclarationError, OperandError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import EQ, NE, Cast, Expr, IterVar, Operand, Var
from te_sched.ir.intrinsic_table import INTRINSICS

# The axes of the te.compute whose function is running, else None. There `a == b` of two variables
# is a condition, never a truth value.
declaring: ContextVar[tuple[IterVar, ...] | None] = ContextVar("declaring", default=None)


def _astype(self: Any, dtype: str) -> Expr:
    """The value converted to a dtype, as C converts it; constants at once.

    >>> te.var("n").astype("float32")
    T.Cast("float32", n)
    """
    return ops.cast(dtypes.spelled(dtype), self)


def _equal(a: Any, b: Any) -> Any:
    return False if b is None else ops.equal(a, b)


def _not_equal(a: Any, b: Any) -> Any:
    return True if b is None else ops.not_equal(a, b)


def division(a: Any, b: Any) -> Expr:
    """a / b, refused for two integers, of which it is not clear how they should round."""
    a, b = ops.convert(a), ops.convert(b)
    if dtypes.is_int(a.dtype) and dtypes.is_int(b.dtype):
        raise DeclarationError(
            f"cannot divide {a.dtype} by {b.dtype} with /",
            "the rounding of an integer division must be chosen",
            "use // (te.floordiv, rounds down) or te.truncdiv (rounds to zero), or cast to float",
        )
    return ops.div(a, b)


_SHORT = 60  # characters of an expression that is shown


def _truth(self: Operand) -> bool:
    """Whether `a == b` of two variables, or axes, has one on both sides (`axis in axes`).

    Other values have no truth before the program runs.
    """
    if isinstance(self, EQ | NE) and declaring.get() is None:
        a, b = _without_cast(self.a), _without_cast(self.b)
        if type(a) is type(b) is Var:
            return (a is b) is isinstance(self, EQ)
    text = str(self) if isinstance(self, Expr) else ""
    label = text if 0 < len(text) <= _SHORT else "an expression"
    raise DeclarationError(
        f"cannot take the truth value of {label}",
        "it is known only when the program runs, not by `if`, `and`, `or` and `not` now",
        "use te.if_then_else, te.all, te.any or te.not_",
    )


def _without_cast(e: Expr) -> Expr:
    """A variable that was cast to the type of the other one."""
    return e.value if type(e) is Cast else e


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """Operators between numpy's scalars and expressions; other functions of numpy are refused."""
    names = _OF_UFUNCS.get(ufunc.__name__)
    if names is not None and method == "__call__" and len(inputs) == 2 and not options:
        a, b = inputs
        return getattr(a, names[0])(b) if isinstance(a, Operand) else getattr(b, names[1])(a)
    function = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    name = _IN_TE.get(function, function)
    help = "use the functions of te or topi"
    if name in INTRINSICS or function in _IN_TE:
        over = "elements" if method == "__call__" else "elements, over a te.reduce_axis"
        help = f"use te.{name} of {over}"
    raise OperandError(
        f"cannot apply numpy's {function} to {_label(self)}",
        "numpy computes with values, which are known only when the program runs",
        help,
    )


def _label(value: object) -> str:
    name = getattr(value, "name", None)
    kind = type(value).__name__
    return f"the {kind} {name}" if isinstance(name, str) else f"the {kind}"


def _reflected(function: Callable[[Any, Any], Expr]) -> Callable[[Any, Any], Expr]:
    return lambda self, other: function(other, self)


_ARITHMETIC: dict[str, Callable[[Any, Any], Expr]] = {
    "add": ops.add,
    "sub": ops.sub,
    "mul": ops.mul,
    "truediv": division,
    "floordiv": ops.floordiv,
    "mod": ops.floormod,
    "lshift": ops.shift_left,
    "rshift": ops.shift_right,
    "and": ops.bitwise_and,
    "or": ops.bitwise_or,
    "xor": ops.bitwise_xor,
}
_OTHERS: dict[str, Any] = {
    "__lt__": ops.less,
    "__le__": ops.less_equal,
    "__gt__": ops.greater,
    "__ge__": ops.greater_equal,
    "__eq__": _equal,
    "__ne__": _not_equal,
    "__neg__": ops.negative,
    "__invert__": ops.bitwise_not,
    "__bool__": _truth,
    "__array_ufunc__": _array_ufunc,
    "equal": ops.equal,
    "astype": _astype,
}
_COMPARISONS = {
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
}
_ARITHMETIC_UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "left_shift": "lshift",
    "right_shift": "rshift",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}
# The methods that numpy's function of two arguments stands for, the reflected one second.
_OF_UFUNCS = _COMPARISONS | {
    ufunc: (f"__{name}__", f"__r{name}__") for ufunc, name in _ARITHMETIC_UFUNCS.items()
}
# te's names of numpy's functions, where they differ.
_IN_TE = {
    "absolute": "abs",
    "maximum": "max",
    "minimum": "min",
    "rint": "nearbyint",
    "power": "power",
    "float_power": "power",
    "logical_and": "all",
    "logical_or": "any",
    "logical_not": "not_",
    "invert": "bitwise_not",
    "add.reduce": "sum",
    "multiply.reduce": "prod",
    "maximum.reduce": "max",
    "minimum.reduce": "min",
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
}
# What Python does with values only, and what to write instead.
_NOT_FOR_EXPRESSIONS = {
    "__int__": ("convert {} to int", 'cast it: .astype("int32")'),
    "__float__": ("convert {} to float", 'cast it: .astype("float32")'),
    "__abs__": ("apply abs() to {}", "use te.abs"),
    "__round__": ("apply round() to {}", "use te.round"),
    "__trunc__": ("apply math.trunc() to {}", "use te.trunc"),
    "__floor__": ("apply math.floor() to {}", "use te.floor"),
    "__ceil__": ("apply math.ceil() to {}", "use te.ceil"),
    "__pow__": ("apply ** to {}", "use te.power, or multiply"),
    "__rpow__": ("apply ** to {}", "use te.power, or multiply"),
    "__len__": ("take len() of {}", "the extents of a tensor are tensor.shape"),
    "__iter__": (
        "iterate over {}",
        "use te.reduce_axis with te.sum, te.max or te.min for a loop",
    ),
    "__contains__": ("apply `in` to {}", "compare with te.any(a == b, ...)"),
}


def refusal(what: str, help: str) -> Callable[..., Any]:
    """A special method that raises: an expression has no value before the program runs."""

    def refuse(self: object, *others: object) -> Any:
        raise OperandError(
            f"cannot {what.format(_label(self))}",
            "its value is known only when the program runs",
            help,
        )

    return refuse


def _install() -> None:
    for name, function in _ARITHMETIC.items():
        setattr(Operand, f"__{name}__", function)
        setattr(Operand, f"__r{name}__", _reflected(function))
    for name, function in _OTHERS.items():
        setattr(Operand, name, function)
    for name, (what, help) in _NOT_FOR_EXPRESSIONS.items():
        setattr(Operand, name, refusal(what, help))


_install()
