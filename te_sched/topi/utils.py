"""Constants, shapes and indices: helpers of operators and schedules, with TVM's names.

Must not know any operator.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from types import FunctionType, ModuleType
from typing import Annotated, Any, cast

import numpy as np

from te_sched import signatures, te
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError, TeSchedError, kind_of, repr_of
from te_sched.errors import InvalidShapeError as InvalidShapeError
from te_sched.errors import NotConstantError as NotConstantError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, FloatImm, IntImm, Operand
from te_sched.ir.structural import structural_equal
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import ParameterKind, is_index, is_real, is_sequence
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor, tensor_label
from te_sched.topi.tag import INJECTIVE, is_broadcast

# Public functions; te_sched.topi adds checks of their arguments.
PUBLIC = (
    *("get_const_int", "get_const_float", "get_const_tuple", "get_float_tuple", "equal_const_int"),
    *("simplify", "is_dynamic_shape", "is_empty_shape", "prod", "ceil_div", "const_matrix"),
    *("const_vector", "swap", "get_max_power2_factor", "ravel_index", "unravel_index"),
    *("traverse_inline",),
)

# Declarations of a single tensor; `te` also declares several.
compute = cast(Callable[..., Tensor], te.compute)
extern = cast(Callable[..., Tensor], te.extern)


def check_functions(module: ModuleType) -> None:
    """Check the arguments of the public functions of a module. Their errors name the function that
    the user called, not those that it is made of.
    """
    signatures.check_arguments(module, module.__all__)
    for name in module.__all__:
        function = getattr(module, name)
        if isinstance(function, FunctionType):
            face = f"{module.__name__.removeprefix('te_sched.')}.{name}"
            setattr(module, name, _with_errors_of(function, face))


def _with_errors_of(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TeSchedError as error:
            error.name_function(name)
            raise

    return call


def _is_size(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    if isinstance(value, Tensor):
        return value.ndim == 0 and dtypes.is_integral(value.dtype)
    if isinstance(value, Operand):
        return dtypes.is_integral(ops.convert(value).dtype)
    return is_index(value)


def _is_one_or_several(value: Any) -> bool:
    return all(map(_is_size, value)) if is_sequence(value) else _is_size(value)


# Annotations of parameters that te_sched.signatures checks.
Size = Annotated[Any, ParameterKind(_is_size, "an integer")]
Sizes = Annotated[Any, ParameterKind(_is_one_or_several, "an integer, or a list or tuple of them")]
Padding = Annotated[
    Any,
    ParameterKind(
        lambda value: isinstance(value, str) or _is_one_or_several(value),
        '"SAME", "VALID", an integer, or a list or tuple of integers',
    ),
]
Count = Annotated[
    int,
    ParameterKind(lambda value: is_index(value) and operator.index(value) >= 1, "an int from 1 on"),
]
Factor = Annotated[
    float,
    ParameterKind(
        lambda value: is_real(value) and value >= 1 and float(value).is_integer(),
        "a whole number from 1 on",
    ),
]
Number = Annotated[
    Any, ParameterKind(lambda value: isinstance(value, Operand) or is_real(value), "a number")
]


def as_constant(value: Any) -> int | None:
    """The value as an int, or None when it is not constant."""
    if not _is_size(value):
        raise DeclarationError(
            f"{repr_of(value)} is not an integer",
            f"it is {kind_of(value)}",
            "give an int or an integer expression",
        )
    if isinstance(value, Operand):
        value = simplify(ops.convert(value))
        return value.value if isinstance(value, IntImm) else None
    return int(value)


def get_const_int(expr: Size) -> int:
    """The value of a constant integer expression; otherwise raises NotConstantError.

    >>> topi.utils.get_const_int(te.const(3))
    3
    """
    value = as_constant(expr)
    if value is None:
        raise NotConstantError(
            f"{expr} is not a constant integer",
            "",
            "give an int",
        )
    return value


def get_const_float(expr: Any) -> float:
    """The value of a constant float expression; otherwise raises NotConstantError.

    >>> topi.utils.get_const_float(te.const(0.5))
    0.5
    """
    if isinstance(expr, float):
        return expr
    value = simplify(expr)
    if not isinstance(value, FloatImm):
        raise NotConstantError(
            f"{repr_of(expr)} is not a constant float", f"it is {kind_of(expr)}", "give a float"
        )
    return float(value.value)


def get_const_tuple(in_tuple: Iterable[Size]) -> tuple[Any, ...]:
    """The values as a tuple, constants as ints and others as expressions.

    >>> topi.utils.get_const_tuple([te.const(3), te.var("n")])
    (3, n)
    """
    values = [(as_constant(value), value) for value in in_tuple]
    return tuple([value if constant is None else constant for constant, value in values])


def get_float_tuple(in_tuple: Iterable[Any]) -> tuple[float, ...]:
    """The values of constant float expressions.

    >>> topi.utils.get_float_tuple([te.const(0.5), 1.5])
    (0.5, 1.5)
    """
    return tuple([get_const_float(value) for value in in_tuple])


def equal_const_int(expr: Size, value: int) -> bool:
    """Whether an expression is the constant `value`.

    >>> topi.utils.equal_const_int(te.const(3), 3)
    True
    """
    return as_constant(expr) == value


@walks_deeply("simplify an expression", DeclarationError)
def simplify(expr: Any) -> Any:
    """The simplified expression; Python numbers are unchanged.

    >>> n = te.var("n")
    >>> topi.utils.simplify(n * 4 - n * 3)
    n
    """
    if isinstance(expr, IntImm):
        return expr
    return Analyzer().simplify(expr) if isinstance(expr, Expr) else expr


def is_dynamic_shape(shape: Iterable[Size]) -> bool:
    """Whether any extent is not constant.

    >>> topi.utils.is_dynamic_shape([4, te.var("n")])
    True
    """
    return any(as_constant(extent) is None for extent in shape)


def is_empty_shape(shape: Iterable[Size]) -> bool:
    """Whether any extent is zero.

    >>> topi.utils.is_empty_shape([4, 0])
    True
    """
    return any(as_constant(extent) == 0 for extent in shape)


def prod(x: Iterable[Size]) -> Any:
    """The product of extents; 1 if there are none.

    >>> topi.utils.prod([2, 3, 4])
    24
    """
    total: Any = 1
    for value in x:
        total = total * value
    return total


def ceil_div(a: Size, b: Size) -> Any:
    """a / b rounded up.

    >>> topi.utils.ceil_div(9, 4)
    3
    """
    if equal_const_int(b, 0):
        raise DeclarationError("topi.utils.ceil_div divides by 0", "", "give another divisor")
    return (a + (b - 1)) // b


def const_matrix(
    matrix: Any, name: str = "const_matrix", attrs: Mapping[str, Any] | None = None
) -> Tensor:
    """A constant tensor with the elements of a matrix.

    >>> topi.utils.const_matrix([[1, 2], [3, 4]]).shape
    [2, 2]
    """
    return _constants(matrix, 2, name, attrs)


def const_vector(vector: Any, name: str = "const_vector") -> Tensor:
    """A constant tensor with the elements of a vector.

    >>> topi.const_vector([5, 6]).op.body[0]
    T.Select(i0 == 1, T.int64(6), T.Select(i0 == 0, T.int64(5), T.int64(0)))
    """
    return _constants(vector, 1, name, None)


def _constants(array: Any, rank: int, name: str, attrs: Mapping[str, Any] | None) -> Tensor:
    try:
        values = np.asarray(array)
    except (ValueError, TypeError, OverflowError, TeSchedError, RecursionError) as error:
        raise DeclarationError(
            f"topi.utils.{name} cannot convert {repr_of(array)} to an array",
            str(error),
            "give numbers",
        ) from None
    if values.ndim != rank:
        raise DeclarationError(
            f"topi.utils.{name} needs an array of {rank} dimensions, got shape {values.shape}",
            "",
            "reshape it",
        )

    def element(*i: Any) -> Any:
        value: Any = ops.const(0, str(values.dtype))
        for position in np.ndindex(values.shape):
            here = te.all(*[ops.equal(index, at) for index, at in zip(i, position, strict=True)])
            value = te.select(here, ops.const(values[position].item(), str(values.dtype)), value)
        return value

    return compute(values.shape, lambda *i: element(*i), name=name, attrs=attrs)


def swap(arr: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """The items with item `axis` and the last one swapped.

    >>> topi.utils.swap([1, 2, 3], 0)
    (3, 2, 1)
    """
    items = list(arr)
    axis = normalized_axis(axis, len(items), "utils.swap")
    items[axis], items[-1] = items[-1], items[axis]
    return tuple(items)


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of two that divides n and is at most max_value.

    >>> topi.utils.get_max_power2_factor(24), topi.utils.get_max_power2_factor(24, 4)
    (8, 4)
    """
    n = operator.index(n)
    factor = math.gcd(n, 1 << n.bit_length()) if n > 0 else 1
    while max_value is not None and factor > max(max_value, 1):
        factor //= 2
    return factor


