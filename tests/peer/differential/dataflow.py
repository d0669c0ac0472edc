"""Random declarations: elementwise, transposed, stencil, padded, broadcast, reduced, ... stages.

Each kind of stage is a method of `Dataflow` that declares one, or returns None if it is not
applicable. Each formula has two forms, for TE and for numpy. Must not know schedules.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.peer.differential.program import Dim, Value, shape

SIZES = (1, 2, 3, 5, 7, 8, 10, 16, 18, 20, 24, 30, 32, 33, 48, 50, 64, 100)
SMALL = (1, 2, 3, 4, 5, 7, 8, 10, 12)
DTYPES = ("float32",) * 7 + ("float64", "float16", "int32", "int32", "int64", "int8", "uint8")
INDICES = ("i", "j", "l", "m")
KINDS = (
    *("elementwise",) * 5,
    *("binary", "stencil", "padded", "reduced", "product") * 3,
    *("broadcast", "outer", "transposed", "resampled", "convolved", "gathered", "reshaped") * 2,
    *("position", "cast", "joined", "pair", "pair_reduced", "accumulated"),
)


class Dataflow:
    """The declarations so far; those without consumers become outputs."""

    extents, small_extents, dtypes, kinds = SIZES, SMALL, DTYPES, KINDS

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.values: list[Value] = []
        self.sizes: dict[str, int] = {}
        self.count = 0
        self.dtype = rng.choice(self.dtypes)
        self.symbolic = rng.random() < 0.2

    def declare(self, stages: int) -> None:
        """Declare some stages."""
        self.placeholder(self.some_dims(self.rng.choice((1, 2, 2, 2, 3))))
        made = 0
        while made < stages:
            kind: Callable[[], Value | None] = getattr(self, self.rng.choice(self.kinds))
            value = kind()
            if value is not None:
                self.values.append(value)
                made += 1

    def outputs(self) -> tuple[str, ...]:
        """Tensors without consumers, and sometimes others."""
        read = {name for value in self.values for name in value.reads}
        computed = [value for value in self.values if not value.is_placeholder]
        found = [value for value in computed if not read & set(value.names)]
        inner = [value for value in computed if value not in found]
        if inner and self.rng.random() < 0.15:
            found.append(self.rng.choice(inner))
        return tuple(name for value in found for name in value.names)

    # Pieces of declarations

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def some_dims(self, rank: int) -> tuple[Dim, ...]:
        sizes = self.extents if rank < 3 else self.small_extents
        return tuple(self.some_dim(self.rng.choice(sizes)) for _ in range(rank))

    def some_dim(self, size: int) -> Dim:
        if not self.symbolic or self.rng.random() < 0.5:
            return Dim(str(size), size)
        known = [name for name, value in self.sizes.items() if value == size]
        if known:
            return Dim(known[0], size)
        name = self.fresh("n")
        self.sizes[name] = size
        return Dim(name, size)

    def placeholder(self, dims: tuple[Dim, ...], dtype: str = "", below: int = 0) -> str:
        name = self.fresh("I" if below else "A")
        self.values.append(Value((name,), dims, (dtype or self.dtype,), below=below))
        return name

    def source(self, fits: Callable[[tuple[Dim, ...]], bool] = lambda dims: True) -> Value | None:
        """A value to read, most often the last one."""
        found = [value for value in self.values if not value.below and fits(value.dims)]
        if not found:
            return None
        return found[-1] if self.rng.random() < 0.65 else self.rng.choice(found)

    def tensor(self, value: Value) -> tuple[str, str]:
        """One of the tensors of a declaration, and its type."""
        place = self.rng.randrange(len(value.names))
        return value.names[place], value.dtypes[place]

    def number(self, dtype: str) -> tuple[str, str]:
        """A constant for TE and for numpy."""
        low = 1 if dtype.startswith("uint") else -3
        text = str(self.rng.choice((0.5, 1.5, 2.0, -1.0, 3.0)))
        if not dtype.startswith("float"):
            text = str(self.rng.randint(low, 5) or 2)
        return f"te.const({text}, '{dtype}')", f"np.{dtype}({text})"

    def compute(
        self,
        dims: tuple[Dim, ...],
        body: str,
        numpy: str,
        dtype: str,
        *reads: str,
        before: str = "",
    ) -> Value:
        name = self.fresh("S")
        indices = ", ".join(INDICES[: len(dims)])
        line = f'{name} = te.compute({shape(dims)}, lambda {indices}: {body}, name="{name}")'
        lines = (*filter(None, before.split("\n")), line)
        return Value((name,), dims, (dtype,), reads, lines, (numpy,))

    def at(self, name: str, rank: int, **changed: str) -> str:
        """An element of a tensor; `changed` has indices by the names of those they replace."""
        return f"{name}[{', '.join(changed.get(i, i) for i in INDICES[:rank])}]"

    # Kinds of stages

    def elementwise(self) -> Value | None:
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        x = self.at(name, len(value.dims))
        c, nc = self.number(dtype)
        d, nd = self.number(dtype)
        choices = [
            (f"{x} + {c}", f"{name} + {nc}"),
            (f"{x} * {c} + {d}", f"{name} * {nc} + {nd}"),
            (f"te.max({x}, {c})", f"np.maximum({name}, {nc})"),
            (f"te.min({x}, {c}) - {d}", f"np.minimum({name}, {nc}) - {nd}"),
            (
                f"tvm.tir.Select({x} > {c}, {x} * {d}, {c})",
                f"np.where({name} > {nc}, {name} * {nd}, {nc})",
            ),
            (
                f"te.if_then_else({x} <= {c}, {c}, {x} + {d})",
                f"np.where({name} <= {nc}, {nc}, {name} + {nd})",
            ),
        ]
        if dtype in ("float32", "float64"):
            choices += [
                (f"te.tanh({x})", f"np.tanh({name})"),
                (f"te.sqrt(te.abs({x}))", f"np.sqrt(np.abs({name}))"),
                (f"te.exp(te.min({x}, {c}))", f"np.exp(np.minimum({name}, {nc}))"),
                (f"te.sigmoid({x})", f"1 / (1 + np.exp(-{name}))"),
            ]
        if not dtype.startswith("float"):
            choices += [
                (f"{x} // te.const(3, '{dtype}')", f"{name} // np.{dtype}(3)"),
                (f"{x} % te.const(5, '{dtype}')", f"{name} % np.{dtype}(5)"),
                (f"({x} >> 1) & 7", f"({name} >> 1) & np.{dtype}(7)"),
                (f"{x} ^ {x} + {c}", f"{name} ^ ({name} + {nc})"),
            ]
        body, numpy = self.rng.choice(choices)
        return self.compute(value.dims, body, numpy, dtype, name)

    def position(self) -> Value | None:
        """An expression that depends on the indices."""
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        if dtype not in ("float32", "float64", "int32", "int64"):
            return None
        axis = self.rng.randrange(len(value.dims))
        ones = ", ".join("-1" if a == axis else "1" for a in range(len(value.dims)))
        x = self.at(name, len(value.dims))
        body = f"{x} + {INDICES[axis]}.astype('{dtype}')"
        numpy = f"{name} + np.arange({name}.shape[{axis}], dtype='{dtype}').reshape({ones})"
        return self.compute(value.dims, body, numpy, dtype, name)

    def cast(self) -> Value | None:
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        wider = [d for d in ("float32", "float64", "int32", "int64") if d != dtype]
        if dtype.startswith("float"):
            wider = [d for d in ("float32", "float64") if d != dtype]
        new = self.rng.choice(wider)
        body = f"{self.at(name, len(value.dims))}.astype('{new}')"
        return self.compute(value.dims, body, f"{name}.astype('{new}')", new, name)

    def binary(self) -> Value | None:
        first = self.source()
        assert first is not None
        name, dtype = self.tensor(first)
        others = [
            other
            for value in self.values
            for other, kind in zip(value.names, value.dtypes, strict=True)
            if value.dims == first.dims and kind == dtype and other != name and not value.below
        ]
        other = self.rng.choice(others) if others else self.placeholder(first.dims, dtype)
        rank = len(first.dims)
        a, b = self.at(name, rank), self.at(other, rank)
        body, numpy = self.rng.choice(
            [
                (f"{a} + {b}", f"{name} + {other}"),
                (f"{a} - {b}", f"{name} - {other}"),
                (f"{a} * {b}", f"{name} * {other}"),
                (f"te.max({a}, {b})", f"np.maximum({name}, {other})"),
            ]
        )
        return self.compute(first.dims, body, numpy, dtype, name, other)

    def broadcast(self) -> Value | None:
        value = self.source(lambda dims: len(dims) > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        axis = self.rng.randrange(len(value.dims))
        other = self.placeholder((value.dims[axis],), dtype)
        places = ", ".join(":" if a == axis else "None" for a in range(len(value.dims)))
        sign = self.rng.choice("+*-")
        body = f"{self.at(name, len(value.dims))} {sign} {other}[{INDICES[axis]}]"
        return self.compute(
            value.dims, body, f"{name} {sign} {other}[{places}]", dtype, name, other
        )

    def outer(self) -> Value | None:
        value = self.source(lambda dims: len(dims) == 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        (dim,) = self.some_dims(1)
        other = self.placeholder((dim,), dtype)
        body, numpy = f"{name}[i] * {other}[j]", f"{name}[:, None] * {other}[None, :]"
        return self.compute((value.dims[0], dim), body, numpy, dtype, name, other)

    def transposed(self) -> Value | None:
        value = self.source(lambda dims: len(dims) > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        order = list(range(len(value.dims)))
        self.rng.shuffle(order)
        reads = ", ".join(INDICES[order.index(a)] for a in range(len(order)))
        dims = tuple(value.dims[a] for a in order)
        return self.compute(
            dims, f"{name}[{reads}]", f"{name}.transpose({tuple(order)})", dtype, name
        )

    def stencil(self) -> Value | None:
        value = self.source(lambda dims: any(dim.value > 3 for dim in dims))
        if value is None:
            return None
        name, dtype = self.tensor(value)
        axis = self.rng.choice([a for a, dim in enumerate(value.dims) if dim.value > 3])
        offsets = self.rng.choice(((0, 2), (0, 1), (0, 1, 2), (1, 3)))
        i, reach = INDICES[axis], offsets[-1]
        rank = len(value.dims)
        dims = tuple(dim + -reach if a == axis else dim for a, dim in enumerate(value.dims))
        reads = [self.at(name, rank, **{i: f"{i} + {o}" if o else i}) for o in offsets]
        before = ":, " * axis
        parts = [f"{name}[{before}{o}:{name}.shape[{axis}] - {reach - o}]" for o in offsets]
        return self.compute(dims, " + ".join(reads), " + ".join(parts), dtype, name)

    def resampled(self) -> Value | None:
        """Every other element, every element twice, or in reverse order."""
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        axis = self.rng.randrange(len(value.dims))
        i, rank, dim = INDICES[axis], len(value.dims), value.dims[axis]
        before, symbolic = ":, " * axis, dim.text != str(dim.value)
        kind = self.rng.choice(("reverse", "half", "twice"))
        if kind == "reverse":
            read = self.at(name, rank, **{i: f"{dim.text} - 1 - {i}"})
            return self.compute(value.dims, read, f"{name}[{before}::-1]", dtype, name)
        if symbolic or dim.value > 64:
            return None
        size = (dim.value + 1) // 2 if kind == "half" else dim.value * 2
        dims = tuple(Dim(str(size), size) if a == axis else d for a, d in enumerate(value.dims))
        if kind == "half":
            read, numpy = self.at(name, rank, **{i: f"{i} * 2"}), f"{name}[{before}::2]"
        else:
            read, numpy = self.at(name, rank, **{i: f"{i} // 2"}), f"np.repeat({name}, 2, {axis})"
        return self.compute(dims, read, numpy, dtype, name)

    def padded(self) -> Value | None:
        value = self.source(lambda dims: len(dims) < 3)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        rank, pad = len(value.dims), self.rng.choice((1, 1, 2))
        dims = tuple(dim + 2 * pad for dim in value.dims)
        inside = ", ".join(
            f"{i} >= {pad}, {i} < {(dim + pad).text}"
            for i, dim in zip(INDICES, value.dims, strict=False)
        )
        read = self.at(name, rank, **{i: f"{i} - {pad}" for i in INDICES})
        body = f"te.if_then_else(te.all({inside}), {read}, te.const(0, '{dtype}'))"
        return self.compute(dims, body, f"np.pad({name}, {pad})", dtype, name)

    def reduced(self) -> Value | None:
        value = self.source(lambda dims: len(dims) > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        rank, axis = len(value.dims), self.rng.randrange(len(value.dims))
        how = self.rng.choice(("sum", "sum", "max", "min"))
        k = self.fresh("k")
        first = self.rng.choice((0, 0, 0, 1)) if value.dims[axis].value > 1 else 0
        kept = iter(INDICES)
        reads = ", ".join(k if a == axis else next(kept) for a in range(rank))
        dims = tuple(dim for a, dim in enumerate(value.dims) if a != axis)
        part = f"{name}[{':, ' * axis}{first}:]" if first else name
        numpy = (
            f"{part}.sum({axis}, dtype={name}.dtype)" if how == "sum" else f"{part}.{how}({axis})"
        )
        before = f'{k} = te.reduce_axis(({first}, {value.dims[axis].text}), "{k}")'
        body = f"te.{how}({name}[{reads}], axis={k})"
        return self.compute(dims, body, numpy, dtype, name, before=before)

    def product(self) -> Value | None:
        """A matrix product, with a matrix or a vector."""
        value = self.source(lambda dims: len(dims) == 2)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        k, (m, n) = self.fresh("k"), value.dims
        before = f'{k} = te.reduce_axis((0, {n.text}), "{k}")'
        if self.rng.random() < 0.3:
            other = self.placeholder((n,), dtype)
            body = f"te.sum({name}[i, {k}] * {other}[{k}], axis={k})"
            return self.compute((m,), body, f"{name} @ {other}", dtype, name, other, before=before)
        (dim,) = self.some_dims(1)
        other = self.placeholder((n, dim), dtype)
        body = f"te.sum({name}[i, {k}] * {other}[{k}, j], axis={k})"
        return self.compute((m, dim), body, f"{name} @ {other}", dtype, name, other, before=before)

    def convolved(self) -> Value | None:
        value = self.source(lambda dims: dims[-1].value > 5)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        rank, taps = len(value.dims), self.rng.choice((2, 3, 5))
        k, last = self.fresh("k"), INDICES[len(value.dims) - 1]
        other = self.placeholder((Dim(str(taps), taps),), dtype)
        read = self.at(name, rank, **{last: f"{last} + {k}"})
        dims = (*value.dims[:-1], value.dims[-1] + (1 - taps))
        terms = (
            f"{name}[..., {t}:{name}.shape[-1] - {taps - 1 - t}] * {other}[{t}]"
            for t in range(taps)
        )
        return self.compute(
            dims,
            f"te.sum({read} * {other}[{k}], axis={k})",
            " + ".join(terms),
            dtype,
            name,
            other,
            before=f'{k} = te.reduce_axis((0, {taps}), "{k}")',
        )

    def gathered(self) -> Value | None:
        value = self.source(lambda dims: dims[0].value > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        (dim,) = self.some_dims(1)
        index = self.placeholder((dim,), "int32", below=value.dims[0].value)
        body = self.at(name, len(value.dims), i=f"{index}[i]")
        return self.compute((dim, *value.dims[1:]), body, f"{name}[{index}]", dtype, name, index)

    def reshaped(self) -> Value | None:
        """A reshape of two axes to one, or of one to two."""
        value = self.source(lambda dims: all(d.text == str(d.value) for d in dims))
        if value is None or len(value.dims) > 2:
            return None
        name, dtype = self.tensor(value)
        if len(value.dims) == 2:
            m, n = (dim.value for dim in value.dims)
            if not n:
                return None
            dims = (Dim(str(m * n), m * n),)
            return self.compute(
                dims, f"{name}[i // {n}, i % {n}]", f"{name}.reshape(-1)", dtype, name
            )
        inner = next((f for f in (8, 5, 3, 2) if value.dims[0].value % f == 0), 1)
        dims = (Dim(str(value.dims[0].value // inner), value.dims[0].value // inner),)
        dims = (*dims, Dim(str(inner), inner))
        return self.compute(
            dims, f"{name}[i * {inner} + j]", f"{name}.reshape(-1, {inner})", dtype, name
        )

    def joined(self) -> Value | None:
        """The concatenation of tensors along the first axis."""
        value = self.source(lambda dims: dims[0].text == str(dims[0].value))
        if value is None:
            return None
        name, dtype = self.tensor(value)
        more = self.rng.choice((1, 4, 7))
        other = self.placeholder((Dim(str(more), more), *value.dims[1:]), dtype)
        size, rank = value.dims[0].value, len(value.dims)
        after = self.at(other, rank, i=f"i - {size}")
        body = f"te.if_then_else(i < {size}, {self.at(name, rank)}, {after})"
        numpy = f"np.concatenate([{name}, {other}])"
        return self.compute(
            (value.dims[0] + more, *value.dims[1:]), body, numpy, dtype, name, other
        )

    def pair(self) -> Value | None:
        """Two results in one stage."""
        value = self.source()
        assert value is not None
        name, dtype = self.tensor(value)
        stage = self.fresh("T")
        x, (c, nc) = self.at(name, len(value.dims)), self.number(dtype)
        indices = ", ".join(INDICES[: len(value.dims)])
        line = (
            f"{stage}a, {stage}b = te.compute({shape(value.dims)}, "
            f'lambda {indices}: ({x} + {c}, {x} * {x}), name="{stage}")'
        )
        names = (f"{stage}a", f"{stage}b")
        numpy = (f"{name} + {nc}", f"{name} * {name}")
        return Value(names, value.dims, (dtype, dtype), (name,), (line,), numpy)

    def pair_reduced(self) -> Value | None:
        """Two reductions in one stage."""
        value = self.source(lambda dims: len(dims) == 2)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        stage, k = self.fresh("T"), self.fresh("k")
        lines = (
            f'{k} = te.reduce_axis((0, {value.dims[1].text}), "{k}")',
            f"both{stage} = te.comm_reducer(lambda x, y: (x[0] + y[0], te.max(x[1], y[1])), "
            f'lambda p, q: (te.const(0, p), te.min_value(q)), name="both{stage}")',
            f"{stage}a, {stage}b = te.compute({shape(value.dims[:1])}, lambda i: "
            f'both{stage}(({name}[i, {k}], {name}[i, {k}]), axis={k}), name="{stage}")',
        )
        numpy = (f"{name}.sum(1, dtype={name}.dtype)", f"{name}.max(1)")
        names = (f"{stage}a", f"{stage}b")
        return Value(names, value.dims[:1], (dtype, dtype), (name,), lines, numpy)

    def accumulated(self) -> Value | None:
        """A scan: cumulative sums."""
        value = self.source(lambda dims: len(dims) == 2 and dims[0].value > 1)
        if value is None:
            return None
        name, dtype = self.tensor(value)
        scan, (m, n) = self.fresh("C"), value.dims
        rest = f'dtype="{dtype}"'
        lines = (
            f'{scan}_s = te.placeholder({shape((m, n))}, name="{scan}_s", {rest})',
            f'{scan}_i = te.compute((1, {n.text}), lambda _, j: {name}[0, j], name="{scan}_i")',
            f"{scan}_u = te.compute({shape((m, n))}, "
            f'lambda t, j: {scan}_s[t - 1, j] + {name}[t, j], name="{scan}_u")',
            f'{scan} = te.scan({scan}_i, {scan}_u, {scan}_s, inputs=[{name}], name="{scan}")',
        )
        numpy = (f"np.cumsum({name}, axis=0, dtype={name}.dtype)",)
        return Value((scan,), value.dims, (dtype,), (name,), lines, numpy)
