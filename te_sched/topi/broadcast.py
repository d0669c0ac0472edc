"""Binary operators with numpy broadcasting, as a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.te.tensor import Tensor, tensor_label
from te_sched.topi.tag import BROADCAST, ELEMWISE
from te_sched.topi.utils import (
    Size,
    as_constant,
    check_tensor,
    is_same,
    shape_text,
    tensor_of,
)


def broadcast_shape(shapes: Sequence[Sequence[Any]], what: str) -> tuple[Any, ...]:
    """The shape that all shapes broadcast to, aligned at the last dimension."""
    rank = max(len(shape) for shape in shapes)
    columns = [
        [shape[at - rank] for shape in shapes if len(shape) >= rank - at] for at in range(rank)
    ]
    return tuple([_common_extent(column, shapes, what) for column in columns])


def _common_extent(extents: list[Any], shapes: Sequence[Sequence[Any]], what: str) -> Any:
    result = extents[0]
    for extent in extents[1:]:
        if as_constant(extent) == 1 or is_same(extent, result):
            continue
        constants = as_constant(result), as_constant(extent)
        if constants[0] == 1 or (constants[0] is None and constants[1] is not None):
            result = extent
        elif constants[0] is None or constants[1] is not None:
            raise DeclarationError(
                f"topi.{what} cannot broadcast shapes {' and '.join(map(shape_text, shapes))}",
                f"extents {result} and {extent} differ",
                "make the extents equal, or one of them 1",
            )
    return result


def broadcast_index(tensor: Tensor, indices: Sequence[Any], shape: Sequence[Size]) -> list[Any]:
    """The indices into a tensor broadcast to `shape`: 0 in a dimension of extent 1."""
    rank = tensor.ndim
    pairs = zip(indices[len(indices) - rank :], shape[len(shape) - rank :], strict=True)
    return [
        index if as_constant(extent) != 1 or is_same(extent, common) else 0
        for (index, common), extent in zip(pairs, tensor.shape, strict=True)
    ]


def element(value: Any, indices: Sequence[Any], shape: Sequence[Size]) -> Any:
    """The element of a broadcast tensor, or the number itself."""
    if not isinstance(value, Tensor):
        return value
    return value(*broadcast_index(value, indices, shape))


def broadcast_to(data: Tensor, shape: Sequence[Size]) -> Tensor:
    """The tensor broadcast to a shape.

    >>> V = te.placeholder((8,), name="V")
    >>> topi.broadcast_to(V, (4, 8)).op.body[0]
    V[ax1]
    """
    source = check_tensor(data, "broadcast_to")
    target = tuple(shape)
    common = broadcast_shape([source.shape, target], "broadcast_to")
    if len(common) > len(target) or not all(map(is_same, common, target)):
        raise DeclarationError(
            f"topi.broadcast_to: cannot broadcast {source.name} to {shape_text(target)}",
            f"its shape is {shape_text(source.shape)}",
            "keep each extent, or broadcast an extent of 1",
            tensor_label(source),
        )
    return tensor_of(target, lambda *i: element(source, i, target), "T_broadcast_to", BROADCAST)


def combine(lhs: Any, rhs: Any, function: Callable[[Any, Any], Any], name: str) -> Any:
    """`function` applied to two broadcast operands: a tensor, or an expression for two numbers."""
    tensors = [value for value in (lhs, rhs) if isinstance(value, Tensor)]
    if not tensors:
        return function(ops.convert(lhs), ops.convert(rhs))
    shape = broadcast_shape([tensor.shape for tensor in tensors], name)
    return tensor_of(
        shape,
        lambda *i: function(element(lhs, i, shape), element(rhs, i, shape)),
        f"T_{name}",
        BROADCAST if len(tensors) == 2 else ELEMWISE,
    )


def _floor_divide(a: Any, b: Any) -> Expr:
    a, b = ops.operands(a, b)
    return te.floor(ops.div(a, b)) if dtypes.is_float(a.dtype) else ops.floordiv(a, b)


def _floor_mod(a: Any, b: Any) -> Expr:
    a, b = ops.operands(a, b)
    if dtypes.is_float(a.dtype):
        return ops.sub(a, ops.mul(te.floor(ops.div(a, b)), b))
    return ops.floormod(a, b)


# name: (the function of two elements, the meaning, dtype and result of the example)
_FUNCTIONS: dict[str, tuple[Callable[[Any, Any], Any], str, str, str]] = {
    "add": (ops.add, "a + b", "float32", "{a} + {b}"),
    "subtract": (ops.sub, "a - b", "float32", "{a} - {b}"),
    "multiply": (ops.mul, "a * b", "float32", "{a} * {b}"),
    "divide": (ops.div, "a / b; integers round towards zero", "float32", "{a} / {b}"),
    "floor_divide": (_floor_divide, "a / b rounded towards -infinity", "int32", "{a} // {b}"),
    "mod": (ops.truncmod, "The remainder of a / b, with a's sign", "int32", "T.truncmod({a}, {b})"),
    "floor_mod": (_floor_mod, "The remainder of a / b, with b's sign", "int32", "{a} % {b}"),
    "maximum": (ops.maximum, "The larger of a and b", "float32", "T.max({a}, {b})"),
    "minimum": (ops.minimum, "The smaller of a and b", "float32", "T.min({a}, {b})"),
    "power": (te.power, "a to the power b", "float32", "T.pow({a}, {b})"),
    "left_shift": (ops.shift_left, "a shifted left by b bits", "int32", "T.shift_left({a}, {b})"),
    "right_shift": (
        *(ops.shift_right, "a shifted right by b bits"),
        *("int32", "T.shift_right({a}, {b})"),
    ),
    "logical_and": (ops.logical_and, "a and b", "bool", "{a} and {b}"),
    "logical_or": (ops.logical_or, "a or b", "bool", "{a} or {b}"),
    "logical_xor": (ops.bitwise_xor, "a or b but not both", "bool", "T.bitwise_xor({a}, {b})"),
    "bitwise_and": (ops.bitwise_and, "Bitwise a and b", "int32", "T.bitwise_and({a}, {b})"),
    "bitwise_or": (ops.bitwise_or, "Bitwise a or b", "int32", "T.bitwise_or({a}, {b})"),
    "bitwise_xor": (
        *(ops.bitwise_xor, "Bitwise exclusive or of a and b"),
        *("int32", "T.bitwise_xor({a}, {b})"),
    ),
    "equal": (ops.equal, "a == b", "float32", "{a} == {b}"),
    "not_equal": (ops.not_equal, "a != b", "float32", "{a} != {b}"),
    "less": (ops.less, "a < b", "float32", "{a} < {b}"),
    "less_equal": (ops.less_equal, "a <= b", "float32", "{a} <= {b}"),
    "greater": (ops.greater, "a > b", "float32", "{a} > {b}"),
    "greater_equal": (ops.greater_equal, "a >= b", "float32", "{a} >= {b}"),
}
_TEXT = """\
{meaning}, element by element, of tensors broadcast to one shape or of numbers.

