"""Declaring tensors and axes: placeholder, compute, reduce_axis, thread_axis, var.

Owns which arguments they accept and the errors for the others. Must not know schedules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from te_sched.errors import (
    DeclarationError,
    counted,
    kind_of,
    repr_of,
    why_no_text,
    with_article,
)
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, IterVar, Range, Reduce, StringImm, Var
from te_sched.ir.operators import declaring
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import reads_data, walk
from te_sched.te.operation import MOST_NODES, ComputeOp, PlaceholderOp
from te_sched.te.tag import tag_or_current
from te_sched.te.tensor import Tensor

const = ops.const


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """A number known only when the program runs, such as an extent or a scalar argument.

    Extents are integers, of int32 unless `dtype` says otherwise; as an argument by itself a
    variable may have any dtype.

    >>> n = te.var("n")
    >>> te.placeholder((n, 4), name="A").shape
    [n, 4]
    """
    return Var(checked_name(name, "var"), dtypes.spelled(dtype))


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """A `var` that is never negative.

    >>> te.size_var("n").is_size
    True
    """
    return Var(checked_name(name, "size_var"), dtypes.spelled(dtype), is_size=True)


def checked_name(name: Any, what: str) -> str:
    """The name; raises DeclarationError where it is not a string."""
    if (why := why_no_text(name)) is not None:
        why = f"a name is a string, and {why}"
        raise DeclarationError(
            f"the name of a {what} must be a string, got {repr_of(name)}", why, "give a str"
        )
    assert isinstance(name, str)
    return name


def as_shape(shape: Any, what: str) -> tuple[Expr, ...]:
    """The shape as a tuple of expressions; raises DeclarationError where it is invalid."""
    if isinstance(shape, str | bytes):
        raise DeclarationError(
            f"the shape of {what} must be a tuple of integers, got {repr_of(shape)}",
            "",
            "write (rows, columns)",
        )
    is_array = type(shape).__module__ == "numpy" and getattr(shape, "ndim", 0) == 1
    extents = tuple(shape) if is_array or isinstance(shape, Sequence) else (shape,)
    return tuple([_as_extent(extent, what) for extent in extents])


def _as_extent(extent: Any, what: str) -> Expr:
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)
    if isinstance(extent, IterVar):
        raise DeclarationError(
            f"cannot use axis {extent.var.name} as an extent of {what}",
            "an axis is a loop, not its length",
            f"use {extent.var.name}.dom.extent",
        )
    value = ops.convert(extent)
    if not dtypes.is_integral(value.dtype) or dtypes.lanes(value.dtype) > 1:
        raise DeclarationError(
            f"an extent of {what} must be an integer, got {repr_of(extent)}",
            "",
            "give an int, or a te.var for one that is known only when the program runs",
        )
    _check_reads_no_data(value, what)
    if isinstance(value, IntImm) and value.value < 0:
        raise DeclarationError(
            f"an extent of {what} must not be negative, got {value.value}",
            "",
            "give the number of elements; 0 is allowed",
        )
    return value


def _check_reads_no_data(extent: Expr, what: str) -> None:
    """Raise for an extent that depends on the values of tensors."""
    if reads_data(extent):
        raise DeclarationError(
            f"the extent {extent} of {what} reads a tensor",
            "extents must be known before the program runs",
            "give a te.var, and pass the number as an argument of its own",
        )


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input of the program: a tensor whose values each call gives.

    Parameters
    ----------
    shape : an extent, or a tuple of them: ints, or variables (`te.var`) that calls determine.
    dtype : of the elements, "float32" unless given.
    name : used in printed programs and in errors.

    Raises
    ------
    DeclarationError for extents that are negative or not integers, and for unknown dtypes.

    Example
    -------
    >>> te.placeholder((8, 4), "int8", name="A")
    Tensor(shape=[8, 4], op.name=A)
    """
    checked_name(name, "placeholder")
    element = dtypes.spelled("float32" if dtype is None else dtype)
    if dtypes.parse(element).code == "void":
        raise DeclarationError(
            f"placeholder {name} cannot have type void",
            "void has no values",
            f"use one of {dtypes.LEGAL}",
        )
    extents = as_shape(shape, f"placeholder {name}")
    return PlaceholderOp(name, extents, element).output(0)


