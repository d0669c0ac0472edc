"""What legalization rules share: rules of functions of topi, which is loaded when one is called.

Rules of `LegalizeOps` write TVM's text; rules of builds (`Operator.exact`) have the semantics of
torch and ONNX: the place of an extremum is that of the first NaN, an extremum of infinities is
infinite, floats are divided as in Python. `tests/relax/special_values.py` has the facts of each
operator. Must not know any operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from te_sched.ir import dtypes, ops
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, Tuple, TupleGetItem
from te_sched.ir.struct_info import PrimStructInfo, TupleStructInfo
from te_sched.lazy_loading import lazy_module
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.registry import Rewrite

if TYPE_CHECKING:
    from te_sched import topi as topi
else:
    topi = lazy_module("te_sched.topi")

TEFunc = Callable[..., Any]  # of tensors and attributes, as each operator has them


def topi_function(name: str) -> TEFunc:
    """A function of topi by its name ("nn.relu")."""

    def function(*args: Any, **options: Any) -> Any:
        module = topi.nn if name.startswith("nn.") else topi
        return getattr(module, name.removeprefix("nn."))(*args, **options)

    return function


def te_rule(te_func: TEFunc, name: str) -> Rewrite:
    """A rule that calls a function of tensor expressions with the arguments of the call."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        return builder.call_te(te_func, *call.args, primfunc_name_hint=name)

    return legalize


def broadcast_rule(te_func: TEFunc, name: str) -> Rewrite:
    """The rule of an operator of two values; a constant without dimensions becomes a number."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        first, second = call.args
        if isinstance(call.struct_info, PrimStructInfo):
            return call  # numbers are not arrays
        number = scalar_or_expr(second)
        if number is second:  # one of them stays a tensor
            first = scalar_or_expr(first)
        return builder.call_te(te_func, first, number, primfunc_name_hint=name)

    return legalize


def for_floats(rule: Rewrite, otherwise: Rewrite) -> Rewrite:
    """A rule where the first argument is a tensor of floats, and another one elsewhere."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        dtype = getattr(call.args[0].struct_info, "dtype", None) or ""
        is_float = bool(dtype) and dtypes.is_float(dtype)
        return (rule if is_float else otherwise)(builder, call)

    return legalize


def scalar_or_expr(expr: Any, python_native: bool = False) -> Any:
    """A constant without dimensions as a number of its dtype, everything else as it is.

    `python_native` asks for a number of Python.
    """
    if isinstance(expr, Constant) and len(expr.data.shape) == 0:
        value = expr.data.numpy().item()
        return value if python_native else ops.const(value, str(expr.data.dtype))
    return expr


def numbers_of(sizes: Iterable[Any]) -> list[Any]:
    """An attribute of sizes as a list, with numbers of Python for constants."""
    return [getattr(size, "value", size) for size in sizes]


def fields_of_tuple(builder: BlockBuilder, tensors: GraphExpr) -> list[GraphExpr]:
    """The fields of an argument that is a tuple of tensors, or a variable of one."""
    if isinstance(tensors, Tuple):
        return [field for field in tensors.fields if isinstance(field, GraphExpr)]
    info = tensors.struct_info
    count = len(info.fields) if isinstance(info, TupleStructInfo) else 0
    return [builder.emit(TupleGetItem(tensors, at)) for at in range(count)]
