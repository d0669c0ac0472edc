"""Declaring tensors and axes: placeholder, compute, reduce_axis, thread_axis, var.

Checks their arguments. Must not know schedules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from te_sched.errors import DeclarationError, counted, kind_of, repr_of, why_no_text
from te_sched.ir import dtypes, ops
from te_sched.ir.device_limits import check_thread_tag
from te_sched.ir.expr import (
    Buffer,
    Expr,
    IntImm,
    IterVar,
    PointerType,
    Range,
    Reduce,
    StringImm,
    Var,
)
from te_sched.ir.operators import declaring
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import reads_data, variables_of, walk
from te_sched.te.intrin_call import TensorIntrinCall
from te_sched.te.operation import MOST_NODES, ComputeOp, PlaceholderOp
from te_sched.te.reduction_axes import check_initial_values, check_reduced, note_reduction_axis
from te_sched.te.tag import tag_or_current
from te_sched.te.tensor import Tensor

const = ops.const


def var(name: str = "tindex", dtype: str | PointerType = "int32") -> Var:
    """A variable bound at each call, such as an extent or a scalar argument.

    Extents have an integer dtype; a scalar argument may have any dtype, and a pointer has a
    `tir.PointerType`.

    Example
    -------
    >>> n = te.var("n")
    >>> te.placeholder((n, n + 1), name="A").shape
    [n, n + 1]
    """
    if isinstance(dtype, PointerType):
        return Var(checked_name(name, "var"), "handle", dtype)
    return Var(checked_name(name, "var"), dtypes.spelled(dtype))


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """A `var` that is never negative.

    Example
    -------
    >>> te.size_var("n").dtype
    'int32'
    """
    return Var(checked_name(name, "size_var"), dtypes.spelled(dtype), is_size=True)


def checked_name(name: Any, what: str) -> str:
    """The name, if it is a string that a program can contain."""
    if (why := why_no_text(name)) is not None:
        fault = f"the name of {what} is {repr_of(name)}, expected a string"
        raise DeclarationError(fault, "" if not isinstance(name, str) else why, "give a str")
    assert isinstance(name, str)
    return name


def declaration(function: str, name: Any, default: str = "") -> str:
    """What a function of te declares, in messages: "compute B", or "te.compute" if its name is the
    default one, since the location of the error says which.

    >>> declaration("compute", "B"), declaration("compute", "compute")
    ('compute B', 'te.compute')
    """
    checked_name(name, function)
    return f"te.{function}" if name == (default or function) else f"{function} {name}"


def as_shape(shape: Any, what: str) -> tuple[Expr, ...]:
    """A shape as expressions, or a DeclarationError."""
    if isinstance(shape, str | bytes):
        raise DeclarationError(
            f"the shape of {what} is {repr_of(shape)}, expected a tuple of integers",
            "",
            "write (rows, columns)",
        )
    if isinstance(shape, Tensor | Buffer):
        raise DeclarationError(
            f"the shape of {what} is {kind_of(shape).lower()}, expected a tuple of integers",
            "",
            f"give its shape: {shape.name}.shape",
        )
    is_array = type(shape).__module__ == "numpy" and getattr(shape, "ndim", 0) == 1
    extents = tuple(shape) if is_array or isinstance(shape, Sequence) else (shape,)
    return tuple([_as_extent(extent, what) for extent in extents])


def _as_extent(extent: Any, what: str) -> Expr:
    if isinstance(extent, float) and extent.is_integer():
        extent = int(extent)
    if isinstance(extent, IterVar):
        raise DeclarationError(
            f"an extent of {what} is the axis {extent.var.name}, expected an integer",
            "an axis is a loop variable",
            f"use its extent, {extent.var.name}.dom.extent",
        )
    value = ops.convert(extent)
    if not dtypes.is_integral(value.dtype) or dtypes.lanes(value.dtype) > 1:
        raise DeclarationError(
            f"an extent of {what} is {repr_of(extent)}, expected an integer",
            "",
            "give an int, or a te.var where it is known only when the program runs",
        )
    _check_known(value, what)
    if isinstance(value, IntImm) and value.value < 0:
        raise DeclarationError(
            f"an extent of {what} must not be negative, got {value.value}",
            "",
            "give the number of elements; 0 is allowed",
        )
    return value


def _check_known(extent: Expr, what: str) -> None:
    """Refuse an extent that depends on the elements of a tensor or on a reduction axis."""
    help = "use the extent of the axis, {axis}.dom.extent"
    check_reduced(variables_of(extent), (), f"an extent of {what}", help)
    if reads_data(extent):
        raise DeclarationError(
            f"an extent of {what} reads data: {extent}",
            "shapes must be known when the function is called",
            "use a te.var and pass its value as an argument",
        )


def placeholder(shape: Any, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """An input tensor, whose elements are passed at each call.

    Parameters
    ----------
    shape : an extent, or a tuple of them: ints, or variables bound at each call (`te.var`).
    dtype : of the elements, "float32" by default.
    name : used in printed programs and errors.

    Raises
    ------
    DeclarationError for extents that are negative or not integers, and for unknown dtypes.

    Example
    -------
    >>> n = te.size_var("n")
    >>> te.placeholder((n, 4), "float16", name="A")
    Tensor(shape=[n, 4], op.name=A)
    """
    what = declaration("placeholder", name)
    element = dtypes.spelled("float32" if dtype is None else dtype)
    if dtypes.parse(element).code == "void":
        raise DeclarationError(
            f"{what} has dtype void, which has no values",
            "",
            f"use one of {dtypes.LEGAL}",
        )
    extents = as_shape(shape, what)
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
    fcompute : returns an expression, a reduction, or a tuple of them for several outputs, whose
        dtypes are those of the tensors. Its parameters name the axes; `lambda *i: ...` takes any
        number of them. It may also return a call of a tensor intrinsic (`te.decl_tensor_intrin`)
        with regions of tensors; then it takes the first axes only, and each call computes the
        other dimensions whole.
    name : used in printed programs and errors.
    tag, attrs : stored in the operation.
    varargs_names : names of the axes passed as `*i`; i0, i1, ... by default.

    Returns
    -------
    The tensor, or a tuple of them if `fcompute` returns several values.

    Example
    -------
    >>> A, k = te.placeholder((8, 4), name="A"), te.reduce_axis((0, 4), name="k")
    >>> B = te.compute((8,), lambda i: te.sum(A[i, k] * 2, axis=k), name="B")
    >>> B.op.body[0].source
    (A[i, k] * T.float32(2),)
    """
    what = declaration("compute", name)
    extents = as_shape(shape, what)
    check_labels(tag, attrs, what)
    names = index_names(fcompute, len(extents), what, varargs_names, is_prefix=True)
    for keyword in keyword_names(fcompute):
        raise DeclarationError(
            f"the function of {what} has a required keyword argument {keyword}",
            "it is called with the indices only",
            f"give {keyword} a default value",
        )
    axis = tuple(map(axis_of, extents, names))
    token = declaring.set(axis)
    try:
        value = fcompute(*[axis.var for axis in axis])
    finally:
        declaring.reset(token)
    if isinstance(value, TensorIntrinCall):
        rest = enumerate(extents[len(axis) :])
        axis += tuple([axis_of(extent, f"ax{at}", "Opaque") for at, extent in rest])
        check_reduced(value.variables(), value.reduce_axis, what)
        call = value.operation(name, tag_or_current(tag), attrs, axis)
        return call.outputs if call.num_outputs > 1 else call.output(0)
    if len(axis) < len(extents):
        raise _wrong_count(len(extents), names, what)
    is_tuple = isinstance(value, list | tuple)
    body = tuple([_as_body(part, what) for part in (value if is_tuple else [value])])
    _check_body(body, what)
    op = ComputeOp(name, tag_or_current(tag), attrs, axis, body)
    return op.outputs if len(body) > 1 else op.output(0)


