"""Rows of operators of torch that make new tensors, or tensors of another dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, as_list
from te_sched.relax.frontend.torch.elementwise import number_dtype, scalar
from te_sched.relax.frontend.torch.importer import ROWS, Importer, TorchRow, row
from te_sched.relax.frontend.torch.values import (
    PART_DTYPES,
    ComplexTensor,
    Operand,
    Scalar,
    Sizes,
    TorchDtype,
    Value,
    dtype_of,
)


def _dtype_or(dtype: TorchDtype, default: str) -> str:
    return default if dtype is None else dtype_of(dtype)


@row("arange")
def _arange(
    imp: Importer, *args: Scalar, dtype: TorchDtype = None, step: Scalar = 1, **_: Scalar
) -> GraphExpr:
    names = ("end",) if len(args) == 1 else ("start", "end", "step")
    arguments = {**dict(zip(names, args, strict=False)), **_}
    start, end = arguments.get("start", 0), arguments["end"]
    step = arguments.get("step", step)
    is_float = any(isinstance(value, float) for value in (start, end, step))
    return imp.emit(
        R.arange(start, end, step, _dtype_or(dtype, "float32" if is_float else "int64"))
    )


@row("empty")
def _empty(imp: Importer, *size: Sizes, dtype: TorchDtype = None, **_: object) -> GraphExpr:
    return imp.emit(R.zeros(as_list(size), _dtype_or(dtype, "float32")))


ROWS["zeros"] = ROWS["empty"]


@row("ones")
def _ones(imp: Importer, *size: Sizes, dtype: TorchDtype = None, **_: object) -> GraphExpr:
    return imp.emit(R.ones(as_list(size), _dtype_or(dtype, "float32")))


@row("full")
def _full(
    imp: Importer,
    size: Sequence[Size],
    fill_value: Operand,
    *,
    dtype: TorchDtype = None,
    **_: object,
) -> GraphExpr:
    name = _dtype_or(dtype, number_dtype(fill_value))
    value = fill_value if imp.is_tensor(fill_value) else const(fill_value, name)
    return imp.emit(R.full(list(size), value, name))


@row("empty_like", "zeros_like", "zero")
def _zeros_like(imp: Importer, x: GraphExpr, *, dtype: TorchDtype = None, **_: object) -> GraphExpr:
    return imp.emit(R.zeros_like(x, None if dtype is None else dtype_of(dtype)))


@row("ones_like")
def _ones_like(imp: Importer, x: GraphExpr, *, dtype: TorchDtype = None, **_: object) -> GraphExpr:
    return imp.emit(R.ones_like(x, None if dtype is None else dtype_of(dtype)))


@row("full_like", "fill")
def _full_like(
    imp: Importer, x: GraphExpr, fill_value: Operand, *, dtype: TorchDtype = None, **_: object
) -> GraphExpr:
    name = _dtype_or(dtype, imp.dtype(x))
    value = imp.cast(fill_value, name) if imp.is_tensor(fill_value) else const(fill_value, name)
    return imp.emit(R.full(imp.shape(x), value, name))


@row("new_ones")
def _new_ones(
    imp: Importer, x: GraphExpr, *size: Sizes, dtype: TorchDtype = None, **_: object
) -> GraphExpr:
    name = _dtype_or(dtype, imp.dtype(x))
    return imp.emit(R.full(as_list(size), const(1, name), name))


@row("new_zeros", "new_empty")
def _new_zeros(
    imp: Importer, x: GraphExpr, *size: Sizes, dtype: TorchDtype = None, **_: object
) -> GraphExpr:
    name = _dtype_or(dtype, imp.dtype(x))
    return imp.emit(R.full(as_list(size), const(0, name), name))


@row("new_full")
def _new_full(
    imp: Importer,
    x: GraphExpr,
    size: Sequence[Size],
    fill_value: Operand,
    *,
    dtype: TorchDtype = None,
    **_: object,
) -> GraphExpr:
    name = _dtype_or(dtype, imp.dtype(x))
    return imp.emit(R.full(list(size), const(fill_value, name), name))


@row("scalar_tensor", "tensor")
def _scalar_tensor(
    imp: Importer, value: object, *, dtype: TorchDtype = None, **_: object
) -> GraphExpr:
    if isinstance(value, Expr):  # a number that is computed of sizes
        return scalar(imp, value, _dtype_or(dtype, number_dtype(value)))
    array = np.asarray(value)
    default = {"float64": "float32"}.get(str(array.dtype), str(array.dtype))
    return const(array, _dtype_or(dtype, default))


@row("tril")
def _tril(imp: Importer, x: GraphExpr, diagonal: int = 0) -> GraphExpr:
    return imp.emit(R.tril(x, diagonal))


@row("triu")
def _triu(imp: Importer, x: GraphExpr, diagonal: int = 0) -> GraphExpr:
    return imp.emit(R.triu(x, diagonal))


@row("masked_fill")
def _masked_fill(imp: Importer, x: GraphExpr, mask: GraphExpr, value: Operand) -> GraphExpr:
    dtype = imp.dtype(x)
    filled = imp.cast(value, dtype) if imp.is_tensor(value) else const(value, dtype)
    return imp.emit(R.where(imp.cast(mask, "bool"), filled, x))


# Dtypes


@row("to", "_to_copy", "type", "type_as", "astype", "convert_element_type")
def _to(imp: Importer, x: GraphExpr, *args: object, dtype: TorchDtype = None, **_: object) -> Value:
    for value in args:
        if imp.is_tensor(value):
            dtype = imp.dtype(value)
        elif str(value).startswith("torch.") and hasattr(value, "is_floating_point"):
            dtype = value
    part = None if dtype is None else PART_DTYPES.get(dtype_of(dtype))
    if part is not None:
        real = imp.cast(x, part)
        return ComplexTensor(real, imp.emit(R.zeros_like(real)))
    return x if dtype is None else imp.emit(R.astype(x, dtype_of(dtype)))


def _cast_to(dtype: str) -> Callable[..., GraphExpr]:
    return lambda imp, x, **_: imp.emit(R.astype(x, dtype))


for _name, _dtype in (
    ("float", "float32"),
    ("half", "float16"),
    ("double", "float64"),
    ("bfloat16", "bfloat16"),
    ("int", "int32"),
    ("long", "int64"),
    ("bool", "bool"),
    ("byte", "uint8"),
    ("char", "int8"),
    ("short", "int16"),
):
    ROWS[_name] = TorchRow(_cast_to(_dtype))


# Checks of torch.export, which give no value


@row(
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_assert_async",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "_check",
    "_assert",
    "_set_grad_enabled",
    "_check_is_size",
    "_linalg_check_errors",
)
def _nothing_to_do(imp: Importer, *args: object, **kwargs: object) -> None:
    return None


@row("with_effects")
def _with_effects(
    imp: Importer, token: int, operator: object, *args: object, **kwargs: object
) -> Value:
    """The token of the order of effects, and the results of an operator that checks its input."""
    name = str(getattr(getattr(operator, "overloadpacket", operator), "__name__", operator))
    if name not in ROWS:
        raise GraphError(
            f"the operator {operator} with effects is not supported",
            "the importer has no translation for it",
            "leave it out of the model",
        )
    result = ROWS[name].rule(imp, *args, **kwargs)
    return (token, *result) if isinstance(result, tuple) else (token, result)