@overload
def compute(
    shape: Any,
    fcompute: Callable[..., tuple[Any, ...] | list[Any]],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> tuple[Tensor, ...]: ...
@overload
def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor: ...
def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """A tensor whose element at (i, j, ...) is `fcompute(i, j, ...)`.

    Parameters
    ----------
    shape : an extent, or a tuple of them: ints, or integer expressions of variables.
    fcompute : gives an expression, a reduction, or a tuple of them for several outputs, whose
        dtypes are those of the tensors. Its parameters name the axes; `lambda *i: ...` takes any
        number of them.
    name : used in printed programs and in errors.
    tag, attrs : kept with the operation.
    varargs_names : names of the axes that `*i` takes; i0, i1, ... by default.

    Returns
    -------
    The tensor, or a tuple of them when `fcompute` gives several values.

    Example
    -------
    >>> A = te.placeholder((4,), name="A")
    >>> te.compute((4,), lambda i: A[i] * 2, name="B").op.body
    [A[i] * T.float32(2)]
    """
    what = f"compute {checked_name(name, 'compute')}"
    extents = as_shape(shape, what)
    check_labels(tag, attrs, what)
    names = index_names(fcompute, len(extents), what, varargs_names)
    for name in keyword_names(fcompute):
        raise DeclarationError(
            f"the function of {what} requires the keyword argument {name}",
            "it is called with the indices only",
            f"give {name} a default",
        )
    axis = tuple(map(axis_of, extents, names))
    token = declaring.set(axis)
    try:
        value = fcompute(*[one.var for one in axis])
    finally:
        declaring.reset(token)
    is_tuple = isinstance(value, list | tuple)
    body = tuple([_as_body(part, what) for part in (value if is_tuple else [value])])
    _check_body(body, what)
    op = ComputeOp(name, tag_or_current(tag), attrs, axis, body)
    return op.outputs if len(body) > 1 else op.output(0)


class _AxisSeparator:
    """Class of AXIS_SEPARATOR, which separates groups of dimensions of a layout."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "te.AXIS_SEPARATOR"


# In the list that a function given to Stage.transform_layout returns: the dimensions before it have
# one index into memory, and those after it another.
AXIS_SEPARATOR = _AxisSeparator()


def check_labels(tag: Any, attrs: Any, what: str) -> None:
    """Raise for an invalid tag or invalid attributes."""
    if (why := why_no_text(tag)) is not None:
        why = f"a tag is a string, and {why}"
        raise DeclarationError(
            f"the tag of {what} must be a string, got {repr_of(tag)}", why, "give a str"
        )
    is_mapping = attrs is None or isinstance(attrs, Mapping)
    if not is_mapping or not all(isinstance(key, str) for key in attrs or ()):
        raise DeclarationError(
            f"attrs of {what} must be a mapping with string keys, got {repr_of(attrs)}",
            "",
            'give {"name": value}',
        )


def check_function(function: Any, arguments: int, what: str, example: str) -> None:
    """Raise unless `function` can be called with this number of arguments."""
    if not callable(function):
        raise DeclarationError(
            f"{what} takes a function, got {repr_of(function)}", "", f"give {example}"
        )
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions written in C have no signature
        return
    try:
        signature.bind(*[None] * arguments)
    except TypeError as error:
        raise DeclarationError(
            f"the function of {what} must take {arguments} arguments",
            f"calling it fails: {error}",
            f"give {example}",
        ) from None


def axis_of(extent: Expr, name: str, kind: str = "DataPar") -> IterVar:
    """An axis over a dimension, from 0 to extent - 1."""
    return IterVar(Range(IntImm(0, extent.dtype), extent), Var(name, extent.dtype), kind)


def index_names(
    function: Any,
    count: int,
    what: str,
    varargs_names: Sequence[str] | None = None,
    last: Sequence[str] = (),
) -> list[str]:
    """Names of the `count` indices of a function, from its parameters, followed by `last`."""
    if not callable(function):
        raise DeclarationError(
            f"{what} takes a function of the indices, got {repr_of(function)}",
            "",
            "give one, for example lambda i, j: A[i, j] + 1",
        )
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions written in C have no signature
        return [f"i{i}" for i in range(count)]
    required = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in required]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        more = count - len(names) - len(last)
        names += _checked_names(varargs_names, what) or [f"i{i}" for i in range(more)]
    elif len(names) + len(last) > count:  # parameters with a default keep it
        names = [p.name for p in required if p.default is p.empty]
    names += last
    if len(names) != count:
        raise DeclarationError(
            f"{what} has {counted(count, 'dimension')}"
            f" but its function takes {counted(len(names), 'argument')}",
            "",
            "give one parameter for each dimension, or take all indices with `lambda *i: ...`",
        )
    return names


def keyword_names(function: Any) -> list[str]:
    """The keyword-only parameters of a function that have no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not a function, or one written in C
        return []
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]


def _checked_names(names: Any, what: str) -> list[str]:
    if names is None:
        return []
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return list(names)
    raise DeclarationError(
        f"varargs_names of {what} must be a list of strings, got {repr_of(names)}",
        "",
        "give a list of strings",
    )


def _as_body(value: Any, what: str) -> Expr:
    if value is None:
        raise DeclarationError(
            f"the function of {what} returns None",
            "it must return the value of an element",
            "return an expression",
        )
    body = ops.convert(value)
    if isinstance(body, StringImm) or dtypes.parse(body.dtype).code in ("handle", "void"):
        raise DeclarationError(
            f"the function of {what} must return a number, got {kind_of(value)}",
            "",
            "return an expression",
        )
    return body


