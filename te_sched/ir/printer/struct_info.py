"""What is known of values of graphs, in TVMScript. Must not know expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.ir import struct_info as S


def _size(printer: Any, size: Any) -> str:
    """A size or value; the type of an integer is that of the variables around it."""
    outside, printer.plain_types = printer.plain_types, ("int32", "int64")
    try:
        return str(printer.text(size))
    finally:
        printer.plain_types = outside


def _sizes(printer: Any, sizes: Any) -> str:
    return ", ".join([_size(printer, one) for one in sizes])


def _tuple(parts: list[str]) -> str:
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _called(name: str, arguments: list[str]) -> str:
    return f"{name}({', '.join(arguments)})" if arguments else name


def _prim(printer: Any, node: S.PrimStructInfo) -> str:
    if node.value is not None:
        return f"R.Prim(value={_size(printer, node.value)})"
    return f"R.Prim({printer.text(node.dtype)})"


def _shape(printer: Any, node: S.ShapeStructInfo) -> str:
    if node.values is None:
        return f"R.Shape(ndim={node.ndim})"
    return f"R.Shape([{_sizes(printer, node.values)}])"


def _tensor(printer: Any, node: S.TensorStructInfo) -> str:
    arguments = []
    if node.shape is not None:
        arguments.append(_tuple([_size(printer, one) for one in node.shape.values]))
    if node.dtype:
        arguments.append(f"dtype={printer.text(node.dtype)}")
    if node.shape is None and node.ndim != -1:
        arguments.append(f"ndim={node.ndim}")
    return _called("R.Tensor", arguments)


def _function(printer: Any, node: S.FuncStructInfo) -> str:
    if node.params is not None:
        params = _tuple([printer.text(one) for one in node.params])
        return f"R.Callable({params}, {printer.text(node.ret)}, {node.purity})"
    arguments = []
    if not isinstance(node.ret, S.ObjectStructInfo):
        arguments.append(f"ret={printer.text(node.ret)}")
    if node.purity:
        arguments.append("purity=True")
    return _called("R.Callable", arguments)


METHODS: dict[type, Callable[[Any, Any], str]] = {
    S.ShapeExpr: lambda printer, node: f"R.shape([{_sizes(printer, node.values)}])",
    S.ObjectStructInfo: lambda printer, node: "R.Object",
    S.PrimStructInfo: _prim,
    S.ShapeStructInfo: _shape,
    S.TensorStructInfo: _tensor,
    S.TupleStructInfo: lambda printer, node: _called(
        "R.Tuple", [printer.text(one) for one in node.fields]
    ),
    S.FuncStructInfo: _function,
}
