"""Signatures of compiled functions: the interface of generated code, callers and saved files.

A `Signature` is plain data (it travels as JSON inside exported files). Shapes are integers or small
trees over symbols, so that a caller can check and bind symbolic dimensions without any IR. Must not
know LLVM or arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from te_sched.errors import BuildError, Subject, kind_of
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.argument_sizes import ATTRIBUTE, NOT_NEGATIVE, Size
from te_sched.ir.stmt import PrimFunc
from te_sched.ir.visitor import walk
from te_sched.lowering.unbound_variables import missing_arguments

# A dimension: an integer, ["symbol", k] for the k-th symbol, [operator, a, b], or
# ["if", condition, a, b].
Dimension = int | list[Any]

_Operator = Callable[[int, int], int]
_OPERATORS: dict[type, tuple[str, _Operator]] = {
    E.Add: ("+", operator.add),
    E.Sub: ("-", operator.sub),
    E.Mul: ("*", operator.mul),
    E.FloorDiv: ("//", operator.floordiv),
    E.FloorMod: ("%", operator.mod),
    E.Div: ("trunc/", lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    E.Mod: ("trunc%", lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1)),
    E.Min: ("min", min),
    E.Max: ("max", max),
    E.LT: ("<", operator.lt),
    E.LE: ("<=", operator.le),
    E.GT: (">", operator.gt),
    E.GE: (">=", operator.ge),
    E.EQ: ("==", operator.eq),
    E.NE: ("!=", operator.ne),
    E.And: ("and", lambda a, b: a and b),
    E.Or: ("or", lambda a, b: a or b),
}
_EVALUATE = dict(_OPERATORS.values())


@dataclass(slots=True)
class FunctionParameter:
    """One argument. `kind` is "buffer", "scalar" or "handle" (a raw pointer)."""

    kind: str
    name: str
    dtype: str
    shape: list[Dimension] = field(default_factory=list)
    strides: list[Dimension] | None = None  # in elements; None: compact row-major
    written: bool = False
    symbol: int | None = None  # a scalar that is also a symbol of some shape
    broadcast: bool = False  # a dimension of extent 1 has stride 0
    alignment: int = 1  # bytes of which its address is a multiple, beside those of its elements


@dataclass(slots=True)
class Symbol:
    """A variable of shapes; unless a scalar argument gives it, it is passed after the arguments."""

    name: str
    dtype: str
    passed: bool = True


@dataclass(slots=True)
class Extent:
    """A number from `least` to `most`, unless one of `loops` is 0."""

    what: str
    size: Dimension
    least: Dimension
    why: str
    loops: list[Dimension] = field(default_factory=list)
    most: int | None = None


@dataclass(slots=True)
class Signature:
    """Arguments of a function, the symbols in their shapes, and what its error codes mean.

    `failures[code - 1]` is the (what, why, help) of a positive code that the native function
    returns.
    """

    name: str
    symbol: str
    parameters: list[FunctionParameter]
    symbols: list[Symbol]
    failures: list[list[str]] = field(default_factory=list)
    parallel: bool = False
    extents: list[Extent] = field(default_factory=list)
    memory: int = 1  # the DLPack type of the arrays' memory; below 0: of an emulated device
    device_id: int = 0
    result: str = ""  # the dtype of the value that a call gives; its slot is passed last

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        for name in _RECORDS:
            parts[name] = [
                {key: getattr(part, key) for key in part.__slots__} for part in parts[name]
            ]
        return parts

    @staticmethod
    def from_json(data: dict[str, Any]) -> Signature:
        """The signature that `to_json` gave."""
        built = {name: [kind(**item) for item in data[name]] for name, kind in _RECORDS.items()}
        return Signature(**{**data, **built})

    def failure(self, what: str, why: str, help: str) -> int:
        """The error code of a failure that generated code reports."""
        text = [what, why, help]
        if text not in self.failures:
            self.failures.append(text)
        return self.failures.index(text) + 1


# The lists of a signature that have records.
_RECORDS: dict[str, type[Any]] = {
    "parameters": FunctionParameter,
    "symbols": Symbol,
    "extents": Extent,
}


def evaluate(dimension: Dimension, values: Sequence[int | None]) -> int | None:
    """The value of a dimension; None if a symbol in it has none, or it divides by zero."""
    if isinstance(dimension, int):
        return dimension
    if dimension[0] == "symbol":
        return values[dimension[1]]
    if dimension[0] == "if":
        holds = evaluate(dimension[1], values)
        return None if holds is None else evaluate(dimension[2 if holds else 3], values)
    a, b = evaluate(dimension[1], values), evaluate(dimension[2], values)
    if a is None or b is None:
        return None
    try:
        return _EVALUATE[dimension[0]](a, b)
    except ZeroDivisionError:
        return None


def describe(dimension: Dimension, symbols: Sequence[Symbol]) -> str:
    """A dimension as text for messages."""
    if isinstance(dimension, int):
        return str(dimension)
    if dimension[0] == "symbol":
        return symbols[dimension[1]].name
    if dimension[0] == "if":
        condition, a, b = [describe(expr, symbols) for expr in dimension[1:]]
        return f"({a} if {condition} else {b})"
    a, b = describe(dimension[1], symbols), describe(dimension[2], symbols)
    name = dimension[0].removeprefix("trunc")
    return f"{name}({a}, {b})" if name in ("min", "max") else f"({a} {name} {b})"


def symbols_of(dimension: Dimension) -> list[int]:
    """The numbers of the symbols in a dimension, each once."""
    if isinstance(dimension, int):
        return []
    if dimension[0] == "symbol":
        return [dimension[1]]
    return list(dict.fromkeys(symbol for part in dimension[1:] for symbol in symbols_of(part)))


def _choice(value: E.Expr) -> tuple[E.Expr, E.Expr, E.Expr] | None:
    """The condition and both values of an expression that is one of two."""
    if isinstance(value, E.Select):
        return value.condition, value.true_value, value.false_value
    if isinstance(value, E.Call) and value.op == "tir.if_then_else":
        return value.args[0], value.args[1], value.args[2]
    return None


def calls_of(func: PrimFunc, op: str) -> list[E.Call]:
    """The calls of an intrinsic in a function."""
    return [node for node in walk(func.body) if type(node) is E.Call and node.op == op]


class SignatureBuilder:
    """Reads the signature of a PrimFunc; `variables[k]` is the variable behind symbol k."""

    def __init__(self, func: PrimFunc, name: str, symbol: str) -> None:
        self.func, self.name = func, name
        self.variables: list[E.Var] = []
        self._symbols: list[Symbol] = []
        self._index: dict[E.Var, int] = {}
        self.sizes: set[E.Var] = set()  # symbols that are an extent, and so never negative
        self.offsets: list[E.Var] = []  # element offsets: the pointer that is passed includes them
        parameters = [self._parameter(param) for param in func.params]
        self.signature = Signature(name, symbol, parameters, self._symbols)
        self.signature.result = self._result()
        self._check_bound()
        self.signature.extents += self._extents(func.attrs.get(ATTRIBUTE, ()))

    def _result(self) -> str:
        """The dtype of the values that the function returns."""
        result_dtypes = [call.args[0].dtype for call in calls_of(self.func, "tir.ret") if call.args]
        if (
            len(set(result_dtypes)) > 1
            or (result_dtypes and dtypes.lanes(result_dtypes[0]) > 1)
            or "handle" in result_dtypes
        ):
            raise BuildError(
                f"function {self.name} returns values of dtype "
                f"{', '.join(dict.fromkeys(result_dtypes))}",
                "a call gives one number",
                "return values of one dtype without lanes: cast them",
                Subject("function", self.name, f"function {self.name!r}"),
            )
        return result_dtypes[0] if result_dtypes else ""

    def _parameter(self, param: E.Var) -> FunctionParameter:
        buffer = self.func.buffer_map.get(param)
        if buffer is not None:
            return self._buffer(buffer)
        if param.dtype == "handle":
            return FunctionParameter("handle", param.name, "handle")
        symbol = self._symbol(param)
        self._symbols[symbol].passed = False
        return FunctionParameter("scalar", param.name, param.dtype, symbol=symbol)

    def _buffer(self, buffer: E.Buffer) -> FunctionParameter:
        if isinstance(buffer.elem_offset, E.Var):
            self.offsets.append(buffer.elem_offset)
        elif not (isinstance(buffer.elem_offset, E.IntImm) and buffer.elem_offset.value == 0):
            raise self._error(f"the element offset of buffer {buffer.name} is an expression")
        self.sizes.update(extent for extent in buffer.shape if isinstance(extent, E.Var))
        shape = [self._dimension(extent) for extent in buffer.shape]
        strides = [self._dimension(stride) for stride in buffer.strides] if buffer.strides else None
        auto = buffer.buffer_type != ""
        return FunctionParameter(
            "buffer", buffer.name, buffer.dtype, shape, strides, broadcast=auto
        )

    def _symbol(self, var: E.Var) -> int:
        if var not in self._index:
            self._index[var] = len(self.variables)
            self.variables.append(var)
            self._symbols.append(Symbol(var.name, var.dtype))
        return self._index[var]

    def _dimension(self, value: E.Expr) -> Dimension:
        if isinstance(value, E.IntImm):
            return value.value
        if isinstance(value, E.Var):
            return ["symbol", self._symbol(value)]
        if isinstance(value, E.Cast) and dtypes.is_integral(value.dtype):
            return self._dimension(value.value)
        chosen = _choice(value)
        if chosen is not None:
            return ["if", *map(self._dimension, chosen)]
        if type(value) not in _OPERATORS or not isinstance(value, E.BinaryOp | E.CompareOp):
            raise self._error(f"a shape or stride contains {kind_of(value)}")
        name, _ = _OPERATORS[type(value)]
        return [name, self._dimension(value.a), self._dimension(value.b)]

    def _extents(self, sizes: Iterable[Size]) -> Iterator[Extent]:
        """The conditions on sizes that a call checks, as far as its arguments determine them."""
        for param in self.func.params:
            if param in self._index and param.is_size:
                yield Extent(
                    f"the size {param.name}", ["symbol", self._index[param]], 0, NOT_NEGATIVE
                )
        for size in sizes:
            least = E.IntImm(size.least) if isinstance(size.least, int) else size.least
            if all(map(self._is_known, (size.extent, least, *size.loops))):
                number, needed, *loops = map(self._dimension, (size.extent, least, *size.loops))
                yield Extent(size.what, number, needed, size.why, loops, size.most)
            elif size.needed and not self._is_computable(size.extent):
                raise BuildError(
                    f"cannot check {size.what}, which is {size.extent}",
                    "a call computes it of integer arguments by + - * // %, min and max alone",
                    "pass the number itself as an argument: te.var(name)",
                    Subject("function", self.name, f"function {self.name!r}"),
                )

    def _is_known(self, value: E.Expr) -> bool:
        return self._is_computable(value) and all(
            node in self._index for node in walk(value) if isinstance(node, E.Var)
        )

    def _is_computable(self, value: E.Expr) -> bool:
        """Whether a call can compute an expression, once it has the values of its variables."""
        return all(
            type(node) in _OPERATORS
            or isinstance(node, E.IntImm)
            or _choice(node) is not None
            or (isinstance(node, E.Cast | E.Var) and dtypes.is_integral(node.dtype))
            for node in walk(value)
        )

    def _check_bound(self) -> None:
        """Every symbol must stand alone in some shape or stride, or be an argument."""
        bound = {parameter.symbol for parameter in self.signature.parameters}
        for parameter in self.signature.parameters:
            for dimension in [*parameter.shape, *(parameter.strides or [])]:
                if isinstance(dimension, list) and dimension[0] == "symbol":
                    bound.add(dimension[1])
        for number, symbol in enumerate(self._symbols):
            if number not in bound:
                raise missing_arguments(self.func, self.name) or self._error(
                    f"the value of {symbol.name} cannot be read from any argument",
                    "pass it as an argument, or use it alone as a dimension of an argument",
                )

    def _error(
        self, why: str, help: str = "use integers, variables and + - * // % in shapes"
    ) -> BuildError:
        return BuildError(f"cannot build function {self.name!r}", why, help)
