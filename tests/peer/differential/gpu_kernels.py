"""Random kernels of typical families: tiled products, reductions by threads, ...

A program is a sequence of one to three families with random parameters: sizes that are not
multiples of tiles, symbolic sizes, types, scopes, virtual threads, vectors, double buffers,
alignments, reductions of several axes and of tuples. A schedule must compute the declared result.
Must not know an implementation.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.peer.differential.program import Dim, Program, Value, shape

INDICES = ("i", "j", "l", "m")
EXTENTS = (1, 3, 7, 8, 16, 17, 24, 31, 32, 40, 48, 64, 65)
SMALL = (1, 2, 3, 4, 5, 8)
# The types of operands, and of sums.
PRODUCTS = (
    *(("float32", "float32"),) * 3,
    ("float16", "float32"),
    ("float16", "float16"),
    ("int8", "int32"),
    ("int32", "int32"),
    ("float64", "float64"),
)
DTYPES = ("float32",) * 4 + ("float16", "int32", "int8", "float64", "int64")


def generate_kernels(number: int) -> Program:
    """The random kernels of a seed."""
    kernels = Kernels(random.Random(number))
    kernels.declare()
    return Program(
        number,
        tuple(kernels.values),
        tuple(kernels.outputs),
        tuple(kernels.steps),
        kernels.sizes,
    )


class Kernels:
    """Declarations and the lines that schedule them, family by family."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.values: list[Value] = []
        self.outputs: list[str] = []
        self.steps: list[str] = []
        self.sizes: dict[str, int] = {}
        self.count = 0
        self.symbolic = rng.random() < 0.3

    def declare(self) -> None:
        """Declare and schedule one to three families."""
        for _ in range(self.rng.choice((1, 1, 1, 2, 2, 3))):
            family = self.rng.choice(
                (
                    *("product", "product", "reduction", "reduction", "rowwise", "staged"),
                    *("staged", "convolution", "warp", "factored", "turned"),
                )
            )
            getattr(self, f"_{family}")()

    # Words

    def _maybe(self, chance: float) -> bool:
        return self.rng.random() < chance

    def _fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def _say(self, line: str) -> None:
        self.steps.append(line)

    def _dim(self, size: int = 0, fixed: bool = False) -> Dim:
        size = size or self.rng.choice(EXTENTS)
        if fixed or not self.symbolic or self._maybe(0.4):
            return Dim(str(size), size)
        name = self._fresh("n")
        self.sizes[name] = size
        return Dim(name, size)

    def _input(self, dims: tuple[Dim, ...], dtype: str) -> str:
        name = self._fresh("A")
        self.values.append(Value((name,), dims, (dtype,)))
        return name

    def _source(self, rank: int, dtype: str = "") -> tuple[str, tuple[Dim, ...], str]:
        """An earlier result of this rank, or an input."""
        found = [
            value
            for value in self.values
            if value.names[0] in self.outputs and len(value.dims) == rank
            if dtype in ("", value.dtypes[0])
        ]
        if found and self._maybe(0.7):
            value = self.rng.choice(found)
            return value.names[0], value.dims, value.dtypes[0]
        sizes = EXTENTS if rank < 3 else SMALL
        dims = tuple(self._dim(self.rng.choice(sizes)) for _ in range(rank))
        dtype = dtype or self.rng.choice(DTYPES)
        return self._input(dims, dtype), dims, dtype

    def _stage(
        self,
        dims: tuple[Dim, ...],
        body: str,
        numpy: str,
        dtype: str,
        reads: Sequence[str],
        before: Sequence[str] = (),
        output: bool = False,
    ) -> str:
        name = self._fresh("S")
        indices = ", ".join(INDICES[: len(dims)])
        line = f'{name} = te.compute({shape(dims)}, lambda {indices}: {body}, name="{name}")'
        value = Value((name,), dims, (dtype,), tuple(reads), (*before, line), (numpy,))
        self.values.append(value)
        if output:
            self.outputs.append(name)
        return name

    def _mapped(self, x: str, name: str, dtype: str) -> tuple[str, str]:
        """An elementwise formula for TE and for numpy."""
        c = self.rng.choice((1, 2, 3))
        number, same = f"te.const({c}, '{dtype}')", f"np.{dtype}({c})"
        return self.rng.choice(
            (
                (f"{x} + {number}", f"{name} + {same}"),
                (f"{x} * {number}", f"{name} * {same}"),
                (f"te.max({x}, {number})", f"np.maximum({name}, {same})"),
                (
                    f"te.if_then_else({x} > {number}, {number}, {x})",
                    f"np.where({name} > {same}, {same}, {name})",
                ),
            )
        )

    def _at(self, name: str, rank: int) -> str:
        return f"{name}[{', '.join(INDICES[:rank])}]"

    # Loops

    def _split(self, stage: str, axis: str, factor: int = 0, nparts: int = 0) -> tuple[str, str]:
        outer, inner = self._fresh("o"), self._fresh("i")
        option = f"nparts={nparts}" if nparts else f"factor={factor}"
        self._say(f"{outer}, {inner} = s[{stage}].split({axis}, {option})")
        return outer, inner

    def _fuse(self, stage: str, axes: Sequence[str]) -> str:
        if len(axes) == 1:
            return axes[0]
        fused = self._fresh("f")
        self._say(f"{fused} = s[{stage}].fuse({', '.join(axes)})")
        return fused

    def _bind(self, stage: str, axis: str, tag: str) -> None:
        self._say(f's[{stage}].bind({axis}, te.thread_axis("{tag}"))')

    def _reorder(self, stage: str, axes: Sequence[str]) -> None:
        self._say(f"s[{stage}].reorder({', '.join(axes)})")

    def _axes(self, stage: str, rank: int) -> list[str]:
        return [f"s[{stage}].op.axis[{axis}]" for axis in range(rank)]

    def _at_axis(self, stage: str, home: str, axis: str) -> None:
        self._say(f"s[{stage}].compute_at(s[{home}], {axis})")

    def _shared(self) -> str:
        return self.rng.choice(("shared", "shared", "shared.dyn"))

    def _plain(self, stage: str, rank: int) -> tuple[str, str, str]:
        """Distribute elements over blocks and threads; returns these loops and the inner one."""
        fused = self._fuse(stage, self._axes(stage, rank))
        block, rest = self._split(stage, fused, factor=self.rng.choice((32, 64, 96, 128)))
        thread, inner = self._split(stage, rest, nparts=self.rng.choice((16, 32)))
        self._bind(stage, block, "blockIdx.x")
        self._bind(stage, thread, "threadIdx.x")
        return block, thread, inner

    def _load(self, stage: str, rank: int, threads: dict[str, int], repeated: bool = True) -> None:
        """Distribute a stage over the threads of a block, a few elements at a time."""
        fused = self._fuse(stage, self._axes(stage, rank))
        if self._maybe(0.4):
            fused, lanes = self._split(stage, fused, factor=self.rng.choice((2, 4)))
            self._say(
                f"s[{stage}].{self.rng.choice(('vectorize', 'vectorize', 'unroll'))}({lanes})"
            )
        tags = list(threads)
        if self._maybe(0.5):  # adjacent threads load adjacent elements
            for tag in reversed(tags):
                fused, inner = self._split(stage, fused, factor=threads[tag])
                self._bind(stage, inner, tag)
        else:
            for tag in tags:
                outer, fused = self._split(stage, fused, nparts=threads[tag])
                self._bind(stage, outer, tag)
        self._storage(stage, rank, repeated)

    def _storage(self, stage: str, rank: int, repeated: bool) -> None:
        if repeated and self._maybe(0.3):
            self._say(f"s[{stage}].double_buffer()")
        if rank > 1 and self._maybe(0.2):
            factor, offset = self.rng.choice(((8, 0), (16, 1), (32, 8), (2, 1)))
            axis = f"s[{stage}].op.axis[{self.rng.randrange(rank - 1)}]"
            self._say(f"s[{stage}].storage_align({axis}, {factor}, {offset})")

    def _pragmas(self, stage: str, axis: str) -> None:
        if self._maybe(0.25):
            steps = self.rng.choice((4, 16, 64, 512))
            self._say(f's[{stage}].pragma({axis}, "auto_unroll_max_step", {steps})')
            if self._maybe(0.5):
                explicit = self.rng.choice(("True", "False"))
                self._say(f's[{stage}].pragma({axis}, "unroll_explicit", {explicit})')

    # Tiles of matrix products

    def _product(self) -> None:
        kind, total = self.rng.choice(PRODUCTS)
        first, (m, depth), _ = self._source(2, kind)
        n = self._dim()
        turned = self._maybe(0.3)
        second = self._input((n, depth) if turned else (depth, n), kind)
        k = self._fresh("k")
        place = f"j, {k}" if turned else f"{k}, j"
        a, b = f"{first}[i, {k}]", f"{second}[{place}]"
        numpy = f"{first}.astype('{total}') @ {second}.astype('{total}')"
        numpy += ".T" if turned else ""
        if kind != total:
            a, b = f"{a}.astype('{total}')", f"{b}.astype('{total}')"
        before = [f'{k} = te.reduce_axis((0, {depth.text}), "{k}")']
        has_more = self._maybe(0.35)
        body = f"te.sum({a} * {b}, axis={k})"
        name = self._stage((m, n), body, numpy, total, [first, second], before, not has_more)
        out, sums = name, name
        if has_more:
            body, numpy = self._mapped(self._at(name, 2), name, total)
            out = self._stage((m, n), body, numpy, total, [name], output=True)
            self._say(f's[{name}].set_scope("local")')
        else:
            sums = self._fresh("CW")
            self._say(f'{sums} = s.cache_write({name}, "local")')
        threads, thread = self._tile(out, self._axes(out, 2))
        self._at_axis(sums, out, thread)
        self._sums(sums, [f"s[{sums}].op.reduce_axis[0]"], (first, second), threads)

    def _tile(self, out: str, axes: list[str]) -> tuple[dict[str, int], str]:
        """Tile for blocks, virtual threads and threads; returns threads and the innermost loop."""
        threads = {
            "threadIdx.y": self.rng.choice((2, 4, 8)),
            "threadIdx.x": self.rng.choice((4, 8, 16)),
        }
        blocks, virtual, inner, rest = [], [], [], []
        for axis, letter in zip(axes, "yx", strict=True):
            count = threads[f"threadIdx.{letter}"]
            own, copies = self.rng.choice((1, 2, 3, 4)), self.rng.choice((1, 1, 2, 3))
            block, tile = self._split(out, axis, factor=count * own * copies)
            self._bind(out, block, f"blockIdx.{letter}")
            blocks.append(block)
            if copies > 1:
                copy, tile = self._split(out, tile, nparts=copies)
                virtual.append(copy)
            thread, element = self._split(out, tile, nparts=count)
            inner.append(thread)
            rest.append(element)
        self._reorder(out, [*blocks, *virtual, *inner, *rest])
        for copy in virtual:
            self._bind(out, copy, "vthread")
        for thread, tag in zip(inner, threads, strict=True):
            self._bind(out, thread, tag)
        if self._maybe(0.3):
            self._say(f"s[{out}].{self.rng.choice(('vectorize', 'unroll'))}({rest[-1]})")
        self._pragmas(out, blocks[0])
        return threads, inner[-1]

    def _sums(
        self, sums: str, reduced: list[str], inputs: Sequence[str], threads: dict[str, int]
    ) -> None:
        """Sums in registers, from tiles in shared memory."""
        rank = next(len(v.dims) for v in self.values if inputs[0] in v.names)
        axes = self._axes(sums, rank if rank == 2 else 4)
        loops = []
        for axis in reduced[:1]:
            outer, inner = self._split(sums, axis, factor=self.rng.choice((2, 4, 8, 16)))
            loops = [outer, inner]
        loops += reduced[1:]
        inner_first = self._maybe(0.3)
        order = [loops[0], *axes, *loops[1:]] if inner_first else [*loops, *axes]
        self._reorder(sums, order)
        if self._maybe(0.3):
            self._say(f"s[{sums}].unroll({loops[-1]})")
        self._pragmas(sums, loops[0])
        for name in inputs:
            if self._maybe(0.15):
                continue
            cache = self._fresh("CR")
            self._say(f'{cache} = s.cache_read({name}, "{self._shared()}", [{sums}])')
            if self._maybe(0.35):
                own = self._fresh("CR")
                self._say(f'{own} = s.cache_read({cache}, "local", [{sums}])')
                self._at_axis(own, sums, loops[0] if inner_first else self.rng.choice(loops))
            self._at_axis(cache, sums, loops[0])
            count = next(len(v.dims) for v in self.values if name in v.names)
            self._load(cache, count, threads)

    def _convolution(self) -> None:
        """A convolution of padded images, or a depthwise one."""
        kind, total = self.rng.choice(PRODUCTS[:5])
        channels, filters = (
            self._dim(self.rng.choice((1, 2, 3, 4, 8))),
            self._dim(self.rng.choice(SMALL)),
        )
        height, width = (self._dim(self.rng.choice((5, 8, 12, 15))) for _ in range(2))
        taps, pad = self.rng.choice(((1, 0), (3, 1), (3, 0), (3, 2))), 0
        pad, taps_ = taps[1], taps[0]
        image = self._input((channels, height, width), kind)
        inside = (
            f"te.all(j >= {pad}, j < {(height + pad).text}, l >= {pad}, l < {(width + pad).text})"
        )
        padded = image
        if pad:
            padded = self._stage(
                (channels, height + 2 * pad, width + 2 * pad),
                f"te.if_then_else({inside}, {image}[i, j - {pad}, l - {pad}], "
                f"te.const(0, '{kind}'))",
                f"np.pad({image}, ((0, 0), ({pad}, {pad}), ({pad}, {pad})))",
                kind,
                [image],
            )
            self._say(f"s[{padded}].compute_inline()")
        dims_out = (height + (2 * pad - taps_ + 1), width + (2 * pad - taps_ + 1))
        deep = self._maybe(0.6)
        tap = Dim(str(taps_), taps_)
        weight = self._input((filters, channels, tap, tap) if deep else (channels, tap, tap), kind)
        ky, kx, kc = self._fresh("ky"), self._fresh("kx"), self._fresh("kc")
        before = [f'{name} = te.reduce_axis((0, {taps_}), "{name}")' for name in (ky, kx)]
        reduced = [ky, kx]
        w = f"{weight}[i, {ky}, {kx}]"
        x = f"{padded}[i, j + {ky}, l + {kx}]"
        rule = "chwyx,cyx->chw"
        if deep:
            before.append(f'{kc} = te.reduce_axis((0, {channels.text}), "{kc}")')
            reduced = [kc, ky, kx]
            w, x = f"{weight}[i, {kc}, {ky}, {kx}]", f"{padded}[{kc}, j + {ky}, l + {kx}]"
            rule = "chwyx,fcyx->fhw"
        body = f"te.sum({x}.astype('{total}') * {w}.astype('{total}'), axis=[{', '.join(reduced)}])"
        windows = (
            f"np.lib.stride_tricks.sliding_window_view({padded}.astype('{total}'), "
            f"({taps_}, {taps_}), axis=(1, 2))"
        )
        numpy = f"np.einsum('{rule}', {windows}, {weight}.astype('{total}'))"
        dims = (filters if deep else channels, *dims_out)
        out = self._stage(dims, body, numpy, total, [padded, weight], before, output=True)
        sums = self._fresh("CW")
        self._say(f'{sums} = s.cache_write({out}, "local")')
        f, y, x = self._axes(out, 3)
        self._bind(out, f, "blockIdx.z")
        threads, thread = self._tile(out, [y, x])
        self._at_axis(sums, out, thread)
        count = len(reduced)
        loops = [f"s[{sums}].op.reduce_axis[{a}]" for a in range(count)]
        axes = self._axes(sums, 3)
        if self._maybe(0.3):
            self.rng.shuffle(loops)
        first = loops[0]
        if self._maybe(0.5):
            first, inner = self._split(sums, loops[0], factor=self.rng.choice((1, 2, 4)))
            loops = [first, inner, *loops[1:]]
        self._reorder(sums, [*loops, *axes])
        if self._maybe(0.4):
            self._say(f"s[{sums}].unroll({loops[-1]})")
        for name, rank in ((padded, 3), (weight, 4 if deep else 3)):
            if self._maybe(0.7):
                cache = self._fresh("CR")
                self._say(f'{cache} = s.cache_read({name}, "{self._shared()}", [{sums}])')
                self._at_axis(cache, sums, self.rng.choice((first, first, loops[1])))
                self._load(cache, rank, threads)

    # Reductions by threads

    def _reducer(self, name: str, dtype: str, reads: str, axis: str) -> tuple[str, str, str]:
        """A reduction for TE, numpy's function over the last axes, and these axes."""
        how = self.rng.choice(("sum", "sum", "max", "min"))
        numpy = "sum({0}, dtype=" + name + ".dtype)" if how == "sum" else how + "({0})"
        return f"te.{how}({name}[{reads}], axis={axis})", f"{name}.{numpy}", how

    def _reduced(self, output: bool, tuples: bool = True) -> tuple[list[str], int, int, str]:
        """A reduction: its tensors, the numbers of spatial and reduction axes, and the type."""
        rank = self.rng.choice((2, 2, 3, 3, 4))
        name, dims, dtype = self._source(rank)
        gone = self.rng.randint(1, rank - 1)
        goes = sorted(self.rng.sample(range(rank), gone))
        axes = {axis: self._fresh("k") for axis in goes}
        kept = iter(INDICES)
        reads = ", ".join(axes[a] if a in axes else next(kept) for a in range(rank))
        before = [f'{k} = te.reduce_axis((0, {dims[a].text}), "{k}")' for a, k in axes.items()]
        over = f"[{', '.join(axes.values())}]"
        left = tuple(dim for a, dim in enumerate(dims) if a not in axes)
        numbers = tuple(goes)
        if tuples and self._maybe(0.3):
            return (
                self._pair(name, dims, dtype, reads, over, left, goes, before, output),
                rank - gone,
                gone,
                dtype,
            )
        body, numpy, _ = self._reducer(name, dtype, reads, over)
        made = self._stage(left, body, numpy.format(numbers), dtype, [name], before, output)
        return [made], rank - gone, gone, dtype

    def _pair(
        self,
        name: str,
        dims: tuple[Dim, ...],
        dtype: str,
        reads: str,
        over: str,
        left: tuple[Dim, ...],
        goes: list[int],
        before: list[str],
        output: bool,
    ) -> list[str]:
        """Sum and maximum, or maximum and its first index."""
        stage = self._fresh("T")
        indices = ", ".join(INDICES[: len(left)])
        names = (f"{stage}a", f"{stage}b")
        if self._maybe(0.5):
            reducer = (
                "lambda x, y: (x[0] + y[0], te.max(x[1], y[1])), "
                "lambda p, q: (te.const(0, p), te.min_value(q))"
            )
            values = f"({name}[{reads}], {name}[{reads}])"
            numpy = (f"{name}.sum({tuple(goes)}, dtype={name}.dtype)", f"{name}.max({tuple(goes)})")
            dtypes = (dtype, dtype)
        else:
            reducer = (
                "lambda x, y: (tvm.tir.Select("
                "te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] < y[0])), x[0], y[0]), "
                "te.max(x[1], y[1])), "
                "lambda p, q: (te.const(2147483647, p), te.min_value(q))"
            )
            place = ""
            for a, k in zip(goes, over[1:-1].split(", "), strict=True):
                place = f"({place}) * ({dims[a].text}) + {k}" if place else k
            values = f"(({place}).astype('int32'), {name}[{reads}])"
            last = f"np.moveaxis({name}, {tuple(goes)}, {tuple(range(-len(goes), 0))})"
            numpy = (
                f"{last}.reshape(*{last}.shape[:{len(left)}], -1).argmax(-1).astype('int32')",
                f"{name}.max({tuple(goes)})",
            )
            dtypes = ("int32", dtype)
        lines = (
            *before,
            f'both{stage} = te.comm_reducer({reducer}, name="both{stage}")',
            f"{names[0]}, {names[1]} = te.compute({shape(left)}, lambda {indices}: "
            f'both{stage}({values}, axis={over}), name="{stage}")',
        )
        self.values.append(Value(names, left, dtypes, (name,), lines, numpy))
        if output:
            self.outputs += names
        return list(names)

    def _threads_of_reduction(self, stage: str, gone: int, tags: Sequence[str]) -> None:
        """Bind the reduction axes to one or two thread axes."""
        axes = [f"s[{stage}].op.reduce_axis[{a}]" for a in range(gone)]
        if gone > 1 and len(tags) > 1:
            counts = [self.rng.choice((2, 3, 4, 8)) for _ in tags]
            for axis, tag, count in zip(axes, tags, counts, strict=False):
                self._part(stage, axis, tag, count)
            return
        fused = self._fuse(stage, axes)
        if len(tags) > 1:
            outer, inner = self._split(stage, fused, factor=self.rng.choice((8, 16)))
            self._part(stage, outer, tags[0], self.rng.choice((2, 4)))
            self._bind(stage, inner, tags[1])
            return
        self._part(stage, fused, tags[0], self.rng.choice((4, 8, 16, 32, 40, 64, 128)))

    def _part(self, stage: str, axis: str, tag: str, count: int) -> None:
        pair = (
            self._split(stage, axis, count)
            if self._maybe(0.6)
            else self._split(stage, axis, nparts=count)
        )
        self._bind(stage, pair[1] if "factor" in self.steps[-1] else pair[0], tag)

    def _reduction(self) -> None:
        """A cross-thread reduction; the same kernel may read its result."""
        has_more = self._maybe(0.4)
        names, kept, gone, _ = self._reduced(output=not has_more, tuples=True)
        name = names[0]
        tags = self.rng.choice((["threadIdx.x"], ["threadIdx.x"], ["threadIdx.y", "threadIdx.x"]))
        if has_more:
            value = self.values[-1]
            kinds = dict(zip(value.names, value.dtypes, strict=True))
            read = self.rng.choice(names)
            body, numpy = self._mapped(self._at(read, kept), read, kinds[read])
            out = self._stage(value.dims, body, numpy, kinds[read], [read], output=True)
            block = self._fuse(out, self._axes(out, kept))
            if self._maybe(0.4):
                block, inner = self._split(out, block, factor=self.rng.choice((2, 3, 4)))
                if self._maybe(0.5):
                    self._bind(out, inner, "vthread" if self._maybe(0.2) else "threadIdx.z")
            self._bind(out, block, "blockIdx.x")
            if len(self.steps) > 1 and "threadIdx.z" in self.steps[-2]:
                self._at_axis(name, out, inner)
            else:
                self._at_axis(name, out, block)
            self._threads_of_reduction(name, gone, tags)
            return
        fused = self._fuse(name, self._axes(name, kept))
        if self._maybe(0.5) and len(tags) == 1:
            block, row = self._split(name, fused, factor=self.rng.choice((2, 3, 4, 8)))
            self._bind(name, block, "blockIdx.x")
            self._bind(name, row, "threadIdx.y")
        else:
            self._bind(name, fused, "blockIdx.x")
        self._threads_of_reduction(name, gone, tags)

    def _factored(self) -> None:
        """A factored reduction, the second stage by threads."""
        names, kept, gone, _ = self._reduced(output=True, tuples=False)
        name = names[0]
        fused = self._fuse(name, [f"s[{name}].op.reduce_axis[{a}]" for a in range(gone)])
        outer, inner = self._split(name, fused, factor=self.rng.choice((2, 4, 8, 16, 32)))
        rest = self._fresh("RF")
        place = self.rng.choice((0, 0, kept))
        how = self.rng.choice(("threads", "threads", "kernels"))
        axis = inner if how == "threads" or self._maybe(0.5) else outer
        self._say(f"{rest} = s.rfactor({name}, {axis}, {place})")
        data = self._fuse(name, self._axes(name, kept))
        reduced = f"s[{name}].op.reduce_axis[0]"
        if how == "kernels":
            self._split_plain(name, data)
            self._plain(rest, kept + 1)
            return
        rows = self._maybe(0.5)
        if rows:
            block, row = self._split(name, data, factor=self.rng.choice((2, 4, 5)))
            self._bind(name, row, "threadIdx.y")
            self._bind(name, block, "blockIdx.x")
        else:
            self._bind(name, data, "blockIdx.x")
        self._bind(name, reduced, "threadIdx.x")
        self._at_axis(rest, name, reduced)
        self._pragmas(rest, f"s[{rest}].op.reduce_axis[0]")
        if self._maybe(0.5):
            self._predicate(name, reduced)

    def _predicate(self, name: str, reduced: str) -> None:
        """A store by the first thread only: the loop is bound to a named axis."""
        bound = f's[{name}].bind({reduced}, te.thread_axis("threadIdx.x"))'
        tx = self._fresh("tx")
        place = self.steps.index(bound)
        self.steps[place : place + 1] = [
            f'{tx} = te.thread_axis("threadIdx.x")',
            f"s[{name}].bind({reduced}, {tx})",
        ]
        self._say(f"s[{name}].set_store_predicate({tx}.var.equal(0))")

    def _split_plain(self, stage: str, axis: str) -> None:
        block, thread = self._split(stage, axis, factor=self.rng.choice((8, 32, 64)))
        self._bind(stage, block, "blockIdx.x")
        self._bind(stage, thread, "threadIdx.x")

    def _rowwise(self) -> None:
        """Rows minus their maximum, divided by the sum of these differences, as in a softmax."""
        name, dims, dtype = self._source(
            2, self.rng.choice(("float32", "float32", "float16", "float64", "int32"))
        )
        (m, n) = dims
        parts = {axis: self._fresh("k") for axis in ("most", "sum")}
        before = [f'{parts["most"]} = te.reduce_axis((0, {n.text}), "{parts["most"]}")']
        most = self._stage(
            (m,),
            f"te.max({name}[i, {parts['most']}], axis={parts['most']})",
            f"{name}.max(1)",
            dtype,
            [name],
            before,
        )
        body, numpy = f"{name}[i, j] - {most}[i]", f"{name} - {most}[:, None]"
        if dtype.startswith("float") and self._maybe(0.6):
            body, numpy = f"te.exp({body})", f"np.exp({numpy})"
        less = self._stage((m, n), body, numpy, dtype, [name, most])
        k = parts["sum"]
        total = self._stage(
            (m,),
            f"te.sum({less}[i, {k}], axis={k})",
            f"{less}.sum(1, dtype={less}.dtype)",
            dtype,
            [less],
            [f'{k} = te.reduce_axis((0, {n.text}), "{k}")'],
        )
        sign = self.rng.choice("+-")
        out = self._stage(
            dims,
            f"{less}[i, j] {sign} {total}[i]",
            f"{less} {sign} {total}[:, None]",
            dtype,
            [less, total],
            output=True,
        )
        threads = self.rng.choice((8, 16, 32, 64))
        i, j = self._axes(out, 2)
        block = i
        rows = 0
        if self._maybe(0.4):
            rows = self.rng.choice((2, 3, 4))
            block, row = self._split(out, i, factor=rows)
        _, thread = self._split(out, j, factor=threads)
        self._bind(out, block, "blockIdx.x")
        self._bind(out, thread, "threadIdx.x")
        home = block
        if rows and self._maybe(0.7):
            self._bind(out, row, "threadIdx.y")
            home = row
        for stage in (total, most):
            if self._maybe(0.95):
                self._part(stage, f"s[{stage}].op.reduce_axis[0]", "threadIdx.x", threads)
            self._at_axis(stage, out, home)
            if not self._maybe(0.8):
                self._say(f's[{stage}].set_scope("{self._shared()}")')
        if self._maybe(0.5):
            self._say(f"s[{less}].compute_inline()")
        else:
            self._at_axis(less, out, home)
            self._say(f's[{less}].set_scope("{self._shared()}")')
            _, inner = self._split(less, f"s[{less}].op.axis[1]", factor=threads)
            self._bind(less, inner, "threadIdx.x")
            self._storage(less, 2, repeated=False)

    # Values in the memory of a block

    def _staged(self) -> None:
        """A stencil of values that the block computes first, in parts."""
        rank = self.rng.choice((1, 2, 2))
        name, dims, dtype = self._source(rank)
        body, numpy = self._mapped(self._at(name, rank), name, dtype)
        stage = self._stage(dims, body, numpy, dtype, [name])
        last = INDICES[rank - 1]
        reach = self.rng.choice((0, 1, 2)) if dims[-1].value > 2 else 0
        index = ", ".join(INDICES[: rank - 1])
        index = f"{index}, " if index else ""
        flipped = not reach and self._maybe(0.3)
        if flipped:
            body = f"{stage}[{index}{dims[-1].text} - 1 - {last}]"
            numpy = f"{stage}[..., ::-1]"
        else:
            body = " + ".join(f"{stage}[{index}{last} + {o}]" for o in (0, reach))
            end = f"{stage}.shape[-1]"
            numpy = " + ".join(f"{stage}[..., {o}:{end} - {reach - o}]" for o in (0, reach))
        out_dims = (*dims[:-1], dims[-1] + -reach)
        out = self._stage(out_dims, body, numpy, dtype, [stage], output=True)
        threads = {"threadIdx.x": self.rng.choice((8, 16, 32))}
        axes = self._axes(out, rank)
        bound: list[tuple[str, str]] = []
        outside: list[str] = []
        inside: list[str] = []
        if rank == 2:
            count = threads["threadIdx.y"] = self.rng.choice((2, 4))
            threads = dict(sorted(threads.items(), reverse=True))
            block, row = self._split(out, axes[0], factor=count * self.rng.choice((1, 2)))
            thread, element = self._split(out, row, nparts=count)
            bound += [(block, "blockIdx.y"), (thread, "threadIdx.y")]
            outside, inside = [block], [thread, element]
        block, rest = self._split(
            out, axes[-1], factor=threads["threadIdx.x"] * self.rng.choice((1, 2, 4))
        )
        step, thread = self._split(out, rest, factor=threads["threadIdx.x"])
        virtual = self._maybe(0.25)
        bound += [(block, "blockIdx.x"), (thread, "threadIdx.x")]
        if virtual:
            bound.append((step, "vthread"))
        self._reorder(out, [*outside, block, step, *inside[:1], thread, *inside[1:]])
        for axis, tag in bound:
            self._bind(out, axis, tag)
        home = block if virtual else self.rng.choice((block, step, step))
        self._at_axis(stage, out, home)
        self._say(f's[{stage}].set_scope("{self._shared()}")')
        self._load(stage, rank, threads, repeated=home == step)
        if self._maybe(0.3):
            cache = self._fresh("CR")
            self._say(f'{cache} = s.cache_read({stage}, "local", [{out}])')
            self._at_axis(cache, out, thread)
        self._pragmas(out, step)

    def _turned(self) -> None:
        """A transposition through shared memory."""
        name, dims, dtype = self._source(2)
        body = f"{name}[j, i]"
        numpy = f"{name}.T"
        if self._maybe(0.3):
            c = f"te.const(2, '{dtype}')"
            body, numpy = f"{body} * {c}", f"{numpy} * np.{dtype}(2)"
        out = self._stage((dims[1], dims[0]), body, numpy, dtype, [name], output=True)
        cache = self._fresh("CR")
        self._say(f'{cache} = s.cache_read({name}, "{self._shared()}", [{out}])')
        threads = {
            "threadIdx.y": self.rng.choice((2, 4, 8)),
            "threadIdx.x": self.rng.choice((8, 16, 32)),
        }
        i, j = self._axes(out, 2)
        side = threads["threadIdx.x"]
        by, yi = self._split(out, i, factor=side)
        bx, xi = self._split(out, j, factor=side)
        step, ty = self._split(out, yi, factor=threads["threadIdx.y"])
        self._reorder(out, [by, bx, step, ty, xi])
        for axis, tag in (
            (by, "blockIdx.y"),
            (bx, "blockIdx.x"),
            (ty, "threadIdx.y"),
            (xi, "threadIdx.x"),
        ):
            self._bind(out, axis, tag)
        if self._maybe(0.5):
            self._say(f"s[{out}].unroll({step})")
        home = self.rng.choice((bx, bx, step))
        self._at_axis(cache, out, home)
        self._load(cache, 2, threads, repeated=home == step)

    def _warp(self) -> None:
        """Values in registers of the lanes of a warp, read by other lanes."""
        rank = self.rng.choice((1, 2))
        name, dims, dtype = self._source(
            rank, self.rng.choice(("float32", "float32", "int32", "float64", "float16"))
        )
        last = INDICES[rank - 1]
        before = "i, " if rank == 2 else ""
        width = self.rng.choice((8, 16, 32))
        flipped = self._maybe(0.8)
        reach = self.rng.choice((1, 2)) if dims[-1].value > 2 else 0
        if flipped:
            lanes = f"{last} // {width} * {width} + ({last} + {reach}) % {width}"
            safe = (
                f"te.if_then_else({lanes} < {dims[-1].text}, {name}[{before}{lanes}], "
                f"{name}[{before}{last}])"
            )
            x = f"np.arange({name}.shape[-1])"
            np_lanes = f"{x} // {width} * {width} + ({x} + {reach}) % {width}"
            numpy = f"{name}[..., np.where(({np_lanes}) < {name}.shape[-1], {np_lanes}, {x})]"
            out = self._stage(dims, safe, numpy, dtype, [name], output=True)
        else:
            body = f"{name}[{before}{last}] + {name}[{before}{last} + {reach}]"
            numpy = f"{name}[..., :{name}.shape[-1] - {reach}] + {name}[..., {reach}:]"
            out = self._stage(
                (*dims[:-1], dims[-1] + -reach), body, numpy, dtype, [name], output=True
            )
        cache = self._fresh("CR")
        self._say(f'{cache} = s.cache_read({name}, "warp", [{out}])')
        axes = self._axes(out, rank)
        many = self.rng.choice((1, 1, 2))
        block, lane = self._split(out, axes[-1], factor=width * many)
        home = block
        if many > 1:
            step, lane = self._split(out, lane, factor=width)
            home = self.rng.choice((block, step))
        if rank == 2:
            self._bind(out, axes[0], "blockIdx.y")
        self._bind(out, block, "blockIdx.x")
        self._bind(out, lane, "threadIdx.x")
        self._at_axis(cache, out, home)
        _, inner = self._split(cache, f"s[{cache}].op.axis[{rank - 1}]", factor=width)
        self._bind(cache, inner, "threadIdx.x")