def ravel_index(indices: Sequence[Size], shape: Sequence[Size]) -> Any:
    """The row-major flat index of an element.

    >>> topi.utils.ravel_index([1, 2], [4, 8])
    10
    """
    index: Any = 0
    check_lengths("utils.ravel_index", indices=indices, shape=shape)
    for position, (part, extent) in enumerate(zip(indices, shape, strict=True)):
        index = index * extent + part if position else part
    return index


def unravel_index(idx: Size, shape: Sequence[Size]) -> list[Any]:
    """The indices of the element at a row-major flat index.

    >>> topi.utils.unravel_index(te.const(10), [4, 8])
    [1, 2]
    """
    indices = []
    for extent in reversed(list(shape)[1:]):
        indices.append(ops.floormod(idx, extent))
        idx = ops.floordiv(idx, extent)
    return [idx, *reversed(indices)] if len(shape) else []


def wrapped_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """unravel_index with the first index wrapped around, for a flat index out of bounds."""
    indices = unravel_index(idx, shape)
    return [ops.floormod(indices[0], shape[0]), *indices[1:]] if indices else []


def traverse_inline(s: Schedule, final_op: Operation, callback: Callable[[Operation], Any]) -> None:
    """Inline broadcast producers of `final_op`; call `callback` for each operation, inputs first.

    >>> A = te.placeholder((4, 8), name="A")
    >>> B = topi.exp(topi.negative(A))
    >>> s = te.create_schedule(B.op)
    >>> topi.utils.traverse_inline(s, B.op, lambda op: None)
    >>> s
    schedule of compute:
      A, an input
      compute(i0, i1), inline
      compute(i0, i1)
    """
    visited: set[Operation] = set()
    waiting = [(final_op, False)]
    while waiting:
        op, is_done = waiting.pop()
        if is_done:
            callback(op)
            continue
        if op in visited:
            continue
        visited.add(op)
        waiting.append((op, True))
        if is_broadcast(op.tag):
            if op not in s.outputs:
                s[op].compute_inline()
            producers = [tensor.op for tensor in op.input_tensors]
            waiting += [(tensor, False) for tensor in reversed(producers) if tensor.input_tensors]