def check_labels(tag: Any, attrs: Any, what: str) -> None:
    """Refuse a tag that is not a string, or attributes that are not a mapping of strings."""
    if (why := why_no_text(tag)) is not None:
        fault = f"the tag of {what} is {repr_of(tag)}, expected a string"
        raise DeclarationError(fault, "" if not isinstance(tag, str) else why, "give a str")
    is_mapping = attrs is None or isinstance(attrs, Mapping)
    if not is_mapping or not all(isinstance(key, str) for key in attrs or ()):
        raise DeclarationError(
            f"attrs of {what} is {repr_of(attrs)}, expected a dict with string keys",
            "",
            'give {"name": value}',
        )


def axis_of(extent: Expr, name: str, kind: str = "DataPar") -> IterVar:
    """An axis with values from 0 to extent - 1."""
    return IterVar(Range(IntImm(0, extent.dtype), extent), Var(name, extent.dtype), kind)


def index_names(
    function: Any,
    count: int,
    what: str,
    varargs_names: Sequence[str] | None = None,
    last: Sequence[str] = (),
    is_prefix: bool = False,
) -> list[str]:
    """The names of the `count` indices of a function, the last of which may be given as `last`.

    With `is_prefix` there may be fewer of them.
    """
    if not callable(function):
        raise DeclarationError(
            f"the function of {what} is {repr_of(function)}, expected a function of the indices",
            "",
            "give one, for example lambda i, j: A[i, j] + 1",
        )
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some functions written in C have none
        return [f"i{i}" for i in range(count)]
    required = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in required]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        more = count - len(names) - len(last)
        names += _checked_names(varargs_names, what) or [f"i{i}" for i in range(more)]
    elif len(names) + len(last) > count:  # parameters with a default keep it
        names = [p.name for p in required if p.default is p.empty]
    names += last
    if len(names) > count or (len(names) < count and not is_prefix):
        raise _wrong_count(count, names, what)
    return names


