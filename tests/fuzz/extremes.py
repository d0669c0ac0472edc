"""Random expressions of extreme numbers: NaN, infinities, -0.0, the least and the largest integers,
divisors of 0, shifts by any number.

Results are compared with numpy bit by bit, so expressions do not depend on rounding or on fused
multiply-add. Must not know schedules.
"""

from __future__ import annotations

import random

from tests.peer.differential.program import Dim, Program, Value, shape

_FLOATS = ("float32", "float32", "float64", "float16")
_INTEGERS = ("int32", "int32", "int64", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
_SPECIAL = ("0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "'nan'", "'inf'", "'-inf'")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_EXTENTS = ((7,), (16,), (33,), (64,), (5, 8), (12, 3), (4, 16))

Text = tuple[str, str]  # for TE, for numpy


class Extremes:
    """The declarations of one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(_FLOATS if rng.random() < 0.5 else _INTEGERS)
        self.is_float = self.dtype.startswith("float")
        extents = rng.choice(_EXTENTS)
        self.dims = tuple(Dim(str(extent), extent) for extent in extents)
        self.values = [Value((name,), self.dims, (self.dtype,)) for name in ("A1", "A2")]

    def program(self, number: int) -> Program:
        """One or two elementwise stages, then perhaps a sum."""
        for _ in range(self.rng.choice((1, 1, 2))):
            self._elementwise()
        if self.rng.random() < 0.2:
            self._summed()
        values = self.values
        read = {name for value in values for name in value.reads}
        outputs = tuple(v.names[0] for v in values if v.lines and not read & set(v.names))
        return Program(number, tuple(values), outputs).pruned()

    def fillers(self, program: Program) -> tuple[str, ...]:
        """Lines that store such numbers in the inputs; sums are of numbers that do not round."""
        is_summed = any("te.sum(" in str(value.lines) for value in program.values)
        inputs = [name for name in program.arguments if name.startswith("A")]
        return tuple(
            f"fill_extremes(arrays[{place}], {self.rng.randrange(1000)}, {is_summed})"
            for place, _ in enumerate(inputs)
        )

    def _compute(
        self, body: Text, dtype: str, before: str = "", dims: tuple[Dim, ...] = ()
    ) -> None:
        name, dims = f"S{len(self.values) + 1}", dims or self.dims
        indices = ", ".join(("i", "j")[: len(dims)])
        line = f'{name} = te.compute({shape(dims)}, lambda {indices}: {body[0]}, name="{name}")'
        reads = tuple(value.names[0] for value in self.values if value.names[0] in body[0])
        lines = (*filter(None, (before,)), line)
        numpy = f"np.broadcast_to({body[1]}, {tuple(dim.value for dim in dims)}).astype('{dtype}')"
        self.values.append(Value((name,), dims, (dtype,), reads, lines, (numpy,)))

    def _elementwise(self) -> None:
        depth = self.rng.choice((2, 3, 3, 4))
        if self.rng.random() < 0.15:
            self._compute(self._condition(depth), "bool")
        else:
            self._compute(self._value(depth), self.dtype)

    def _summed(self) -> None:
        source = self.values[-1]
        if source.dtypes[0] == "bool" or (self.is_float and source.lines):
            source = self.values[0]
        name, last = source.names[0], self.dims[-1]
        kept = self.dims[:-1] or (Dim("1", 1),)
        place = "k" if len(self.dims) == 1 else "i, k"
        before = f'k = te.reduce_axis((0, {last.text}), "k")'
        dtype = self.dtype
        numpy = f"{name}.sum({-1}, dtype='{dtype}')"
        self._compute((f"te.sum({name}[{place}], axis=k)", numpy), dtype, before, kept)

    # Expressions

    def _leaf(self) -> Text:
        tensors = [value for value in self.values if value.dtypes[0] == self.dtype]
        if self.rng.random() < 0.25:
            return self._constant()
        name = self.rng.choice(tensors).names[0]
        return f"{name}[{', '.join(('i', 'j')[: len(self.dims)])}]", name

    def _constant(self) -> Text:
        if self.is_float:
            number = f"float({self.rng.choice(_SPECIAL)})"
        else:
            bits, signed = int(self.dtype.lstrip("uint")), not self.dtype.startswith("u")
            low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if signed else (0, 1 << bits)
            known = (0, 1, 2, 3, 7, bits - 1, high - 1, low, high // 2, -1 if signed else 5)
            number = str(self.rng.choice(known))
        return f"te.const({number}, '{self.dtype}')", f"np.{self.dtype}({number})"

    def _tensor(self, depth: int, is_term: bool = False) -> Text:
        """An expression that depends on a tensor: a constant divisor of 0 is refused."""
        found = self._value(depth, is_term)
        while "[" not in found[0]:
            found = self._value(depth, is_term)
        return found

    def _value(self, depth: int, is_term: bool = False) -> Text:
        """A number; with `is_term`, it or a choice of it is a term of a sum, which may be fused
        with products.
        """
        if depth == 0:
            return self._leaf()
        choice = self.rng.random()
        if choice < 0.15:
            condition, b = self._condition(depth - 1), self._leaf()
            a = self._value(depth - 1, is_term)
            word = self.rng.choice(("te.if_then_else", "tir.Select"))
            return f"{word}({condition[0]}, {a[0]}, {b[0]})", _where(condition[1], a[1], b[1])
        if choice < 0.25:
            word = self.rng.choice(("min", "max"))
            a, b = self._tensor(depth - 1, is_term), self._leaf()
            # The sign of a zero is free, so it is made positive.
            zero = ("0.0", f"np.{self.dtype}(0)") if self.is_float else ("0", "0")
            numpy = f"np.{word}imum({a[1]}, {b[1]})"
            return f"(te.{word}({a[0]}, {b[0]}) + {zero[0]})", f"({numpy} + {zero[1]})"
        return self._of_floats(depth, is_term) if self.is_float else self._of_integers(depth)

    def _of_floats(self, depth: int, is_term: bool) -> Text:
        what = self.rng.choice(("+", "-", "+", "-", "/", "call", *([] if is_term else ["*", "*"])))
        if what == "call":
            te, numpy = self.rng.choice(
                (("round", "round"), ("floor", "floor"), ("trunc", "trunc"), ("abs", "abs"))
            )
            a = self._tensor(depth - 1)
            return f"te.{te}({a[0]})", f"np.{numpy}({a[1]})"
        is_sum = what in "+-"
        a, b = self._value(depth - 1, is_sum), self._value(depth - 1, is_sum)
        if what == "/":
            b = self._tensor(0)
        if self.rng.random() < 0.3:
            b = a  # x - x, x / x
            if "[" not in b[0]:
                what = "-"
        return f"({a[0]} {what} {b[0]})", f"({a[1]} {what} {b[1]})"

    def _of_integers(self, depth: int) -> Text:
        a, b = self._tensor(depth - 1), self._tensor(depth - 1)
        if self.rng.random() < 0.2:
            b = a
        what = self.rng.choice(
            (*"+-*&|^", "+", "-", "<<", ">>", "floordiv", "floormod", "truncdiv", "truncmod", "~")
        )
        if what == "~":
            return f"(~{a[0]})", f"(~{a[1]})"
        if what == "<<" or what == ">>":
            function = {"<<": "left_shift", ">>": "right_shift"}[what]
            return f"({a[0]} {what} {b[0]})", f"np.{function}({a[1]}, {b[1]})"
        if what not in _DIVISIONS:
            return f"({a[0]} {what} {b[0]})", f"({a[1]} {what} {b[1]})"
        return f"te.{what}({a[0]}, {b[0]})", _DIVISIONS[what].format(a[1], b[1])

    def _condition(self, depth: int) -> Text:
        if depth > 1 and self.rng.random() < 0.4:
            (a, na), (b, nb) = self._condition(depth - 1), self._condition(depth - 1)
            word, sign = self.rng.choice((("all", "&"), ("any", "|")))
            return f"te.{word}({a}, {b})", f"({na} {sign} {nb})"
        if depth > 1 and self.rng.random() < 0.3:
            a, na = self._condition(depth - 1)
            return f"te.not_({a})", f"np.logical_not({na})"
        a, b = self._tensor(depth - 1 if depth else 0), self._tensor(0)
        if self.rng.random() < 0.3:
            b = a
        sign = self.rng.choice(_COMPARISONS)
        return f"({a[0]} {sign} {b[0]})", f"({a[1]} {sign} {b[1]})"


# numpy's quotient and remainder by 0 are 0, as are te_sched's.
_DIVISIONS = {
    "floordiv": "np.floor_divide({0}, {1})",
    "floormod": "np.remainder({0}, {1})",
    "truncdiv": "np.floor_divide({0} - np.fmod({0}, {1}), {1})",
    "truncmod": "np.fmod({0}, {1})",
}


def _where(condition: str, a: str, b: str) -> str:
    return f"np.where({condition}, {a}, {b})"


def bind_threads(program: Program) -> tuple[str, ...]:
    """Lines that compute each stage in threads of a few elements."""
    lines = []
    for value in program.values:
        if value.lines:
            name = value.names[0]
            lines += [
                f"f = s[{name}].fuse(*s[{name}].op.axis)",
                f"b, t = s[{name}].split(f, factor=8)",
                f's[{name}].bind(b, te.thread_axis("blockIdx.x"))',
                f's[{name}].bind(t, te.thread_axis("threadIdx.x"))',
            ]
    return tuple(lines)
