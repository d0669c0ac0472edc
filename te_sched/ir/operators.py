"""Adds Python's operators (`+`, `<`, `==`, ...) to `Operand`; they are the functions of `ir.ops`.

Owns the truth value of expressions, and the errors of other conversions to Python values.
Imported by te_sched.ir for this effect.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

from te_sched.errors import DeclarationError, OperandError, TruthError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    EQ,
    NE,
    Cast,
    DataProducer,
    Expr,
    ExprLike,
    IterVar,
    Operand,
    StringImm,
    Var,
)
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.wording import wording

if TYPE_CHECKING:
    import numpy as np

# The axes of the te.compute whose function is running, otherwise None. In such a function `a == b`
# of two variables is a condition without a truth value.
declaring: ContextVar[tuple[IterVar, ...] | None] = ContextVar("declaring", default=None)
# Whether / of two integers rounds to zero, as in TVM until 0.5.
rounding_to_zero: ContextVar[bool] = ContextVar("rounding_to_zero", default=False)


def _astype(self: Operand, dtype: str) -> Expr:
    """The value converted to a dtype as in C; constants are folded.

    >>> te.var("n").astype("float32")
    T.Cast("float32", n)
    """
    return ops.cast(dtypes.spelled(dtype), self)


def _equal(a: Operand, b: Any) -> Expr | bool:
    if b is None or type(a) is StringImm:
        return _is_text(a, b)
    return ops.equal(a, b)


def _not_equal(a: Operand, b: Any) -> Expr | bool:
    if b is None or type(a) is StringImm:
        return not _is_text(a, b)
    return ops.not_equal(a, b)


def _is_text(a: Operand, b: object) -> bool:
    """Whether a string constant has the text of another one, or of a string."""
    text = b.value if type(b) is StringImm else b
    return isinstance(text, str) and isinstance(a, StringImm) and a.value == text


def division(a: ExprLike, b: ExprLike) -> Expr:
    """a / b; refused for two integers, because the rounding is ambiguous."""
    a, b = ops.convert(a), ops.convert(b)
    if dtypes.is_int(a.dtype) and dtypes.is_int(b.dtype) and not rounding_to_zero.get():
        raise DeclarationError(
            f"cannot divide {a.dtype} by {b.dtype} with /",
            "it does not say how the quotient of integers is rounded",
            "use // ({te}.floordiv, rounds down) or {te}.truncdiv (rounds to zero), or cast to "
            "float".format(te=wording().module),
        )
    return ops.div(a, b)


_SHORT = 60  # the maximum number of characters of an expression in a message


def _truth(self: Operand) -> bool:
    """The truth value of `a == b` or `a != b` of variables or axes, by identity (`axis in axes`).

    Other expressions have no truth value.
    """
    if isinstance(self, EQ | NE) and declaring.get() is None:
        a, b = _without_cast(self.a), _without_cast(self.b)
        if type(a) is type(b) is Var:
            return (a is b) is isinstance(self, EQ)
    text = str(self) if isinstance(self, Expr) else ""
    raise TruthError(
        f"{text if 0 < len(text) <= _SHORT else 'an expression'} has no truth value in Python",
        "its value is known only when the program runs, so `if`, `and`, `or`, `not`, `min` and "
        "`max` cannot use it",
        wording().conditions,
    )


def _without_cast(e: Expr) -> Expr:
    """The operand of a cast that matched the types of two variables."""
    return e.value if type(e) is Cast else e


def _reflected(
    function: ops.BinaryFunction,
) -> ops.BinaryFunction:
    return lambda self, other: function(other, self)


def _of_elements(function: ops.BinaryFunction) -> Callable[[Operand, ExprLike], Expr]:
    """An operator that leaves a whole tensor on the right to the operator of the tensor.

    The function of a te.compute returns elements, so there a whole tensor is refused.
    """

    def operator(self: Operand, other: ExprLike) -> Any:
        if isinstance(other, DataProducer) and other.shape and declaring.get() is None:
            return NotImplemented
        return function(self, other)

    operator.__doc__ = function.__doc__
    return operator


_ARITHMETIC: dict[str, ops.BinaryFunction] = {
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
_OTHERS: dict[str, Callable[..., Expr | bool]] = {
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
# Operations of Python and numpy that need values, and their alternatives.
_NOT_FOR_EXPRESSIONS = {
    "__int__": ("int() cannot be applied to", 'cast it: .astype("int32")'),
    "__float__": (
        "float() cannot be applied to",
        'use {te}.exp for math.exp, ...; or cast it: .astype("float32")',
    ),
    "__abs__": ("abs() cannot be applied to", "use {te}.abs"),
    "__round__": ("round() cannot be applied to", "use {te}.round"),
    "__trunc__": ("math.trunc() cannot be applied to", "use {te}.trunc"),
    "__floor__": ("math.floor() cannot be applied to", "use {te}.floor"),
    "__ceil__": ("math.ceil() cannot be applied to", "use {te}.ceil"),
    "__pow__": ("** cannot be applied to", "use {power}, or multiply"),
    "__rpow__": ("** cannot be applied to", "use {power}, or multiply"),
    "__len__": ("len() cannot be applied to", "the extents of a tensor are tensor.shape"),
    "__iter__": (
        "cannot iterate over",
        "{loop}",
    ),
    "__contains__": ("`in` cannot be applied to", "compare with {te}.any(a == b, ...)"),
}
# numpy's functions for operators of its scalars and arrays: the methods of an expression on the
# left, and on the right of numpy's value.
_UFUNCS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "left_shift": ("__lshift__", "__rlshift__"),
    "right_shift": ("__rshift__", "__rrshift__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "power": ("__pow__", "__rpow__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
}
_OTHER_NAMES = {"maximum": "max", "minimum": "min", "absolute": "abs", "dot": "sum"}


def _array_ufunc(
    self: Operand, ufunc: np.ufunc, method: str, *inputs: object, **options: object
) -> Any:
    """An operator between a numpy value and an expression; other numpy functions are refused."""
    methods = _UFUNCS.get(ufunc.__name__)
    if methods is None or method != "__call__" or options:
        _refuse_numpy(self, ufunc)
    left, right = inputs
    return getattr(self, methods[0])(right) if left is self else getattr(self, methods[1])(left)


def _array_function(self: Operand, function: Callable[..., object], *others: object) -> NoReturn:
    _refuse_numpy(self, function)


def _refuse_numpy(self: Operand, function: Callable[..., object]) -> NoReturn:
    name, face = function.__name__, wording().module
    mine = _OTHER_NAMES.get(name, name.replace("arc", "a"))
    is_ours = mine in INTRINSICS or mine in ("max", "min", "sum", "prod", "all", "any")
    raise OperandError(
        f"numpy.{name} cannot be applied to {_described(self)}",
        "its value is known only when the program runs",
        f"use {f'{face}.{mine}' if is_ours else f'the functions of {face}'} {wording().elements}",
    )


def _described(value: object) -> str:
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return f"{type(value).__name__.lower()} {name}"
    text = repr(value)
    return text if len(text) <= _SHORT else "an expression"


def refusal(what: str, help: str) -> Callable[..., NoReturn]:
    """A special method that raises an OperandError."""

    def refuse(self: object, *others: object, **options: object) -> NoReturn:
        words = wording()
        raise OperandError(
            f"{what} {_described(self)}",
            "its value is known only when the program runs",
            help.format(te=words.module, loop=words.iteration, power=words.power),
        )

    return refuse


def advice_on_index(var: Var) -> str:
    """What to index in place of a variable."""
    if var.dtype != "handle":
        return "index a tensor or buffer"
    return f"declare its buffer, and index that: A = T.match_buffer({var.name}, shape)"


def _item_of_variable(self: Var, index: object) -> NoReturn:
    raise OperandError(
        f"variable {self.name} cannot be indexed",
        f"it is one value of type {self.dtype}",
        advice_on_index(self),
    )


def _install() -> None:
    setattr(Var, "__getitem__", _item_of_variable)  # noqa: B010
    for name, function in _ARITHMETIC.items():
        is_of_tensors = name in ("add", "sub", "mul", "truediv")
        setattr(Operand, f"__{name}__", _of_elements(function) if is_of_tensors else function)
        setattr(Operand, f"__r{name}__", _reflected(function))
    for name, method in _OTHERS.items():
        setattr(Operand, name, method)
    Operand.__array_ufunc__ = _array_ufunc  # type: ignore[attr-defined]
    Operand.__array_function__ = _array_function  # type: ignore[attr-defined]
    for name, (what, help) in _NOT_FOR_EXPRESSIONS.items():
        setattr(Operand, name, refusal(what, help))


_install()