def _wrong_count(count: int, names: Sequence[str], what: str) -> DeclarationError:
    return DeclarationError(
        f"the shape of {what} has {counted(count, 'dimension')} but its function takes "
        f"{counted(len(names), 'argument')}",
        "the function takes one index for each dimension",
        "change one of them, or accept any number of indices with `lambda *i: ...`",
    )


def keyword_names(function: Any) -> list[str]:
    """The required keyword-only arguments of a function."""
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
        f"varargs_names of {what} is {repr_of(names)}, expected a list of strings",
        "",
        'write varargs_names=["i", "j"]',
    )


def _as_body(value: Any, what: str) -> Expr:
    if value is None:
        raise DeclarationError(
            f"the function of {what} returns None, expected an expression",
            "it returns the value of an element",
            "add a return statement",
        )
    body = ops.convert(value)
    if isinstance(body, StringImm) or dtypes.parse(body.dtype).code in ("handle", "void"):
        raise DeclarationError(
            f"the function of {what} returns {kind_of(value)}, expected a numeric expression",
            "it returns the value of an element",
            "return an expression of the indices",
        )
    return body


def _check_body(body: tuple[Expr, ...], what: str) -> None:
    if not body:
        raise DeclarationError(
            f"the function of {what} returns an empty tuple",
            "it returns the value of an element, or one for each output",
            "return an expression of the indices",
        )
    used: dict[Var, None] = {}
    for value in body:
        below = walk(value)
        if isinstance(value, Reduce):
            next(below)
        for number, node in enumerate(below):
            if type(node) is Var:
                used[node] = None
            elif type(node) is Reduce:
                raise DeclarationError(
                    f"{what} uses a reduction inside an expression",
                    "a reduction must be the whole body of a compute",
                    "compute the reduction as a tensor of its own, then use its elements",
                )
            if number == MOST_NODES:
                raise DeclarationError(
                    f"the expression of {what} has more than {MOST_NODES} operations",
                    "a subexpression used twice counts twice, and is computed twice",
                    "compute such a subexpression as a tensor of its own",
                )
    if len(body) > 1 and any(isinstance(value, Reduce) for value in body):
        _check_tuple_reduction(body, what)
    _check_axes(used, body[0], what)


