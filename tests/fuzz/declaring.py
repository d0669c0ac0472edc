"""Declarations that are not compared with live TVM: argmax, booleans, extern, empty tensors.

Must not know schedules.
"""

from __future__ import annotations

import random

from tests.peer.differential.dataflow import DTYPES, INDICES, KINDS, SIZES, SMALL, Dataflow
from tests.peer.differential.program import Dim, Value, shape

MORE = ("chosen", "compared", "mathematical", "reduced_twice", "reduced_where", "doubled", "empty")


class Declarations(Dataflow):
    """Declarations over more types and extents."""

    extents = (*SIZES, 1, 13, 17, 31, 97)
    small_extents = (*SMALL, 1)
    dtypes = (*DTYPES, "int16", "uint16", "uint32", "int64", "float64", "float16")
    kinds = (*KINDS, *MORE, *MORE)

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        if rng.random() < 0.06:
            self.extents, self.small_extents = (0, 1, 5, 8), (0, 1, 3)

    def chosen(self) -> Value | None:
        """argmax or argmin; the first of equal values."""
        value = self.source(lambda dims: len(dims) > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        if dtype.startswith("float") and value.lines:
            return None  # the maximum may depend on rounding
        rank, axis = len(value.dims), self.rng.randrange(len(value.dims))
        how, sign, first = self.rng.choice((("argmax", ">", "min"), ("argmin", "<", "max")))
        k, stage = self.fresh("k"), self.fresh("T")
        kept = iter(INDICES)
        reads = ", ".join(k if a == axis else next(kept) for a in range(rank))
        dims = tuple(dim for a, dim in enumerate(value.dims) if a != axis)
        indices = ", ".join(INDICES[: len(dims)])
        wins = f"te.any(x[1] {sign} y[1], te.all(x[1].equal(y[1]), x[0] < y[0]))"
        lines = (
            f'{k} = te.reduce_axis((0, {value.dims[axis].text}), "{k}")',
            f"best{stage} = te.comm_reducer(lambda x, y: "
            f"(tir.Select({wins}, x[0], y[0]), tir.Select({wins}, x[1], y[1])), "
            f"lambda p, q: (te.max_value(p), te.{first}_value(q)), name='best{stage}')",
            f"{stage}a, {stage}b = te.compute({shape(dims)}, lambda {indices}: "
            f"best{stage}(({k}.var, {name}[{reads}]), axis={k}), name='{stage}')",
        )
        numpy = (
            f"{name}.{how}({axis}).astype('int32')",
            f"{name}.{how.removeprefix('arg')}({axis})",
        )
        return Value((f"{stage}a", f"{stage}b"), dims, ("int32", dtype), (name,), lines, numpy)

    def compared(self) -> Value | None:
        """A tensor of booleans, and a tensor that depends on it."""
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        if dtype.startswith("float") and value.lines:
            return None  # the order may depend on rounding
        c, nc = self.number(dtype)
        x, sign = self.at(name, len(value.dims)), self.rng.choice(("<", ">=", ">"))
        mask = self.compute(value.dims, f"{x} {sign} {c}", f"{name} {sign} {nc}", "bool", name)
        self.values.append(mask)
        flag = mask.names[0]
        choice = self.rng.choice(("tir.Select", "te.if_then_else"))
        condition = self.at(flag, len(value.dims))
        body, numpy = f"{choice}({condition}, {x}, {c})", f"np.where({flag}, {name}, {nc})"
        if self.rng.random() < 0.3:
            body = f"{choice}(te.not_({condition}), {x}, {c})"
            numpy = f"np.where({flag}, {nc}, {name})"
        return self.compute(value.dims, body, numpy, dtype, flag, name)

    def mathematical(self) -> Value | None:
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        x = self.at(name, len(value.dims))
        if dtype in ("float32", "float64"):
            body, numpy = self.rng.choice(
                [
                    (
                        f"te.log(te.abs({x}) + te.const(1, '{dtype}'))",
                        f"np.log(np.abs({name}) + 1)",
                    ),
                    (f"te.floor({x})", f"np.floor({name})"),
                    (f"te.ceil({x})", f"np.ceil({name})"),
                    (f"te.trunc({x})", f"np.trunc({name})"),
                    (f"te.sin({x})", f"np.sin({name})"),
                    (f"te.cos({x})", f"np.cos({name})"),
                    (f"te.atan({x})", f"np.arctan({name})"),
                    (
                        f"te.rsqrt({x} * {x} + te.const(1, '{dtype}'))",
                        f"1 / np.sqrt({name} * {name} + 1)",
                    ),
                    (
                        f"te.log2(te.abs({x}) + te.const(2, '{dtype}'))",
                        f"np.log2(np.abs({name})+2)",
                    ),
                    (f"te.fabs({x}) - {x}", f"np.abs({name}) - {name}"),
                ]
            )
            return self.compute(value.dims, body, f"({numpy}).astype('{dtype}')", dtype, name)
        if dtype == "float16":
            return None
        body, numpy = self.rng.choice(
            [
                (f"te.popcount({x})", _bits(name, dtype)),
                (f"~{x}", f"~{name}"),
                (f"({x} | te.const(3, '{dtype}')) & {x}", f"({name} | np.{dtype}(3)) & {name}"),
                (
                    f"te.truncdiv({x}, te.const(3, '{dtype}'))",
                    f"({name} - np.fmod({name}, np.{dtype}(3))) // np.{dtype}(3)",
                ),
                (f"{x} << te.const(1, '{dtype}')", f"{name} << np.{dtype}(1)"),
            ]
        )
        return self.compute(value.dims, body, numpy, dtype, name)

    def reduced_twice(self) -> Value | None:
        """A reduction over two axes, with an initial value or without."""
        value = self.source(lambda dims: len(dims) > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        rank = len(value.dims)
        a, b = sorted(self.rng.sample(range(rank), 2))
        ks = {a: self.fresh("k"), b: self.fresh("k")}
        kept = iter(INDICES)
        reads = ", ".join(ks[n] if n in ks else next(kept) for n in range(rank))
        dims = tuple(dim for n, dim in enumerate(value.dims) if n not in ks)
        if not dims:
            dims, reads_before = (Dim("1", 1),), True
        else:
            reads_before = False
        # half a thousand halves one after the other lose what numpy's sums by pairs keep
        how = self.rng.choice(("max", "min") if dtype == "float16" else ("sum", "max", "min"))
        before = "\n".join(
            f'{k} = te.reduce_axis((0, {value.dims[n].text}), "{k}")' for n, k in ks.items()
        )
        order = list(ks.values())
        self.rng.shuffle(order)
        numpy = f"{name}.{how}(({a}, {b}){', dtype=' + name + '.dtype' if how == 'sum' else ''})"
        if reads_before:
            numpy = f"{numpy}.reshape(1)"
        body = f"te.{how}({name}[{reads}], axis=[{', '.join(order)}])"
        return self.compute(dims, body, numpy, dtype, name, before=before)

    def reduced_where(self) -> Value | None:
        """A sum of every other element."""
        value = self.source(lambda dims: len(dims) == 2)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        k = self.fresh("k")
        before = f'{k} = te.reduce_axis((0, {value.dims[1].text}), "{k}")'
        body = f"te.sum({name}[i, {k}], axis={k}, where=te.floormod({k}.var, 2).equal(0))"
        numpy = f"{name}[:, ::2].sum(1, dtype={name}.dtype)"
        return self.compute(value.dims[:1], body, numpy, dtype, name, before=before)

    def doubled(self) -> Value | None:
        """An extern, written by hand."""
        value = self.source(lambda dims: len(dims) == 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        stage = self.fresh("X")
        line = (
            f"{stage} = te.extern({shape(value.dims)}, [{name}], twice, "
            f'dtype="{dtype}", name="{stage}")'
        )
        return Value((stage,), value.dims, (dtype,), (name,), (line,), (f"{name} + {name}",))

    def empty(self) -> Value | None:
        """A constant tensor, or one that only depends on the indices."""
        dims = self.some_dims(self.rng.choice((1, 2)))
        dtype = self.rng.choice(("float32", "int32", "int64"))
        numpy = f"np.zeros({shape(tuple(Dim(str(d.value), d.value) for d in dims))}, '{dtype}')"
        return self.compute(
            dims, f"te.const(0, '{dtype}') + i.astype('{dtype}')", numpy + _rows(dims, dtype), dtype
        )

    def source(self, fits=lambda dims: True):  # type: ignore[no-untyped-def]
        """A value to compute with, which booleans are not."""
        hidden = [value for value in self.values if "bool" in value.dtypes]
        shown = self.values
        self.values = [value for value in shown if value not in hidden]
        found = super().source(fits)
        self.values = shown
        return found


def _bits(name: str, dtype: str) -> str:
    """The number of 1 bits; for a negative number, numpy counts those of its magnitude."""
    unsigned = dtype if dtype.startswith("u") else f"u{dtype}"
    return f"np.bitwise_count({name}.astype('{unsigned}')).astype('{dtype}')"


def _rows(dims: tuple[Dim, ...], dtype: str) -> str:
    ones = ", ".join(["-1"] + ["1"] * (len(dims) - 1))
    return f" + np.arange({dims[0].value}, dtype='{dtype}').reshape({ones})"