# Internal to topi.


def tensor_of(
    shape: Sequence[Size],
    function: Callable[..., Any],
    name: str,
    tag: str = INJECTIVE,
    prefix: str = "ax",
    attrs: Mapping[str, Any] | None = None,
) -> Tensor:
    """The tensor of this shape whose element at (i, j, ...) is `function(i, j, ...)`.

    Its axes are named `prefix` and a number.
    """
    return compute(
        tuple(shape),
        lambda *i: function(*i),
        name=name,
        tag=tag,
        varargs_names=axis_names(len(shape), prefix),
        attrs=attrs,
    )


def check_lengths(what: str, **sequences: Sequence[Any]) -> None:
    """Refuse sequences of different lengths."""
    lengths = [len(sequence) for sequence in sequences.values()]
    if len(set(lengths)) > 1:
        raise DeclarationError(
            f"topi.{what}: {' and '.join(sequences)} differ in length:"
            f" {' and '.join(map(str, lengths))}",
            "",
            "give one item for each dimension concerned",
        )


def check_tensor(value: Any, what: str) -> Tensor:
    """The value, which must be a tensor."""
    if not isinstance(value, Tensor):
        raise DeclarationError(
            f"topi.{what} needs a tensor, got {repr_of(value)}",
            f"{kind_of(value)} is not a tensor",
            "give what te.placeholder or te.compute returned",
        )
    return value


