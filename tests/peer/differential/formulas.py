"""Random indices and expressions in TVMScript, over buffers and iterators.

Values stay small, divisors positive, and indices in bounds. Must not know statements.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.peer.differential.program import Dim

FLOATS = ("float32", "float32", "float32", "float64", "float16")
INTEGERS = ("int32", "int32", "int64", "int8", "uint8", "int16")


@dataclass(frozen=True)
class Array:
    """A buffer of the program; `is_exact` if a comparison of its elements has no rounding."""

    name: str
    dims: tuple[Dim, ...]
    dtype: str
    is_exact: bool = False
    scope: str = "global"

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith("float")

    def at(self, indices: Sequence[str]) -> str:
        """The text of an element."""
        return f"{self.name}[{', '.join(indices) or '()'}]"


@dataclass(frozen=True)
class Iterator:
    """A variable from 0 to an extent, such as the iterator of a block."""

    name: str
    dim: Dim
    kind: str = "S"


class Formulas:
    """Random expressions; `read` collects the buffers they load from."""

    def __init__(self, rng: random.Random, index_dtype: str = "int32") -> None:
        self.rng = rng
        self.index_dtype = index_dtype
        self.arrays: list[Array] = []
        self.scalars: list[tuple[str, str]] = []  # names and types of scalar parameters
        self.read: list[Array] = []

    # Indices.

    def index(self, extent: Dim, iterators: Sequence[Iterator]) -> str:
        """An index below `extent`."""
        rng = self.rng
        same = [one for one in iterators if one.dim.text == extent.text]
        if same and rng.random() < 0.7:
            one = rng.choice(same)
            return f"{extent.text} - 1 - {one.name}" if rng.random() < 0.1 else one.name
        if not iterators or extent.value == 1 or rng.random() < 0.05:
            constant = extent.text == str(extent.value)
            return str(rng.randrange(extent.value) if constant else 0)
        one = rng.choice(list(iterators))
        if extent.text != str(extent.value) or one.dim.text != str(one.dim.value):
            return self.wrapped(one.name, extent)
        return rng.choice(self._fitting(one, extent.value) or [self.wrapped(one.name, extent)])

    def _fitting(self, one: Iterator, below: int) -> list[str]:
        """Affine indices of one iterator that fit."""
        extent, room = one.dim.value, below - one.dim.value
        found = []
        if room >= 0:
            found.append(f"{one.name} + {self.rng.randint(0, room)}" if room else one.name)
        if extent * 2 <= below:
            found.append(f"{one.name} * 2 + {self.rng.randint(0, below - extent * 2 + 1)}")
        if extent > below:
            divisor = -(-extent // below)
            found += [f"{one.name} // {divisor}", f"{one.name} % {below}"]
        return found

    def wrapped(self, name: str, extent: Dim) -> str:
        """An index that is brought into bounds."""
        rng = self.rng
        step = rng.choice((name, f"{name} * 3", f"{name} + 1", f"{name} * {name}"))
        return rng.choice(
            (
                f"({step}) % {extent.text}",
                f"T.min({step}, {extent.text} - 1)",
                f"T.max(T.min({name} - 1, {extent.text} - 1), 0)",
            )
        )

    def element(self, array: Array, iterators: Sequence[Iterator]) -> str:
        """A random element of a buffer."""
        self.read.append(array)
        return array.at([self.index(dim, iterators) for dim in array.dims])

    def gathered(self, array: Array, iterators: Sequence[Iterator]) -> str:
        """An element at an index from memory, if there is a buffer of such."""
        tables = [one for one in self.arrays if one.dtype in ("int32", "int64") and one.is_exact]
        if not tables or not array.dims:
            return self.element(array, iterators)
        table = self.rng.choice(tables)
        found = [self.index(dim, iterators) for dim in array.dims]
        place, dim = self.rng.choice(list(enumerate(array.dims)))
        loaded = self.element(table, iterators)
        if table.dtype != self.index_dtype:
            loaded = f'T.Cast("{self.index_dtype}", {loaded})'
        found[place] = self.rng.choice(
            (f"{loaded} % {dim.text}", f"T.max(T.min({loaded}, {dim.text} - 1), 0)")
        )
        self.read.append(array)
        return array.at(found)

    # Values.

    def leaf(self, dtype: str, iterators: Sequence[Iterator], exact: bool = False) -> str:
        """A load, a scalar, an iterator or a constant of a type."""
        rng = self.rng
        choice = rng.random()
        if choice < 0.7:
            return self.cast(*self.load(dtype, iterators, exact), dtype)
        if self.scalars and choice < 0.78:
            name, own = rng.choice(self.scalars)
            return self.cast(name, own, dtype)
        if iterators and choice < 0.88 and dtype != "bool":
            return self.cast(rng.choice(list(iterators)).name, self.index_dtype, dtype)
        return self.constant(dtype)

    def load(
        self, dtype: str, iterators: Sequence[Iterator], exact: bool = False
    ) -> tuple[str, str]:
        """An element, often of a type and often of a recent result, and its type."""
        rng = self.rng
        arrays = [one for one in self.arrays if one.is_exact or not exact]
        same = [one for one in arrays if one.dtype == dtype] or arrays
        recent = [one for one in arrays[-2:] if one.name.startswith("B")]
        if recent and rng.random() < 0.4:
            same = recent
        array = rng.choice(same if rng.random() < 0.85 else arrays)
        load = self.gathered if rng.random() < 0.1 else self.element
        return load(array, iterators), array.dtype

    def variable(self, dtype: str, iterators: Sequence[Iterator]) -> str:
        """A leaf without rounding that is no constant."""
        array = self.rng.choice([one for one in self.arrays if one.is_exact])
        return self.cast(self.element(array, iterators), array.dtype, dtype)

    def constant(self, dtype: str) -> str:
        rng = self.rng
        if dtype == "bool":
            return rng.choice(("T.bool(True)", "T.bool(False)"))
        number = rng.choice((1, 2, 3, 5))
        if dtype.startswith("float"):
            return rng.choice((f"T.{dtype}({number})", f"T.{dtype}({number + 0.5})"))
        return f"T.{dtype}({number})"

    def cast(self, text: str, source: str, dtype: str) -> str:
        if source == dtype:
            return text
        if source.startswith("float") and dtype == "bool":
            return f"{text} > T.{source}(0)"
        way = self.rng.choice(("T.Cast", "T.Cast", "T.Cast", "method"))
        return f'({text}).astype("{dtype}")' if way == "method" else f'T.Cast("{dtype}", {text})'

    def value(self, dtype: str, iterators: Sequence[Iterator], depth: int = 2) -> str:
        """A random expression of a type."""
        if dtype == "bool":
            return self.condition(iterators, max(depth, 1))
        if depth == 0 or self.rng.random() < 0.15:
            return self.cast(*self.load(dtype, iterators), dtype)
        a = self.value(dtype, iterators, depth - 1)
        b = self.leaf(dtype, iterators) if depth == 1 else self.value(dtype, iterators, depth - 1)
        if self.rng.random() < 0.2:
            condition = self.condition(iterators, 1)
            return self.rng.choice(
                (
                    f"T.if_then_else({condition}, {a}, {b})",
                    f"T.Select({condition}, {a}, {b})",
                )
            )
        choose = self._of_floats if dtype.startswith("float") else self._of_integers
        return choose(dtype, a, b)

    def _of_floats(self, dtype: str, a: str, b: str) -> str:
        half = f"T.{dtype}(0.5)"
        return self.rng.choice(
            (
                *(f"{a} + {b}", f"{a} - {b}", f"({a}) * {half}", f"({a}) * 0.25 + {b}"),
                *(f"T.max({a}, {b})", f"T.min({a}, {b})", f"({a}) / T.{dtype}(4)", f"-({a})"),
                *(f"T.tanh({a})", f"T.sqrt(T.fabs({a}))", f"T.exp(T.min({a}, T.{dtype}(2)))"),
                *(f"T.sigmoid({a})", f"T.fabs({a})", f"({a}) + 1"),
            )
        )

    def _of_integers(self, dtype: str, a: str, b: str) -> str:
        rng = self.rng
        few = f"T.{dtype}({rng.choice((2, 3, 4, 7))})"
        return rng.choice(
            (
                *(
                    f"{a} + {b}",
                    f"{a} - {b}",
                    f"({a}) * {few}",
                    f"({a}) // {few}",
                    f"({a}) % {few}",
                ),
                *(f"T.max({a}, {b})", f"T.min({a}, {b})", f"({a}) + 1", f"({a}) * 2 - ({b})"),
                *(f"T.bitwise_and({a}, {few})", f"T.bitwise_xor({a}, {b})"),
                *(f"T.truncdiv({a}, {few})", f"T.truncmod({a}, {few})"),
                *(f"T.shift_right({a}, T.{dtype}(1))", f"T.bitwise_or({a}, {b})"),
            )
        )

    def condition(self, iterators: Sequence[Iterator], depth: int = 1) -> str:
        """A comparison without rounding, or several."""
        rng = self.rng
        if depth > 1 and rng.random() < 0.4:
            a, b = self.condition(iterators, depth - 1), self.condition(iterators, depth - 1)
            return rng.choice((f"T.And({a}, {b})", f"T.Or({a}, {b})", f"T.Not({a})"))
        if iterators and rng.random() < 0.6:
            one = rng.choice(list(iterators))
            limit = rng.randint(1, max(1, one.dim.value - 1))
            return f"{one.name} {rng.choice(('<', '>=', '==', '!='))} {limit}"
        dtype = rng.choice(("float32", "int32"))
        a, b = self.variable(dtype, iterators), self.constant(dtype)
        return f"{a} {rng.choice(('<', '<=', '>', '>='))} {b}"