def _check_axes(used: Iterable[Var], value: Expr, what: str) -> None:
    """Refuse reduction axes that have no value where the value of an element uses them."""
    if isinstance(value, Reduce):
        check_initial_values(value, what)
        bounds = variables_of(*[axis.dom for axis in value.axis if axis.dom is not None])
        check_reduced([*used, *bounds], value.axis, what)
    else:
        check_reduced(used, (), what)


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
                f"{what} returns a tuple of different reductions",
                "the outputs of one operation are computed in one loop nest",
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
            f"the domain of {what} is {repr_of(dom)}, expected a pair (min, end)",
            "",
            "write (0, extent)",
        )
    low, end = (ops.convert(bound) for bound in dom)
    for bound in (low, end):
        if not dtypes.is_integral(bound.dtype):
            raise DeclarationError(
                f"a bound of {what} has dtype {bound.dtype}, expected an integer",
                "",
                "give ints or integer expressions",
            )
    low, end = ops.match_types(low, end)
    extent = ops.sub(end, low)
    if isinstance(extent, IntImm) and extent.value < 0:
        raise DeclarationError(
            f"the domain of {what} ends before it begins: {repr_of(dom)}",
            "",
            "write (min, end) with min <= end",
        )
    return Range(low, extent)


def reduce_axis(dom: Any, name: str = "rv", thread_tag: str = "", span: object = None) -> IterVar:
    """A reduction axis with the values dom[0] to dom[1] - 1.

    Parameters
    ----------
    dom : (begin, end) of its values, integers or integer expressions.
    name : used in printed programs and errors.
    thread_tag, span : accepted for compatibility with TVM.

    Example
    -------
    >>> te.reduce_axis((0, 16), name="k").dom
    I.Range(0, 16)
    """
    domain = as_range(dom, declaration("reduce_axis", name, "rv"))
    var = Var(name, domain.extent.dtype)
    return note_reduction_axis(IterVar(domain, var, "CommReduce", thread_tag))


def thread_axis(dom: Any = None, tag: str = "", name: str = "", span: object = None) -> IterVar:
    """A thread axis, to which `Stage.bind` binds loops.

    Parameters
    ----------
    dom : (0, number of threads); by default the domain of the loop bound to it.
    tag : "threadIdx.x" to "threadIdx.z", "blockIdx.x" to "blockIdx.z", "vthread"; it may also be
        the first argument.
    name : used in printed programs, the tag by default.
    span : accepted for compatibility with TVM.

    Example
    -------
    >>> te.thread_axis((0, 32), "threadIdx.x").dom
    I.Range(0, 32)
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not isinstance(tag, str) or not tag:
        is_none = tag is None or isinstance(tag, str)
        raise DeclarationError(
            "a thread axis needs a tag"
            if is_none
            else f"the tag of a thread axis is {repr_of(tag)}, expected a string",
            "the tag names the hardware threads",
            'write te.thread_axis("threadIdx.x")',
        )
    tag = checked_name(tag, "thread_axis")
    check_thread_tag(tag, DeclarationError)
    name = checked_name(name, "thread_axis") or tag
    domain = None if dom is None else as_range(dom, f"thread_axis {name}")
    if domain is not None:
        _check_known(domain.extent, f"thread_axis {name}")
    dtype = "int32" if domain is None else domain.extent.dtype
    return IterVar(domain, Var(name, dtype), "ThreadIndex", tag)