def check_rank(value: Any, rank: int, what: str) -> Tensor:
    """The value, which must be a tensor of `rank` dimensions."""
    tensor = check_tensor(value, what)
    if tensor.ndim != rank:
        raise DeclarationError(
            f"topi.{what} needs {rank} dimensions, {tensor.name} has shape"
            f" {shape_text(tensor.shape)}",
            "",
            "reshape it, or add dimensions with topi.expand_dims",
            tensor_label(tensor),
        )
    return tensor


def spatial_dimensions(
    tensor: Tensor, layout: str, count: int, what: str
) -> tuple[Tensor, list[int]]:
    """The data, and the positions of its `count` dimensions W, or H and W, or D, H and W in a
    layout such as NCHW, or NCHW4c: C in parts of 4.
    """
    names = [letter for letter in layout if not letter.isdigit()]
    data = check_rank(tensor, len(names), what)
    space = "DHW"[3 - count :]
    if any(letter not in names or letter.lower() in names for letter in space):
        raise DeclarationError(
            f"topi.{what}: layout {layout!r} lacks the dimensions {', '.join(space)}",
            "only other dimensions may be split",
            "name them in the layout: NCHW",
        )
    return data, [names.index(letter) for letter in space]


def check_same(extent: Any, expected: Any, what: str, of: str) -> None:
    """Refuse an extent that provably differs from the expected one."""
    if is_different(extent, expected):
        raise DeclarationError(
            f"topi.{what}: {of} is {extent}, expected {expected}",
            "",
            "pass arguments whose shapes match",
        )


def check_divides(divisor: Any, extent: Any, what: str, name: str, of: str) -> None:
    """Refuse an extent that is provably not a multiple of a divisor."""
    if is_different(ops.floormod(ops.convert(extent), divisor), 0):
        raise DeclarationError(
            f"topi.{what}: {name} {divisor} does not divide {extent}, {of}",
            "",
            "use a divisor, or pad the tensor with topi.nn.pad",
        )


def check_choice(value: str, choices: Iterable[str], what: str, name: str) -> None:
    """Refuse a value that is none of the choices."""
    names = list(choices)
    if value not in names:
        raise DeclarationError(
            f"topi.{what}: unknown {name} {value!r}",
            "",
            f"use {' or '.join([repr(name) for name in names])}",
        )


def is_different(a: Any, b: Any) -> bool:
    """Whether two extents are different constants."""
    left, right = as_constant(a), as_constant(b)
    return left is not None and right is not None and left != right


def is_same(a: Any, b: Any) -> bool:
    """Whether two extents are provably equal."""
    left, right = as_constant(a), as_constant(b)
    if left is not None or right is not None:
        return left == right
    return structural_equal(simplify(a), simplify(b))


def shape_text(shape: Iterable[Any]) -> str:
    """The text of a shape."""
    return f"({', '.join(str(extent) for extent in get_const_tuple(shape))})"


def axis_names(count: int, prefix: str = "ax") -> list[str]:
    """The names of axes: the prefix and a number."""
    return [f"{prefix}{position}" for position in range(count)]


def normalized_axis(axis: Any, rank: int, what: str) -> int:
    """The non-negative form of an axis; raises DeclarationError when it is out of range."""
    position = get_const_int(axis)
    if not -rank <= position < rank:
        raise DeclarationError(
            f"topi.{what}: axis {position} is out of range for {rank} dimensions",
            "",
            f"use an axis from {-rank} to {rank - 1}" if rank else "pass no axis",
        )
    return position % rank


def as_pair(value: Any, count: int, what: str, least: int | None = 1) -> tuple[Any, ...]:
    """A number for each of `count` dimensions, from one number or a sequence."""
    values = tuple(value) if is_sequence(value) else (value,)
    if len(values) == 1:
        values = values * count
    if len(values) != count:
        raise DeclarationError(
            f"topi.{what} {repr_of(values)} has {len(values)} numbers for {count} dimensions",
            "",
            f"give one number or {count}",
        )
    numbers = get_const_tuple(values)
    for number in numbers:
        if least is not None and isinstance(number, int) and number < least:
            raise DeclarationError(
                f"topi.{what} must be at least {least}, got {number}",
                "",
                f"use {least} or more",
            )
    return numbers


__all__ = sorted([*PUBLIC, "InvalidShapeError"])
_tell_of_absent_names(__name__)
