"""Expressions and statements in short Python notation. Types of constants, casts without effect and
`likely` are omitted, so the text cannot be parsed; use the printers of `te_sched.ir` for that. Must
not know the positions of lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.expr import Buffer, Call, Expr, IntImm, IterVar, StringImm, Var
from te_sched.ir.intrinsic_table import BITWISE, INTRINSICS
from te_sched.ir.stmt import BufferStore
from te_sched.ir.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.ir.structural import structural_equal

_TERNARY, _OR, _AND, _NOT, _COMPARE, _BITS, _SUM, _PRODUCT, _ATOM = range(9)
_BINARY: dict[type, tuple[str, int]] = {
    E.Or: ("or", _OR),
    E.And: ("and", _AND),
    E.EQ: ("==", _COMPARE),
    E.NE: ("!=", _COMPARE),
    E.LT: ("<", _COMPARE),
    E.LE: ("<=", _COMPARE),
    E.GT: (">", _COMPARE),
    E.GE: (">=", _COMPARE),
    E.Add: ("+", _SUM),
    E.Sub: ("-", _SUM),
    E.Mul: ("*", _PRODUCT),
    E.FloorDiv: ("//", _PRODUCT),
    E.FloorMod: ("%", _PRODUCT),
    E.Div: ("/", _PRODUCT),
}
_NAMED: dict[type, str] = {E.Min: "min", E.Max: "max", E.Mod: "truncmod"}
_UPDATES: dict[type, str] = {E.Add: "+=", E.Mul: "*="}
_LONGEST = 120  # characters of an expression
_MOST_NODES = 150  # of one text, which may be exponentially long


class Notation:
    """Texts of expressions. `name_of` gives names of variables, `views` the buffer and position
    that pointers refer to.
    """

    def __init__(
        self,
        name_of: Callable[[Var], str] = lambda var: var.name,
        views: Mapping[Var, str] | None = None,
    ) -> None:
        self._name_of = name_of
        self._views: Mapping[Var, str] = {} if views is None else views
        self._left = _MOST_NODES

    def name(self, item: Var | Buffer) -> str:
        """The name of a variable or a buffer."""
        return self._name_of(item.data if isinstance(item, Buffer) else item)

    def text(self, value: Any) -> str:
        """The text of an expression, range, axis or buffer, shortened if it is long."""
        self._left = _MOST_NODES
        return shortened(self._text(value)[0])

    def element(self, buffer: Buffer, indices: Iterable[Expr]) -> str:
        """An element of a buffer."""
        self._left = _MOST_NODES
        return self._element(buffer, indices)

    def _element(self, buffer: Buffer, indices: Iterable[Expr]) -> str:
        return f"{self.name(buffer)}[{self._indices(indices)}]"

    def store(self, node: BufferStore) -> str:
        """ "C[i, j] += A[i, k] * B[k, j]"."""
        value, kind = node.value, type(node.value)
        element = self.element(node.buffer, node.indices)
        if kind in _UPDATES:
            if _reads(value.a, node):  # type: ignore[attr-defined]
                return f"{element} {_UPDATES[kind]} {self.text(value.b)}"  # type: ignore[attr-defined]
            if _reads(value.b, node):  # type: ignore[attr-defined]
                return f"{element} {_UPDATES[kind]} {self.text(value.a)}"  # type: ignore[attr-defined]
        return f"{element} = {self.text(value)}"

    def span(self, start: Expr, extent: Expr) -> str:
        """ "0:32": the numbers from start to before start + extent."""
        self._left = _MOST_NODES
        return self._span(start, extent)

    def _span(self, start: Expr, extent: Expr) -> str:
        return f"{self._text(start)[0]}:{self._text(ops.add(start, extent))[0]}"

    def _text(self, value: Any) -> tuple[str, int]:
        self._left -= 1
        if self._left < 0:
            return "…", _ATOM
        method = _METHODS.get(type(value))
        return (str(value), _ATOM) if method is None else method(self, value)

    def _at(self, value: Any, level: int) -> str:
        """A text that may be an operand of an operator of this level."""
        text, own = self._text(value)
        return text if own >= level else f"({text})"

    def _commas(self, values: Iterable[Any]) -> str:
        return ", ".join([self._text(value)[0] for value in values])

    def _indices(self, indices: Iterable[Expr]) -> str:
        return ", ".join([self._index(index) for index in indices])

    def _index(self, index: Expr) -> str:
        if type(index) is not E.Ramp:
            return self._text(index)[0]
        stride = index.stride
        if not isinstance(stride, IntImm):
            return self._text(index)[0]
        span = self._span(index.base, ops.mul(stride, index.lanes))
        return span if stride.value == 1 else f"{span}:{stride.value}"

    def _binary(self, node: Any) -> tuple[str, int]:
        node = _shorter(node)
        operator, level = _BINARY.get(type(node), ("", _ATOM))
        if not operator:
            return self._text(node)
        left, right = self._at(node.a, level), self._at(node.b, level + 1)
        return f"{left} {operator} {right}", level

    def _function(self, node: Any) -> tuple[str, int]:
        return f"{_NAMED[type(node)]}({self._commas((node.a, node.b))})", _ATOM

    def _choice(self, condition: Expr, value: Expr, other: Expr) -> tuple[str, int]:
        parts = (self._at(value, _OR), self._at(condition, _OR), self._at(other, _TERNARY))
        return "{} if {} else {}".format(*parts), _TERNARY

    def _cast(self, node: E.Cast) -> tuple[str, int]:
        return f"{dtypes.element(node.dtype)}({self._text(node.value)[0]})", _ATOM

    def _call(self, node: Call) -> tuple[str, int]:
        op, args = node.op, node.args
        if op == "tir.likely":
            return self._text(args[0])
        if op == "tir.if_then_else":
            return self._choice(*args)
        if op in BITWISE:
            left, right = self._at(args[0], _BITS + 1), self._at(args[1], _BITS + 1)
            return f"{left} {INTRINSICS[op.removeprefix('tir.')].symbol} {right}", _BITS
        if op == "tir.bitwise_not":
            return f"~{self._at(args[0], _ATOM)}", _ATOM
        if op == "tir.tvm_access_ptr" and isinstance(args[1], Var):
            if args[1] in self._views:
                return f"&{self._views[args[1]]}", _ATOM
            at = "" if _is_zero(args[2]) else f"[{self._text(args[2])[0]}]"
            return f"&{self.name(args[1])}{at}", _ATOM
        if op == "tir.address_of":
            return f"&{self._text(args[0])[0]}", _ATOM
        if op == "tir.tvm_stack_make_array":  # the argument of packed functions for a buffer
            return self._text(args[0])
        if op == "tir.tvm_thread_allreduce":
            return self._allreduce(args), _ATOM
        is_named = bool(args) and isinstance(args[0], StringImm)
        if is_named and ("extern" in op or "packed" in op):
            return f"{args[0].value}({self._commas(args[1:])})", _ATOM  # type: ignore[attr-defined]
        return f"{op.removeprefix('tir.')}({self._commas(args)})", _ATOM

    def _allreduce(self, args: tuple[Expr, ...]) -> str:
        """(count, values..., condition, results..., axes...)"""
        count = args[0].value if isinstance(args[0], IntImm) else 0
        results = self._commas(args[count + 2 : 2 * count + 2])
        values = self._commas((*args[1 : count + 1], *args[2 * count + 2 :]))
        return f"{results} = allreduce({values})"

    def _float(self, node: E.FloatImm) -> tuple[str, int]:
        text = f"{node.value:.6g}"
        return text + ("" if set(text) & set(".enai") else ".0"), _ATOM

    def _integer(self, node: IntImm) -> tuple[str, int]:
        return str(bool(node.value) if node.dtype == "bool" else node.value), _ATOM

    def _reduce(self, node: E.Reduce) -> tuple[str, int]:
        combined = node.combiner.result[node.value_index]
        name = _REDUCERS.get(type(combined), "reduce")
        names = ", ".join([self.name(axis.var) for axis in node.axis])
        axis = names if len(node.axis) == 1 else f"[{names}]"
        where = "" if _is_true(node.condition) else f", where={self._text(node.condition)[0]}"
        source = self._text(node.source[node.value_index])[0]
        return f"{name}({source}, axis={axis}{where})", _ATOM


_REDUCERS: dict[type, str] = {E.Add: "sum", E.Mul: "prod", E.Min: "min", E.Max: "max"}


def shortened(text: str, longest: int = _LONGEST) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _reads(value: Expr, store: BufferStore) -> bool:
    """Whether a value is the element that a statement stores."""
    return (
        type(value) is E.BufferLoad
        and value.buffer is store.buffer
        and len(value.indices) == len(store.indices)
        and all(map(structural_equal, value.indices, store.indices))
    )


def _shorter(node: Any) -> Any:
    """i + 3 for i + 1 + 2, and i for i + j - j, which passes simplify later."""
    inner, last = node.a, node.b
    if type(node) not in _SIGNS or type(inner) not in _SIGNS:
        return node
    if type(last) is not IntImm:
        is_undone = type(node) is not type(inner) and dtypes.is_integral(last.dtype)
        return inner.a if is_undone and structural_equal(inner.b, last) else node
    first = inner.b
    if type(first) is not IntImm:
        return node
    total = _SIGNS[type(inner)] * first.value + _SIGNS[type(node)] * last.value
    if total == 0:
        return inner.a
    kind = E.Add if total > 0 else E.Sub
    return kind(inner.a, IntImm(abs(total), last.dtype))


_SIGNS: dict[type, int] = {E.Add: 1, E.Sub: -1}


def _is_zero(value: Expr) -> bool:
    return isinstance(value, IntImm) and value.value == 0


def _is_true(value: Expr) -> bool:
    return isinstance(value, IntImm) and value.value != 0


def array_type(dtype: str, shape: Sequence[Expr] | None, text: Callable[[Any], str]) -> str:
    """The type of an array: "float32[1024, n]"; "float32[...]" if its shape is not known."""
    return f"{dtype}[{'...' if shape is None else ', '.join(map(text, shape))}]"


def value_type(info: StructInfo | None) -> str:
    """The type of a value of a graph: "float32[4, n]", "(float32[4], int64)", "shape (4, n)".

    Sizes and dtypes that are not known are "?".
    """
    text = Notation().text
    if isinstance(info, TensorStructInfo):
        dtype = info.dtype or "?"
        if isinstance(info.shape, ShapeExpr):
            return array_type(dtype, info.shape.values, text)
        if info.ndim < 0:
            return array_type(dtype, None, text)
        return f"{dtype}[{', '.join('?' * info.ndim)}]"
    if isinstance(info, TupleStructInfo):
        return f"({', '.join(map(value_type, info.fields))})"
    if isinstance(info, ShapeStructInfo):
        sizes = ["?"] * max(info.ndim, 0) if info.values is None else map(text, info.values)
        return f"shape ({', '.join(sizes)})"
    if isinstance(info, PrimStructInfo):
        return info.dtype
    return "function" if isinstance(info, FuncStructInfo) else "object"


_Method = Callable[[Notation, Any], tuple[str, int]]
_METHODS: dict[type, _Method] = {
    **{kind: Notation._binary for kind in _BINARY},
    **{kind: Notation._function for kind in _NAMED},
    Var: lambda notation, node: (notation.name(node), _ATOM),
    IterVar: lambda notation, node: (notation.name(node.var), _ATOM),
    Buffer: lambda notation, node: (notation.name(node), _ATOM),
    IntImm: Notation._integer,
    E.FloatImm: Notation._float,
    StringImm: lambda notation, node: (repr(node.value), _ATOM),
    E.Cast: Notation._cast,
    Call: Notation._call,
    E.Not: lambda notation, node: (f"not {notation._at(node.a, _NOT)}", _NOT),
    E.Select: lambda notation, node: notation._choice(
        node.condition, node.true_value, node.false_value
    ),
    E.Broadcast: lambda notation, node: notation._text(node.value),
    E.Ramp: lambda notation, node: (
        f"ramp({notation._commas((node.base, node.stride))}, {node.lanes})",
        _ATOM,
    ),
    E.Shuffle: lambda notation, node: (
        f"shuffle([{notation._commas(node.vectors)}], [{notation._commas(node.indices)}])",
        _ATOM,
    ),
    E.Let: lambda notation, node: (
        f"let({notation.name(node.var)} = {notation._text(node.value)[0]}, "
        f"{notation._text(node.body)[0]})",
        _ATOM,
    ),
    E.BufferLoad: lambda notation, node: (notation._element(node.buffer, node.indices), _ATOM),
    E.ProducerLoad: lambda notation, node: (
        f"{node.producer.name}[{notation._indices(node.indices)}]",
        _ATOM,
    ),
    E.Reduce: Notation._reduce,
    E.Range: lambda notation, node: (notation._span(node.min, node.extent), _ATOM),
}
