"""Gives `Operand` its Python operators (`+`, `<`, `==`, ...), which are the functions of `ir.ops`.

Owns what an expression answers when Python asks for its truth value. Imported by te_sched.ir for
this effect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from te_sched.errors import DeclarationError, OperandError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import EQ, NE, Cast, Expr, IterVar, Operand, Var

# The axes of the te.compute whose function is running, else None. There `a == b` of two variables
# is a condition, never a truth value.
declaring: ContextVar[tuple[IterVar, ...] | None] = ContextVar("declaring", default=None)


def _astype(self: Any, dtype: str) -> Expr:
    """The value converted to a dtype, as C converts it; constants at once."""
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
    "equal": ops.equal,
    "astype": _astype,
}
# What Python does with values only, and what to write instead.
_NOT_FOR_EXPRESSIONS = {
    "__int__": ("convert the {} to int", 'cast it: .astype("int32")'),
    "__float__": ("convert the {} to float", 'cast it: .astype("float32")'),
    "__abs__": ("apply abs() to the {}", "use te.abs"),
    "__round__": ("apply round() to the {}", "use te.round"),
    "__trunc__": ("apply math.trunc() to the {}", "use te.trunc"),
    "__floor__": ("apply math.floor() to the {}", "use te.floor"),
    "__ceil__": ("apply math.ceil() to the {}", "use te.ceil"),
    "__pow__": ("apply ** to the {}", "use te.power, or multiply"),
    "__rpow__": ("apply ** to the {}", "use te.power, or multiply"),
    "__len__": ("take len() of the {}", "the extents of a tensor are tensor.shape"),
    "__iter__": (
        "iterate over the {}",
        "use te.reduce_axis with te.sum, te.max or te.min for a loop",
    ),
    "__contains__": ("apply `in` to the {}", "compare with te.any(a == b, ...)"),
}


def refusal(what: str, help: str) -> Callable[..., Any]:
    """A special method that refuses: expressions stand for values that are not known yet."""

    def refuse(self: object, *others: object) -> Any:
        name = getattr(self, "name", None)
        kind = f"{type(self).__name__} {name}" if isinstance(name, str) else type(self).__name__
        raise OperandError(
            f"cannot {what.format(kind)}", "its value is known only when the program runs", help
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