def _check_body(body: tuple[Expr, ...], what: str) -> None:
    if not body:
        raise DeclarationError(
            f"the function of {what} returns an empty tuple",
            "it must return at least one value",
            "return the value of an element",
        )
    for value in body:
        below = walk(value)
        if isinstance(value, Reduce):
            next(below)
        for number, node in enumerate(below):
            if type(node) is Reduce:
                raise DeclarationError(
                    f"{what} has a reduction inside an expression",
                    "a reduction must be the whole value of a tensor",
                    "make the reduction a tensor of its own and compute with its elements",
                )
            if number == MOST_NODES:
                raise DeclarationError(
                    f"the expression of {what} has more than {MOST_NODES} operations",
                    "a part that is used twice counts, and is computed, twice",
                    "make such a part a tensor of its own and compute with its elements",
                )
    if len(body) > 1 and any(isinstance(value, Reduce) for value in body):
        _check_tuple_reduction(body, what)


def _check_tuple_reduction(body: tuple[Expr, ...], what: str) -> None:
    first = body[0]
    for index, value in enumerate(body):
        is_same = (
            isinstance(value, Reduce)
            and isinstance(first, Reduce)
            and value.value_index == index
            and value.axis == first.axis
            and structural_equal(value.combiner, first.combiner)
            and all(map(structural_equal, value.source, first.source))
        )
        if not is_same:
            raise DeclarationError(
                f"{what} has a tuple of different reductions",
                "all outputs of one operation are computed by one loop nest",
                "use one reducer of several values (te.comm_reducer), or several te.compute",
            )


def as_range(dom: Any, what: str) -> Range:
    """The Range of a domain given as (min, end) or as a Range."""
    if isinstance(dom, Range) and isinstance(dom.min, Expr) and isinstance(dom.extent, Expr):
        return dom
    if isinstance(dom, Range):
        dom = (dom.min, ops.add(dom.min, dom.extent))
    if not isinstance(dom, list | tuple) or len(dom) != 2:
        raise DeclarationError(
            f"the domain of {what} must be a pair (min, end), got {repr_of(dom)}",
            "",
            "write (0, extent)",
        )
    low, end = (ops.convert(bound) for bound in dom)
    for bound in (low, end):
        if not dtypes.is_integral(bound.dtype):
            raise DeclarationError(
                f"the bounds of {what} must be integers, got {with_article(bound.dtype)}",
                "",
                "give ints or integer expressions",
            )
    low, end = ops.match_types(low, end)
    extent = ops.sub(end, low)
    if isinstance(extent, IntImm) and extent.value < 0:
        raise DeclarationError(
            f"the domain {repr_of(dom)} of {what} ends before it begins",
            "",
            "write (min, end) with min <= end",
        )
    return Range(low, extent)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """An axis to reduce over, from dom[0] to dom[1] - 1.

    Parameters
    ----------
    dom : (begin, end) of its values, integers or integer expressions.
    name : used in printed programs and in errors.
    thread_tag, span : accepted for compatibility with TVM, ignored.

    Example
    -------
    >>> A = te.placeholder((8, 4), name="A")
    >>> k = te.reduce_axis((0, 4), name="k")
    >>> te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B").op.reduce_axis
    [T.iter_var(k, T.Range(0, 4), "CommReduce", "")]
    """
    domain = as_range(dom, f"reduce_axis {checked_name(name, 'reduce_axis')}")
    return IterVar(domain, Var(name, domain.extent.dtype), "CommReduce", thread_tag)


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """A thread axis, to bind axes to.

    Parameters
    ----------
    dom : the number of threads n, or (0, n); by default the extent of the axis bound to it.
    tag : "threadIdx.x" to "threadIdx.z", "blockIdx.x" to "blockIdx.z", "vthread"; it may also be
        given in the place of `dom`.
    name : as it is printed; the tag unless given.
    span : accepted for compatibility with TVM, ignored.

    Example
    -------
    >>> te.thread_axis((0, 32), "threadIdx.x")
    T.iter_var(threadIdx_x, T.Range(0, 32), "ThreadIndex", "threadIdx.x")
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not isinstance(tag, str) or not tag:
        raise DeclarationError(
            f"the tag of a thread axis must be a non-empty string, got {repr_of(tag)}",
            "it names the threads",
            'write te.thread_axis("threadIdx.x")',
        )
    tag = checked_name(tag, "thread_axis")
    name = checked_name(name, "thread_axis") or tag
    domain = None if dom is None else as_range(dom, f"thread_axis {name}")
    if domain is not None:
        _check_reads_no_data(domain.extent, f"thread_axis {name}")
    dtype = "int32" if domain is None else domain.extent.dtype
    return IterVar(domain, Var(name, dtype), "ThreadIndex", tag)
