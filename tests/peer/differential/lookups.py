"""Random declarations with lookups: by integers of any type and value, and by squares.

An index consists of data near the limits of its type, of loop variables whose products exceed 32
bits, of constants, shifts, choices and casts, and is clamped. Data wraps around as in numpy;
arithmetic with loop variables only is exact, as in numpy's int64. Must not know schedules.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tests.peer.differential.dataflow import Dataflow
from tests.peer.differential.program import ANY, Dim, Value

DATA = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
COMPUTED = ("int32", "int32", "int64", "int64", "uint32", "uint64")


class Term(NamedTuple):
    """An integer for TE and for numpy, and its type; exact if it only has loop variables."""

    te: str
    numpy: str
    dtype: str

    def cast(self, dtype: str) -> Term:
        """The number in another type."""
        if self.dtype == dtype:
            return self
        return Term(f"({self.te}).astype('{dtype}')", f"({self.numpy}).astype('{dtype}')", dtype)


class Lookups(Dataflow):
    """Declarations, most of them with lookups."""

    kinds = (*Dataflow.kinds[:12], *("looked_up",) * 24)

    def looked_up(self) -> Value | None:
        value = self.source(lambda dims: dims[0].text == str(dims[0].value) and dims[0].value > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        size = 60000 if self.rng.random() < 0.1 and len(value.dims) == 1 else 0
        dim = Dim(str(size), size) if size else self.some_dims(1)[0]
        data = self.placeholder((dim,), self.rng.choice(DATA), below=ANY)
        index = self.index(data, dim.value, value.dims[0].value)
        body = self.at(name, len(value.dims), i=index.te)
        numpy = f"{name}[({index.numpy}).astype('int64') + np.zeros({dim.value}, 'int64')]"
        reads = (name, data) if f"{data}[i]" in index.te else (name,)
        return self.compute((dim, *value.dims[1:]), body, numpy, dtype, *reads)

    def index(self, data: str, count: int, size: int) -> Term:
        """An index from 0 to size - 1."""
        if self.rng.random() < 0.2:
            return self.clamped(self.of_loop(count), size)
        dtype = self.rng.choice(COMPUTED)
        term = Term(f"{data}[i]", data, str(self.values[-1].dtypes[0])).cast(dtype)
        for _ in range(self.rng.choice((0, 1, 1, 2, 3))):
            term = self.computed(term, count)
        if self.rng.random() < 0.2:
            term = term.cast(self.rng.choice(COMPUTED))
        return self.clamped(term, size)

    def of_loop(self, count: int) -> Term:
        """An expression of a loop variable."""
        factor = self.rng.choice((1, 3, 7, 100, 46341))
        i = f"np.arange({count})"
        te, numpy = self.rng.choice(
            [
                ("i", i),
                (f"i * {factor}", f"{i} * {factor}"),
                (f"i * i * {min(factor, 100)}", f"{i} * {i} * {min(factor, 100)}"),
                (f"({factor} - i * i)", f"({factor} - {i} * {i})"),
                (f"(i * i - {factor} * i)", f"({i} * {i} - {factor} * {i})"),
            ]
        )
        return Term(te, numpy, "loop")

    def computed(self, term: Term, count: int) -> Term:
        """A further operation, which wraps around in its type."""
        dtype, limits = term.dtype, np.iinfo(term.dtype)
        number = self.rng.choice(
            (1, 2, 3, 5, 7, 96, 1 << 20, int(limits.max) // 2, int(limits.max))
        )
        constant = Term(f"te.const({number}, '{dtype}')", f"np.{dtype}({number})", dtype)
        kind = self.rng.choice("++--**mM/>?")
        other = constant if self.rng.random() < 0.5 else self.of_loop(count).cast(dtype)
        if count > 100 and dtype == "int32":  # which the loop's numbers may not fit: they are exact
            other = constant
        if kind in "+-*":
            return Term(
                f"({term.te} {kind} {other.te})", f"({term.numpy} {kind} {other.numpy})", dtype
            )
        if kind in "mM":
            name, full = ("min", "minimum") if kind == "m" else ("max", "maximum")
            return Term(
                f"te.{name}({term.te}, {other.te})",
                f"np.{full}({term.numpy}, {other.numpy})",
                dtype,
            )
        if kind == "/":
            number = self.rng.choice((2, 3, 7, 96, 1 << 12))  # x // c // d is x // (c * d)
            constant = Term(f"te.const({number}, '{dtype}')", f"np.{dtype}({number})", dtype)
            return Term(
                f"te.floordiv({term.te}, {constant.te})",
                f"({term.numpy} // {constant.numpy})",
                dtype,
            )
        if kind == ">":
            shift = self.rng.choice((1, 3, 15, 31))
            return Term(
                f"({term.te} >> te.const({shift}, '{dtype}'))",
                f"({term.numpy} >> np.{dtype}({shift}))",
                dtype,
            )
        choice = self.rng.choice(("te.if_then_else", "tvm.tir.Select"))
        return Term(
            f"{choice}({term.te} < {constant.te}, {term.te}, {other.te})",
            f"np.where({term.numpy} < {constant.numpy}, {term.numpy}, {other.numpy})",
            dtype,
        )

    def clamped(self, term: Term, size: int) -> Term:
        """An index below a size."""
        dtype = "int64" if term.dtype == "loop" else term.dtype
        is_loop = term.dtype == "loop"

        def number(value: int) -> tuple[str, str]:
            te = str(value) if is_loop else f"te.const({value}, '{dtype}')"
            return te, f"np.{dtype}({value})"

        (size_te, size_np), (last_te, last_np) = number(size), number(size - 1)
        (zero_te, zero_np), (half_te, half_np) = number(0), number((size - 1) // 2)
        bits = (1 << size.bit_length() - 1) - 1
        mask_te, mask_np = number(bits)
        te, numpy = self.rng.choice(
            [
                (f"te.floormod({term.te}, {size_te})", f"np.mod({term.numpy}, {size_np})"),
                (
                    f"te.min(te.max({term.te}, {zero_te}), {last_te})",
                    f"np.minimum(np.maximum({term.numpy}, {zero_np}), {last_np})",
                ),
                (
                    f"te.max(te.min({term.te}, {last_te}), {zero_te})",
                    f"np.maximum(np.minimum({term.numpy}, {last_np}), {zero_np})",
                ),
                (
                    f"te.max(te.truncmod({term.te}, {size_te}), {zero_te})",
                    f"np.maximum(np.fmod({term.numpy}, {size_np}), {zero_np})",
                ),
                (f"({term.te} & {mask_te})", f"({term.numpy} & {mask_np})"),
                (
                    f"te.if_then_else(te.all({zero_te} <= {term.te}, {term.te} < {size_te}), "
                    f"{term.te}, {half_te})",
                    f"np.where(({zero_np} <= {term.numpy}) & ({term.numpy} < {size_np}), "
                    f"{term.numpy}, {half_np})",
                ),
            ]
        )
        return Term(te, numpy, dtype)
