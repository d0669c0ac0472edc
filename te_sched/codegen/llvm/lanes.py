"""Numbers of some lanes that write LLVM instructions when Python's operators are applied to them.

A `LaneBuilder` collects the text of one function, of any number of lanes; what is computed is
written once for scalars and vectors. No operation has fast-math flags, and there are no branches,
so that every width rounds alike and loops over a scalar function can be vectorized. Must not know
what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from te_sched.codegen.llvm.types import floating

_DTYPES = {"float": "float32", "double": "float64"}
_SUFFIXES = {"float": "f32", "double": "f64", "i32": "i32", "i64": "i64"}
INTEGERS = {"float": "i32", "double": "i64"}  # as wide as the floats


class LaneBuilder:
    """The body of a function whose values all have `count` lanes."""

    def __init__(self, count: int, scales_powers: bool = False) -> None:
        self.count = count
        self.scales_powers = scales_powers  # whether the processor multiplies by powers of two
        self.lines: list[str] = []
        self.declarations: dict[str, tuple[str, tuple[str, ...]]] = {}  # result, parameters

    def type(self, kind: str) -> str:
        """The LLVM type of a number."""
        return kind if self.count == 1 else f"<{self.count} x {kind}>"

    def emit(self, kind: str, instruction: str) -> Number:
        """Append an instruction; gives its result."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return Number(self, name, kind)

    def constant(self, kind: str, value: float) -> Number:
        """A constant in all lanes."""
        text = floating(value, _DTYPES[kind]).text if kind in _DTYPES else str(int(value))
        return Number(self, text if self.count == 1 else f"splat ({kind} {text})", kind)

    def intrinsic(self, name: str, kind: str, *operands: Number) -> Number:
        """Call an LLVM intrinsic that is named after the type of its result."""
        suffix = _SUFFIXES[kind] if self.count == 1 else f"v{self.count}{_SUFFIXES[kind]}"
        types = tuple(self.type(operand.kind) for operand in operands)
        full = f"llvm.{name}.{suffix}"
        self.declarations[full] = (self.type(kind), types)
        arguments = ", ".join(
            f"{text} {operand.text}" for text, operand in zip(types, operands, strict=True)
        )
        return self.emit(kind, f"call {self.type(kind)} @{full}({arguments})")

    def look_up(self, table: str, kind: str, index: Number) -> Number:
        """The elements of a constant array at some indices, all of which exist."""
        address = self.emit(
            "ptr", f"getelementptr inbounds {kind}, ptr {table}, {self.type('i64')} {index.text}"
        )
        if self.count == 1:
            return self.emit(kind, f"load {kind}, ptr {address.text}, align 8")
        vector, pointers, mask = self.type(kind), self.type("ptr"), self.type("i1")
        name = f"llvm.masked.gather.v{self.count}{_SUFFIXES[kind]}.v{self.count}p0"
        self.declarations[name] = (vector, (pointers, "i32", mask, vector))
        arguments = f"{pointers} {address.text}, i32 8, {mask} splat (i1 true), {vector} poison"
        return self.emit(kind, f"call {vector} @{name}({arguments})")


def _operator(floats: str, integers: str) -> Callable[[Number, Number | float], Number]:
    """An operator by its instructions; what compares gives an i1."""

    def method(self: Number, other: Number | float) -> Number:
        name = floats if self.kind in _DTYPES else integers
        kind = "i1" if "cmp " in name else self.kind
        operands = f"{self.lanes.type(self.kind)} {self.text}, {self.like(other).text}"
        return self.lanes.emit(kind, f"{name} {operands}")

    return method