>>> A = te.placeholder((4, 8), "{dtype}", name="A")
>>> B = te.placeholder((8,), "{dtype}", name="B")
>>> topi.{name}(A, B).op.body[0]
{result}
"""


def _broadcasting(name: str) -> Callable[[Any, Any], Any]:
    function, meaning, dtype, example = _FUNCTIONS[name]

    def operator(lhs: Any, rhs: Any) -> Any:
        return combine(lhs, rhs, function, name)

    operator.__name__ = operator.__qualname__ = name
    result = example.format(a="A[ax0, ax1]", b="B[ax1]")
    operator.__doc__ = _TEXT.format(meaning=meaning, dtype=dtype, name=name, result=result)
    return operator


add = _broadcasting("add")
subtract = _broadcasting("subtract")
multiply = _broadcasting("multiply")
divide = _broadcasting("divide")
floor_divide = _broadcasting("floor_divide")
mod = _broadcasting("mod")
floor_mod = _broadcasting("floor_mod")
maximum = _broadcasting("maximum")
minimum = _broadcasting("minimum")
power = _broadcasting("power")
left_shift = _broadcasting("left_shift")
right_shift = _broadcasting("right_shift")
logical_and = _broadcasting("logical_and")
logical_or = _broadcasting("logical_or")
logical_xor = _broadcasting("logical_xor")
bitwise_and = _broadcasting("bitwise_and")
bitwise_or = _broadcasting("bitwise_or")
bitwise_xor = _broadcasting("bitwise_xor")
equal = _broadcasting("equal")
not_equal = _broadcasting("not_equal")
less = _broadcasting("less")
less_equal = _broadcasting("less_equal")
greater = _broadcasting("greater")
greater_equal = _broadcasting("greater_equal")


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """x where the condition is not zero, else y; the three are broadcast.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.where(topi.greater(A, 0), A, 0).op.body[0]
    T.Select(T.Cast("int32", T_greater[ax0, ax1]) != 0, A[ax0, ax1], T.float32(0))
    """
    check = check_tensor(condition, "where")
    shapes = [value.shape for value in (check, x, y) if isinstance(value, Tensor)]
    shape = broadcast_shape(shapes, "where")

    def chosen(*i: Any) -> Expr:
        holds = ops.not_equal(element(check, i, shape), 0)
        return te.select(holds, element(x, i, shape), element(y, i, shape))

    return tensor_of(shape, chosen, "T_where", BROADCAST)
