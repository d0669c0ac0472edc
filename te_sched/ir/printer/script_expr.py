"""Expressions in TVMScript. Must not know statements or the assignment of names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir.blocks import MatchBufferRegion
from te_sched.ir.expr import Buffer, BufferRegion, Expr, FloatImm, IntImm, IterVar, StringImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.printer.style import PLAIN, Style

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT = range(1, 7)
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
_LEVEL: dict[type, int] = {E.Not: _NOT, **{kind: level for kind, (_, level) in _BINARY.items()}}
_FUNCTION: dict[type, str] = {E.Min: "min", E.Max: "max", E.Mod: "truncmod"}

_CONSTANT = (IntImm, FloatImm)
Metadata = dict[str, list[object]]  # nodes that are not printed, by the key of their class
_TEXTS = "tir.StringImm"  # the key of texts of several lines

# Intrinsics that are printed with the data type, first or last, or under another name.
_DTYPE_FIRST = frozenset(
    [
        *("tir.call_extern", "tir.call_pure_extern", "tir.call_llvm_intrin"),
        *("tir.call_llvm_pure_intrin", "tir.reinterpret", "tir.type_annotation", "tir.dp4a"),
        *("tir.vectorhigh", "tir.vectorlow", "tir.vectorcombine", "tir.get_active_lane_mask"),
        *("tir.mma_store", "tir.mma_fill", "tir.ptx_mma", "tir.ptx_mma_sp", "tir.ptx_ldmatrix"),
        *("tir.ptx_cp_async", "tir.ptx_cp_async_bulk"),
    ]
)
_DTYPE_LAST = frozenset(["tir.tvm_struct_get"])
_RENAMED = {
    "tir.tvm_call_packed": "call_packed",
    "tir.tvm_call_cpacked": "call_cpacked",
    "tir.tvm_call_packed_lowered": "call_packed_lowered",
    "tir.tvm_call_cpacked_lowered": "call_cpacked_lowered",
}


def quoted(text: str) -> str:
    """A string literal."""
    escapes = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\t"): "\\t", ord("\r"): "\\r"}
    return '"' + "".join(
        escapes.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\x{byte:02X}")
        for byte in text.encode(errors="surrogatepass")
    ) + '"'  # fmt: skip


class _Printer(Protocol):
    """A printer of expressions, in any language."""

    def text(self, node: object) -> str:
        """The text of a node or plain value."""


def mapping_text(printer: _Printer, node: Mapping[object, object]) -> str:
    """The text of a mapping as a dictionary with sorted keys."""
    keys = sorted(node, key=str)
    return f"{{{', '.join(f'{quoted(str(key))}: {printer.text(node[key])}' for key in keys)}}}"


class ByClass(dict[type, Callable[..., str]]):
    """Printing methods by class; values of other classes, in attributes, are strings."""

    def __missing__(self, kind: type) -> Callable[..., str]:
        return _as_string


def _as_string(printer: _Printer, node: object) -> str:
    if hasattr(node, "export"):  # a target
        return f"T.target({printer.text(node.export())})"
    return quoted(repr_of(node))


def python_tuple(texts: list[str]) -> str:
    """The texts as a tuple of Python."""
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def float_text(value: float) -> str:
    """The text of a float, with 17 digits, which represent it exactly."""
    if value == 0:  # -0 would be read as an integer, which has no sign
        return "0" if math.copysign(1.0, value) == 1 else "-0.0"
    if math.isfinite(value):
        return f"{value:.17g}"
    return '"nan"' if math.isnan(value) else '"inf"' if value > 0 else '"-inf"'


class ExprPrinter:
    """A printer of expressions; subclasses assign names to variables and buffers."""

    def __init__(self, style: Style = PLAIN, metadata: Metadata | None = None) -> None:
        self.style = style
        self.names: dict[object, str] = {}
        self.metadata: Metadata = {} if metadata is None else metadata
        self.module_name = ""  # of the module around a function

    def declare_variable(self, var: Var) -> str:
        """The text of a variable at its first use."""
        raise NotImplementedError

    def declare_buffer(self, buffer: Buffer) -> str:
        """The text of a buffer at its first use."""
        raise NotImplementedError

    def named_for(self, variables: tuple[Var, ...], result: tuple[Expr, ...]) -> tuple[str, str]:
        """The texts of variables with temporary names, and of the result in which they occur."""
        raise NotImplementedError

    def text(self, node: object) -> str:
        """The text of an expression, range, axis, buffer or plain value."""
        return _METHODS[type(node)](self, node)

    def buffer(self, buffer: Buffer) -> str:
        """The name of a buffer."""
        name = self.names.get(buffer)
        return name if name is not None else self.declare_buffer(buffer)

    def _variable(self, node: Var) -> str:
        name = self.names.get(node)
        return name if name is not None else self.declare_variable(node)

    def _integer(self, node: IntImm) -> str:
        if node.dtype == self.style.int_dtype:
            return str(node.value)
        if node.dtype == "bool":
            return "T.bool(True)" if node.value else "T.bool(False)"
        return f"T.{node.dtype}({node.value})"

    def _float(self, node: FloatImm) -> str:
        if node.dtype == self.style.float_dtype:
            text = float_text(node.value)
            return f"{text}.0" if text.lstrip("-").isdigit() else text
        return f"T.{node.dtype}({float_text(node.value)})"

    def _string(self, node: StringImm) -> str:
        if "\n" not in node.value:
            return quoted(node.value)
        return self.metadata_item(_TEXTS, node)

    def metadata_item(self, key: str, node: object) -> str:
        """The text of a node that is in the metadata, to which it is added."""
        nodes = self.metadata.setdefault(key, [])
        if not any(other is node for other in nodes):
            nodes.append(node)
        position = next(index for index, other in enumerate(nodes) if other is node)
        return f'metadata["{key}"][{position}]'

    def _binary(self, node: E.BinaryOp | E.CompareOp) -> str:
        kind, a, b = type(node), node.a, node.b
        operator, level = _BINARY[kind]
        left, right = self.text(a), self.text(b)
        if (type(a) in _CONSTANT or type(b) in _CONSTANT) and _folds(node):
            return f"T.{kind.__name__}({left}, {right})"
        if kind is E.Div and not dtypes.is_float(node.dtype):
            return f"T.Div({left}, {right})"
        own = _LEVEL.get(type(a))
        if own is not None and own < level and _is_operator(a):
            left = f"({left})"
        own = _LEVEL.get(type(b))
        if own is not None and own <= level and _is_operator(b):
            right = f"({right})"
        return f"{left} {operator} {right}"

    def _function(self, node: E.BinaryOp) -> str:
        return f"T.{_FUNCTION[type(node)]}({self.text(node.a)}, {self.text(node.b)})"

    def _not(self, node: E.Not) -> str:
        inner = self.text(node.a)
        own = _LEVEL.get(type(node.a))
        if own is not None and own < _NOT and _is_operator(node.a):
            inner = f"({inner})"
        return f"not {inner}"

    def _cast(self, node: E.Cast) -> str:
        return f"T.Cast({quoted(node.dtype)}, {self.text(node.value)})"

    def _select(self, node: E.Select) -> str:
        return f"T.Select({self.commas((node.condition, node.true_value, node.false_value))})"

    def _ramp(self, node: E.Ramp) -> str:
        return f"T.Ramp({self.commas((node.base, node.stride, ops.convert(node.lanes)))})"

    def _broadcast(self, node: E.Broadcast) -> str:
        return f"T.Broadcast({self.commas((node.value, ops.convert(node.lanes)))})"

    def _shuffle(self, node: E.Shuffle) -> str:
        return f"T.Shuffle({self.text(node.vectors)}, {self.text(node.indices)})"

    def _let(self, node: E.Let) -> str:
        value, var = self.text(node.value), self.text(node.var)  # declared in this order
        return f"T.Let({self.text(node.body)}, where={{{var}: {value}}})"

    def _call(self, node: E.Call) -> str:
        op = node.op
        if op == "tir.call_function":
            function, *operands = node.args
            assert isinstance(function, StringImm)
            prefix = f"{self.module_name}." if self.module_name else ""
            return f"{prefix}{function.value}({self.commas(operands)})"
        args = [self.text(arg) for arg in node.args]
        if op in _DTYPE_FIRST:
            args.insert(0, quoted(node.dtype))
        elif op in _DTYPE_LAST:
            args.append(quoted(node.dtype))
        name = _RENAMED.get(op)
        if name is None:
            name = op.removeprefix("tir.")
        return f"T.{name}({', '.join(args)})"

    def _load(self, node: E.BufferLoad) -> str:
        if node.predicate is not None:
            places, mask = self.commas(node.indices), self.text(node.predicate)
            return f"{self.buffer(node.buffer)}.vload([{places}], predicate={mask})"
        return f"{self.buffer(node.buffer)}[{self.indices(node.indices)}]"

    def _producer_load(self, node: E.ProducerLoad) -> str:
        return f"{node.producer.name}[{self.indices(node.indices)}]"

    def indices(self, indices: tuple[Expr, ...]) -> str:
        """The text between the brackets of an access; a vector of indices is a slice."""
        if not indices:
            return "()"
        return ", ".join([self._index(index) for index in indices])

    def _index(self, index: Expr) -> str:
        if type(index) is not E.Ramp or not isinstance(index.stride, IntImm):
            return self.text(index)
        base, stride = index.base, index.stride
        stop = ops.add(base, ops.mul(ops.convert(index.lanes), stride.value))
        slice_text = f"{self.text(base)}:{self.text(stop)}"
        return slice_text if stride.value == 1 else f"{slice_text}:{self.text(stride)}"

    def region(self, ranges: tuple[E.Range, ...]) -> str:
        """The text between the brackets of a region."""
        return ", ".join(
            f"{self.text(r.min)}:{self.text(ops.add(r.min, r.extent))}" for r in ranges
        )

    def _buffer_region(self, node: BufferRegion) -> str:
        name = self.buffer(node.buffer)  # declared before the variables of the region
        parts = [
            self.text(r.min)
            if ops.is_const(r.extent, 1)
            else f"{self.text(r.min)}:{self.text(ops.add(r.min, r.extent))}"
            for r in node.region
        ]
        return f"{name}[{', '.join(parts) or '()'}]"

    def _match_buffer(self, node: MatchBufferRegion) -> str:
        return f"T.match_buffer({self.text(node.source)})"

    def commas(self, items: Iterable[object]) -> str:
        """The texts, separated by commas."""
        return ", ".join([self.text(item) for item in items])

    def _reducer(self, node: E.CommReducer) -> str:
        names, result = self.named_for((*node.lhs, *node.rhs), node.result)
        if len(node.result) != 1:
            result = f"({result})"
        return f"T.comm_reducer(lambda {names}: {result}, {self.text(node.identity)})"

    def _index_map(self, node: IndexMap) -> str:
        text = f"T.index_map({self._map_function(node)}"
        inverse = node.inverse_index_map
        if inverse is not None:
            text += f", inverse_index_map={self._map_function(inverse)}"
        return f"{text})"

    def _map_function(self, node: IndexMap) -> str:
        names, result = self.named_for(node.initial_indices, node.final_indices)
        comma = "," if len(node.final_indices) == 1 else ""
        return f"lambda {names}: ({result}{comma})".replace("lambda :", "lambda:")

    def _reduce(self, node: E.Reduce) -> str:
        parts = (
            self._reducer(node.combiner),
            f"source={self.text(node.source)}",
            f"init={self.text(node.init)}",
            f"axis={self.text(node.axis)}",
            f"condition={self.text(node.condition)}",
            f"value_index={node.value_index}",
        )
        return f"T.reduce({', '.join(parts)})"

    def _range(self, node: E.Range) -> str:
        return f"T.Range({self.text(node.min)}, {self.text(ops.add(node.extent, node.min))})"

    def _axis(self, node: IterVar) -> str:
        var, dom = self.text(node.var), self.text(node.dom)
        return f"T.iter_var({var}, {dom}, {quoted(node.kind)}, {quoted(node.thread_tag)})"


def _is_operator(node: Any) -> bool:
    """Whether a node is printed with its operator (and may need parentheses)."""
    kind = type(node)
    if kind is E.Not:
        return True
    if kind is E.Div and not dtypes.is_float(node.dtype):
        return False
    has_constant = type(node.a) in _CONSTANT or type(node.b) in _CONSTANT
    return not (has_constant and _folds(node))


def _folds(node: E.BinaryOp | E.CompareOp) -> bool:
    """Whether the operator would build another node from these operands, so that the class is
    printed instead.
    """
    kind, a, b = type(node), node.a, node.b
    if kind is E.Div and not dtypes.is_float(node.dtype):
        return False
    try:
        built = ops.BUILDERS[kind](a, b)
    except DeclarationError:  # also invalid programs can be printed
        return False
    return built is a or built is b or type(built) is not kind


_METHODS = ByClass()
_METHODS |= {
    Var: ExprPrinter._variable,
    IntImm: ExprPrinter._integer,
    FloatImm: ExprPrinter._float,
    StringImm: ExprPrinter._string,
    **{kind: ExprPrinter._binary for kind in _BINARY},
    **{kind: ExprPrinter._function for kind in _FUNCTION},
    E.Not: ExprPrinter._not,
    E.Cast: ExprPrinter._cast,
    E.Select: ExprPrinter._select,
    E.Ramp: ExprPrinter._ramp,
    E.Broadcast: ExprPrinter._broadcast,
    E.Shuffle: ExprPrinter._shuffle,
    E.Let: ExprPrinter._let,
    E.Call: ExprPrinter._call,
    E.BufferLoad: ExprPrinter._load,
    E.ProducerLoad: ExprPrinter._producer_load,
    E.CommReducer: ExprPrinter._reducer,
    E.Reduce: ExprPrinter._reduce,
    IndexMap: ExprPrinter._index_map,
    E.Range: ExprPrinter._range,
    BufferRegion: ExprPrinter._buffer_region,
    MatchBufferRegion: ExprPrinter._match_buffer,
    IterVar: ExprPrinter._axis,
    Buffer: ExprPrinter.buffer,
    tuple: lambda printer, node: f"[{printer.commas(node)}]",
    list: lambda printer, node: f"[{printer.commas(node)}]",
    dict: mapping_text,
    str: lambda printer, node: quoted(node),
    bool: lambda printer, node: f"T.bool({node})",
    int: lambda printer, node: str(node),
    float: lambda printer, node: printer.text(FloatImm(node, "float32")),
    type(None): lambda printer, node: "None",
}