class Number:
    """A value with the operators of Python; the other operand may be a Python number."""

    __slots__ = ("kind", "lanes", "text")

    def __init__(self, lanes: LaneBuilder, text: str, kind: str) -> None:
        self.lanes, self.text, self.kind = lanes, text, kind

    def like(self, value: Number | float) -> Number:
        """A Python number as a number of this kind."""
        return value if isinstance(value, Number) else self.lanes.constant(self.kind, value)

    def _convert(self, instruction: str, kind: str) -> Number:
        source, target = self.lanes.type(self.kind), self.lanes.type(kind)
        return self.lanes.emit(kind, f"{instruction} {source} {self.text} to {target}")

    __add__ = _operator("fadd", "add")
    __sub__ = _operator("fsub", "sub")
    __mul__ = _operator("fmul", "mul")
    __truediv__ = _operator("fdiv", "")
    __and__ = _operator("", "and")
    __or__ = _operator("", "or")
    __xor__ = _operator("", "xor")
    __lshift__ = _operator("", "shl")
    __rshift__ = _operator("", "ashr")  # towards minus infinity
    __lt__ = _operator("fcmp olt", "icmp slt")
    __gt__ = _operator("fcmp ogt", "icmp sgt")
    equals = _operator("fcmp oeq", "icmp eq")  # and not a NaN

    def __rsub__(self, other: float) -> Number:
        return self.like(other) - self

    def __rtruediv__(self, other: float) -> Number:
        return self.like(other) / self

    def __neg__(self) -> Number:
        return self.lanes.emit(self.kind, f"fneg {self.lanes.type(self.kind)} {self.text}")

    def choose(self, yes: Number, no: Number | float) -> Number:
        """`yes` where this condition holds, else `no`."""
        kind = self.lanes.type(yes.kind)
        test = f"{self.lanes.type('i1')} {self.text}"
        return self.lanes.emit(
            yes.kind, f"select {test}, {kind} {yes.text}, {kind} {yes.like(no).text}"
        )

    def at_most(self, limit: float) -> Number:
        """The smaller of it and a limit; a NaN stays."""
        return (self > limit).choose(self.like(limit), self)

    def at_least(self, limit: float) -> Number:
        """The larger of it and a limit; a NaN stays."""
        return (self < limit).choose(self.like(limit), self)

    def bits(self) -> Number:
        """The bits of a float as an integer."""
        return self._convert("bitcast", INTEGERS[self.kind])

    def from_bits(self) -> Number:
        """The float of which this integer has the bits."""
        return self._convert("bitcast", "float" if self.kind == "i32" else "double")

    def to(self, kind: str) -> Number:
        """Converted between float and double, between i32 and i64, or from i32 to either float."""
        pair = (self.kind, kind)
        names = {("float", "double"): "fpext", ("double", "float"): "fptrunc"}
        names |= {("i32", "i64"): "sext", ("i64", "i32"): "trunc"}
        return self._convert(names.get(pair, "sitofp"), kind)

    def magnitude(self) -> Number:
        """Without the sign."""
        return self.lanes.intrinsic("fabs", self.kind, self)

    def with_sign_of(self, other: Number) -> Number:
        """With the sign of another float."""
        return self.lanes.intrinsic("copysign", self.kind, self, other)

    def times_plus(self, factor: Number | float, addend: Number | float) -> Number:
        """self * factor + addend, fused where the processor can."""
        operands = (self, self.like(factor), self.like(addend))
        return self.lanes.intrinsic("fmuladd", self.kind, *operands)

    def times_power_of_two(self, exponent: Number) -> Number:
        """self * 2^exponent, rounded once; fast where `scales_powers` holds."""
        power = exponent if exponent.kind == "i32" else exponent.to("i32")
        count = "" if self.lanes.count == 1 else f"v{self.lanes.count}"
        name = f"llvm.ldexp.{count}{_SUFFIXES[self.kind]}.{count}i32"
        kind, integers = self.lanes.type(self.kind), self.lanes.type("i32")
        self.lanes.declarations[name] = (kind, (kind, integers))
        operands = f"{kind} {self.text}, {integers} {power.text}"
        return self.lanes.emit(self.kind, f"call {kind} @{name}({operands})")

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """A polynomial in it, constant term first: even and odd powers side by side."""
        if len(coefficients) < 6:
            return self.horner(coefficients)
        square = self * self
        even = square.horner(coefficients[::2])
        return square.horner(coefficients[1::2]).times_plus(self, even)

    def horner(self, coefficients: Sequence[float]) -> Number:
        """A polynomial in it, constant term first: one instruction for each power, in a row."""
        result = self.like(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = result.times_plus(self, coefficient)
        return result
