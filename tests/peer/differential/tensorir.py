"""Random modules of TensorIR as TVMScript, as users write them.

A function is a sequence of stages that compute a buffer each: elementwise blocks, reductions,
scans, tiles with nested blocks, rows that pass through a temporary, opaque blocks, plain loops.
Must not know an implementation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator as Iterable
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace

from tests.peer.differential.formulas import FLOATS, INTEGERS, Array, Formulas, Iterator
from tests.peer.differential.loops import KINDS, Loop, Nest, for_processor, for_threads, nest, plain
from tests.peer.differential.program import Dim

SIZES = {"n": 6, "m": 9}  # the values of the variables of shapes
SCALARS = {"int32": 3, "float32": 1.5, "int64": 5}
_HEAD = "# from tvm.script import ir as I\n# from tvm.script import tir as T\n\n@I.ir_module\n"


def generate(number: int) -> str:
    """The source of the random module of a seed; one in five is for GPU threads."""
    rng = random.Random(number)
    gpu = rng.random() < 0.2
    names = ["main"] if rng.random() < 0.85 else ["main", "other"]
    bodies = [Function(rng, name, gpu).text() for name in names]
    return _HEAD + "class Module:\n" + "\n".join(bodies)


class Function:
    """One function: its parameters, buffers and stages."""

    def __init__(self, rng: random.Random, name: str, gpu: bool) -> None:
        self.rng, self.name, self.gpu = rng, name, gpu
        self.index_dtype = "int64" if rng.random() < 0.12 else "int32"
        self.formulas = Formulas(rng, self.index_dtype)
        self.lines: list[str] = []
        self.depth = 2
        self.parameters: list[tuple[str, str]] = []  # of the signature
        self.temporaries: dict[str, Array] = {}  # by the line that declares them
        self.declared: list[str] = []  # first lines
        self.symbols: list[str] = []
        self.symbols_are_fixed = False  # only inputs have new variables in their shapes
        self.count = 0
        self.used: set[str] = set()  # temporaries that later stages read

    def text(self) -> str:
        """The function."""
        self._declare_inputs()
        count = self.rng.choice((1, 1, 2, 2, 3, 4))
        for place in range(count):
            self._stage(is_last=place == count - 1)
        self._expose_results()
        head = ["    @T.prim_func(private=True)" if self._rare(0.05) else "    @T.prim_func"]
        if not any("private" in line for line in head) or self.name != "main":
            head = ["    @T.prim_func"]
        signature = ", ".join(f"{name}: {kind}" for name, kind in self.parameters)
        head.append(f"    def {self.name}({signature}):")
        if "private" not in head[0] and self._rare(0.5):
            noalias = ', "tir.noalias": True' if self._rare(0.7) else ""
            more = ', "count": 3, "about": "text"' if self._rare(0.1) else ""
            head.append(f'        T.func_attr({{"global_symbol": "{self.name}"{noalias}{more}}})')
        symbols = [f"        {one} = T.{self.index_dtype}()" for one in self.symbols]
        declared = [f"        {line}" for line in self.declared]
        return "\n".join([*head, *symbols, *declared, *self.lines]) + "\n"

    def _rare(self, probability: float) -> bool:
        return self.rng.random() < probability

    # Lines.

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def under(self, *headers: str) -> Iterable[None]:
        """What follows is the body of nested statements."""
        for header in headers:
            self.line(header)
            self.depth += 1
        yield
        self.depth -= len(headers)

    # Declarations.

    def size(self, dim: Dim) -> str:
        """The text of an extent where its type counts."""
        is_constant = dim.text == str(dim.value)
        return f"T.int64({dim.text})" if is_constant and self.index_dtype == "int64" else dim.text

    def shape(self, dims: Sequence[Dim]) -> str:
        inside = ", ".join(self.size(dim) for dim in dims)
        return f"({inside},)" if len(dims) == 1 else f"({inside})"

    def dim(self) -> Dim:
        """A random extent, sometimes a variable."""
        if not self.symbols_are_fixed and self._rare(0.1):
            name = self.rng.choice(list(SIZES))
            if name not in self.symbols:
                self.symbols.append(name)
            return Dim(name, SIZES[name])
        return Dim(*(lambda n: (str(n), n))(self.rng.choice((1, 2, 3, 4, 5, 7, 8, 12, 16))))

    def dims(self) -> tuple[Dim, ...]:
        known = [dim for one in self.formulas.arrays for dim in one.dims]
        return tuple(
            self.rng.choice(known) if known and self._rare(0.7) else self.dim()
            for _ in range(self.rng.choice((1, 1, 2, 2, 2, 3)))
        )

    def dtype(self) -> str:
        known = [one.dtype for one in self.formulas.arrays]
        if known and self._rare(0.6):
            return self.rng.choice(known)
        return self.rng.choice((*FLOATS * 2, *INTEGERS, "bool"))

    def _declare_inputs(self) -> None:
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            self.parameter(self.dims(), self.dtype(), is_exact=True)
        self.symbols_are_fixed = True
        if self._rare(0.1):
            kind = self.rng.choice(list(SCALARS))
            self.parameters.append(("x", f"T.{kind}"))
            self.formulas.scalars.append(("x", kind))

    def parameter(self, dims: tuple[Dim, ...], dtype: str, is_exact: bool = False) -> Array:
        """A parameter that is a buffer, in one of the ways to declare it."""
        self.count += 1
        name = f"{'A' if is_exact else 'B'}{self.count}"
        array = Array(name, dims, dtype, is_exact)
        if is_exact:
            self.formulas.arrays.append(array)
        self.declare(array)
        return array

    def declare(self, array: Array) -> None:
        """Add a buffer to the parameters."""
        name, dims, dtype = array.name, array.dims, array.dtype
        symbolic = any(dim.text != str(dim.value) for dim in dims)
        if not symbolic and self._rare(0.75):
            self.parameters.append((name, f'T.Buffer({self.shape(dims)}, "{dtype}")'))
            return
        handle = name.lower()
        self.parameters.append((handle, "T.handle"))
        options = self._options(name, dims)
        self.declared.append(
            f'{name} = T.match_buffer({handle}, {self.shape(dims)}, "{dtype}"{options})'
        )

    def _options(self, name: str, dims: tuple[Dim, ...]) -> str:
        """Strides, an offset or an alignment of a parameter."""
        options = ""
        if self._rare(0.1):
            strides = [f"{name}_s{place}" for place in range(len(dims))]
            self.symbols += strides
            options += f", strides=[{', '.join(strides)}]"
        if self._rare(0.15):
            self.symbols.append(f"{name}_o")
            options += f", elem_offset={name}_o, offset_factor=1"
        return options + (", align=16" if self._rare(0.1) else "")

    def output(self, is_last: bool, dims: tuple[Dim, ...], dtype: str) -> Array:
        """The buffer of a stage: a parameter or a temporary."""
        symbolic = any(dim.text != str(dim.value) for dim in dims)
        if is_last or self._rare(0.95 if symbolic else 0.2):
            return self.parameter(dims, dtype)
        scope = "global" if self.gpu else self.rng.choice(("global",) * 6 + ("local",))
        return self.temporary(dims, dtype, scope)

    def temporary(
        self, dims: tuple[Dim, ...], dtype: str, scope: str, inside: bool = False
    ) -> Array:
        """A buffer of the block, or of the function."""
        self.count += 1
        array = Array(f"B{self.count}", dims, dtype, scope=scope)
        kind = "" if dtype == "float32" and self._rare(0.5) else f', "{dtype}"'
        kind += "" if scope == "global" else f', scope="{scope}"'
        text = f"{array.name} = T.alloc_buffer({self.shape(dims)}{kind})"
        if inside:
            self.line(text)
        else:
            self.declared.append(text)
            self.temporaries[text] = array
        return array

    def _expose_results(self) -> None:
        """Make parameters of the temporaries that nothing reads."""
        for line, array in self.temporaries.items():
            if array.name not in self.used:
                place = self.declared.index(line)
                self.declare(array)
                self.declared[place : place + 1] = []

    # Loops and blocks.

    def loops(self, given: Nest) -> list[str]:
        """The headers of the loops."""
        found, place = [], 0
        while place < len(given.loops):
            run = place
            while run < len(given.loops) and self._is_plain(given.loops[run]):
                run += 1
            group = given.loops[place:run]
            if len(group) > 1 and self._rare(0.8):
                names = ", ".join(one.name for one in group)
                found.append(
                    f"for {names} in T.grid({', '.join(self.size(o.dim) for o in group)}):"
                )
                place = run
            else:
                found.append(self._loop(given.loops[place]))
                place += 1
        return found

    @staticmethod
    def _is_plain(loop: Loop) -> bool:
        return loop.kind == "serial" and not loop.start and not loop.note

    def _loop(self, loop: Loop) -> str:
        bounds = self.size(loop.dim)
        note = f", annotations={loop.note}" if loop.note else ""
        if loop.start:
            end = loop.start + loop.dim.value
            bounds = (
                f"{self.size(Dim(str(loop.start), loop.start))}, {self.size(Dim(str(end), end))}"
            )
        if "." in loop.kind or loop.kind == "vthread":
            return f'for {loop.name} in T.thread_binding({bounds}, thread="{loop.kind}"{note}):'
        word = "T.serial" if note or self._rare(0.1) else "range"
        word = word if loop.kind == "serial" else f"T.{loop.kind}"
        return f"for {loop.name} in {word}({bounds}{note}):"

    def nest(self, iterators: Sequence[Iterator]) -> Nest:
        made = nest(self.rng, iterators)
        return for_threads(self.rng, made) if self.gpu else for_processor(self.rng, made)

    def axes(self, iterators: Sequence[Iterator], given: Nest) -> None:
        """The lines that bind the iterators of a block, and its condition."""
        names = {one.name: one.dim.text for one in given.loops if not one.start}
        simple = all(
            value in names and names[value] == one.dim.text
            for one, value in zip(iterators, given.values, strict=True)
        )
        if simple and iterators and self._rare(0.75) and all(o.kind in "SR" for o in iterators):
            kinds = "".join(one.kind for one in iterators)
            names_ = ", ".join(one.name for one in iterators)
            self.line(f'{names_} = T.axis.remap("{kinds}", [{", ".join(given.values)}])')
        else:
            for one, value in zip(iterators, given.values, strict=True):
                if value == "0" and self.index_dtype == "int64":
                    value = "T.int64(0)"
                self.line(f"{one.name} = T.axis.{KINDS[one.kind]}({self.size(one.dim)}, {value})")
        if given.guards:
            guard = given.guards[0]
            for more in given.guards[1:]:
                guard = f"T.And({guard}, {more})"
            self.line(f"T.where({guard})")

    def regions(self, written: Sequence[str], read: Sequence[Array], always: bool = False) -> None:
        """Sometimes the regions that a block reads (whole buffers) and writes."""
        if always or self._rare(0.15):
            names = list(dict.fromkeys(one.name for one in read))
            arrays = {one.name: one for one in read}
            self.line(f"T.reads({', '.join(self.whole(arrays[name]) for name in names)})")
            self.line(f"T.writes({', '.join(written)})")

    def whole(self, array: Array) -> str:
        return array.at([f"0:{dim.text}" for dim in array.dims])

    def notes(self, array: Array) -> None:
        """Sometimes annotations of a block."""
        if self._rare(0.05) and len(array.dims) > 1 and array.name not in str(self.parameters):
            self.line('T.block_attr({"buffer_dim_align": [[0, 0, 8, 4]]})')
        elif self._rare(0.03):
            self.line('T.block_attr({"key": "text", "number": 3})')

    @contextmanager
    def block(self, name: str, iterators: Sequence[Iterator]) -> Iterable[Nest]:
        """A block in loops of its own."""
        made = self.nest(iterators)
        with self.under(*self.loops(made), f'with T.block("{name}"):'):
            self.axes(iterators, made)
            yield made

    @staticmethod
    def spatial(dims: Sequence[Dim], prefix: str = "v") -> list[Iterator]:
        return [Iterator(f"{prefix}{'ijkl'[place]}", dim) for place, dim in enumerate(dims)]

    def value(self, dtype: str, iterators: Sequence[Iterator], depth: int = 2) -> str:
        return self.formulas.value(dtype, iterators, depth)

    # Stages.

    def _stage(self, is_last: bool) -> None:
        kinds = [self._elementwise] * 6 + [self._reduction] * 4 + [self._rows, self._tiles] * 2
        if not self.gpu:
            kinds += [self._scan, self._opaque, self._loops, self._argmax, self._flat]
            kinds += [self._updated, self._while]
        self.formulas.read = []
        start, known = len(self.lines), [one.name for one in self.temporaries.values()]
        made = self.rng.choice(kinds)(is_last)
        text = "\n".join(one for one in self.lines[start:] if "T.reads(" not in one)
        self.used |= {name for name in known if f"{name}[" in text}
        self.formulas.arrays.append(made)

    def _elementwise(self, is_last: bool) -> Array:
        made = self.output(is_last, self.dims(), self.dtype())
        iterators = self.spatial(made.dims)
        value = self.value(made.dtype, iterators)
        element = made.at([one.name for one in iterators])
        with self.block(made.name, iterators):
            self.regions([element], self.formulas.read)
            self.notes(made)
            self.store(made, element, value, iterators)
        return made

    def store(self, made: Array, element: str, value: str, iterators: Sequence[Iterator]) -> None:
        """A store, sometimes with a variable or in branches."""
        chance = self.rng.random()
        if chance < 0.1 and made.dtype != "bool":
            self.line(f"x_1: T.{made.dtype} = {value}")
            self.line(f"{element} = x_1 + x_1" if self._rare(0.5) else f"{element} = x_1")
        elif chance < 0.2:
            condition = self.formulas.condition(iterators)
            with self.under(f"if {condition}:"):
                self.line(f"{element} = {value}")
            with self.under("else:"):
                self.line(f"{element} = {self.value(made.dtype, iterators, 1)}")
        elif chance < 0.27 and made.dtype != "bool":
            self.line(f"{element} = {value}")
            self.line(f"{element} += {self.value(made.dtype, iterators, 1)}")
        else:
            self.line(f"{element} = {value}")

    def _reduction(self, is_last: bool) -> Array:
        dtype = self.rng.choice((*FLOATS, "int32", "int64"))
        made = self.output(is_last, self.dims()[:2], dtype)
        spatial = self.spatial(made.dims)
        reduced = [
            Iterator(f"v{name}", self.dim(), "R") for name in "kr"[: self.rng.choice((1, 1, 2))]
        ]
        iterators = [*spatial, *reduced]
        if self._rare(0.1):
            self.rng.shuffle(iterators)
        element = made.at([one.name for one in spatial])
        first, update = self.rng.choice(
            (
                (f"T.{dtype}(0)", "{0} + {1}"),
                (f"T.{dtype}(0)", "{0} + {1}"),
                ("0", "{0} + {1}"),
                (f"T.{dtype}(-100)", "T.max({0}, {1})"),
                (f'T.min_value("{dtype}")', "T.max({0}, {1})"),
                (f"T.{dtype}(100)", "T.min({0}, {1})"),
            )
        )
        value = self.value(dtype, iterators)
        if self._rare(0.5):
            value = (
                f"{self.formulas.leaf(dtype, iterators)} * {self.formulas.leaf(dtype, iterators)}"
            )
        with self.block(made.name, iterators):
            self.regions([element], self.formulas.read)
            with self.under("with T.init():"):
                self.line(f"{element} = {first}")
            if update.startswith("{0} +") and self._rare(0.2):
                self.line(f"{element} += {value}")
            else:
                self.line(f"{element} = {update.format(element, value)}")
        return made

    def _argmax(self, is_last: bool) -> Array:
        """A tuple reduction: the position and the value of the largest element."""
        values = self.output(False, self.dims()[:1], "float32")
        made = self.output(is_last, values.dims, "int32")
        spatial = self.spatial(made.dims)
        reduced = Iterator("vk", Dim("4", 4), "R")
        at = [one.name for one in spatial]
        load = self.formulas.leaf("float32", [*spatial, reduced], exact=True)
        key = "vk" if self.index_dtype == "int32" else 'T.Cast("int32", vk)'
        with self.block(made.name, [*spatial, reduced]):
            with self.under("with T.init():"):
                self.line(f"{made.at(at)} = -1")
                self.line(f'{values.at(at)} = T.min_value("float32")')
            self.line(f"v_i: T.int32 = T.Select({values.at(at)} >= {load}, {made.at(at)}, {key})")
            self.line(
                f"v_v: T.float32 = T.Select({values.at(at)} >= {load}, {values.at(at)}, {load})"
            )
            self.line(f"{made.at(at)} = v_i")
            self.line(f"{values.at(at)} = v_v")
        self.formulas.arrays.append(values)
        return replace(made, is_exact=True)

    def _updated(self, is_last: bool) -> Array:
        """A reduction with a block of its own that initializes it."""
        made = self.output(is_last, self.dims()[:2], self.rng.choice(FLOATS))
        spatial = self.spatial(made.dims)
        iterators = [*spatial, Iterator("vk", self.dim(), "R")]
        element = made.at([one.name for one in spatial])
        with self.block(f"{made.name}_init", spatial):
            self.line(f"{element} = {self.formulas.constant(made.dtype)}")
        with self.block(made.name, iterators):
            self.line(f"{element} = {element} + {self.value(made.dtype, iterators, 1)}")
        return made

    def _scan(self, is_last: bool) -> Array:
        """Each element depends on the one before it."""
        made = self.output(is_last, self.dims()[:2], self.rng.choice((*FLOATS, "int32")))
        iterators = self.spatial(made.dims)
        iterators[0] = replace(iterators[0], name="vt", kind=self.rng.choice("OQ"))
        at = [one.name for one in iterators]
        value = self.value(made.dtype, iterators, 1)
        with self.block(made.name, iterators):
            with self.under("if vt == 0:"):
                self.line(f"{made.at(at)} = {value}")
            with self.under("else:"):
                before = made.at(["vt - 1", *at[1:]])
                half = "" if made.dtype == "int32" else f" * T.{made.dtype}(0.5)"
                self.line(f"{made.at(at)} = {before}{half} + {value}")
        return made

    def _rows(self, is_last: bool) -> Array:
        """Two blocks in a common loop, with a temporary between them."""
        made = self.output(is_last, self.dims()[:2], self.rng.choice((*FLOATS, "int32")))
        outer, inner = self.spatial(made.dims)[0], self.spatial(made.dims)[1:]
        within = self.rng.choice(("", "", "block", "pipeline")) if not self.gpu else ""
        scopes = (
            ("shared", "shared", "local") if self.gpu else ("global", "global", "local", "shared")
        )
        row: Array | None = (
            None if within else self.temporary(made.dims, made.dtype, self.rng.choice(scopes))
        )
        value = self.value(made.dtype, self.spatial(made.dims))
        read = list(self.formulas.read)
        kind = "blockIdx.x" if self.gpu else "parallel" if self._rare(0.1) else "serial"
        note = ""
        if within == "pipeline" and outer.dim.text == "1":
            within = "block"
        if within == "pipeline":
            kind, note = (
                "serial",
                ('{"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}'),
            )
        with self.under(self._loop(Loop("i", outer.dim, kind=kind, note=note))):
            if within:
                with self.under(f'with T.block("{made.name}_row"):'):
                    self.line(f"vo = T.axis.spatial({self.size(outer.dim)}, i)")
                    lead = ["vo:vo + 1", *[f"0:{dim.text}" for dim in made.dims[1:]]]
                    if within == "pipeline" or self._rare(0.3):
                        self.regions([made.at(lead)], read, always=True)
                    row = self.temporary(made.dims, made.dtype, "global", inside=True)
                    self._row(made, row, "vo", value, inner)
            else:
                assert row is not None
                self.used.add(row.name)
                self._row(made, row, "i", value, inner)
        return made

    def _row(
        self, made: Array, row: Array, outer: str, value: str, inner: Sequence[Iterator]
    ) -> None:
        """Fill the row of a temporary, and use it."""
        iterators = self.spatial(made.dims)
        element = [one.name for one in iterators]
        double = not self.gpu and self._rare(0.06)
        for target, text in ((row, value), (made, None)):
            loops = [Loop("jk"[place], one.dim) for place, one in enumerate(inner)]
            if self.gpu and loops:
                loops[0] = replace(loops[0], kind="threadIdx.x")
            elif loops and self._rare(0.2) and inner[0].dim.text == str(inner[0].dim.value):
                loops[0] = replace(loops[0], kind=self.rng.choice(("vectorized", "unroll")))
            given = Nest(tuple(loops), (outer, *[one.name for one in loops]))
            with self.under(*self.loops(given), f'with T.block("{target.name}"):'):
                self.axes(iterators, given)
                if target is row and double:
                    self.line('T.block_attr({"double_buffer_scope": 0})')
                if text is None:
                    index = list(element)
                    if inner and row.scope != "local" and self._rare(0.4):
                        index[1] = f"{inner[0].dim.text} - 1 - {index[1]}"
                    text = f"{row.at(index)} + {self.value(made.dtype, iterators, 1)}"
                self.line(f"{target.at(element)} = {text}")

    def _tiles(self, is_last: bool) -> Array:
        """A block of blocks, sometimes with views of the regions of a tile."""
        count, factor = self.rng.choice((1, 2, 3)), self.rng.choice((2, 4))
        total = Dim(str(count * factor), count * factor)
        dims = (total, *self.dims()[:1])
        made = self.output(is_last, dims, self.rng.choice((*FLOATS, "int32")))
        source = self.parameter(dims, made.dtype, is_exact=True)
        tile = f"vo * {factor}:vo * {factor} + {factor}"
        rest = [f"0:{dim.text}" for dim in dims[1:]]
        views = self._rare(0.5)
        kind = "blockIdx.x" if self.gpu else "parallel" if self._rare(0.1) else "serial"
        header = self._loop(Loop("io", Dim(str(count), count), kind=kind))
        inner = [Iterator("vi", Dim(str(factor), factor)), Iterator("vj", dims[1])]
        with self.under(header, f'with T.block("{made.name}_o"):'):
            self.line(f"vo = T.axis.spatial({self.size(Dim(str(count), count))}, io)")
            regions = [one.at([tile, *rest]) for one in (source, made)]
            if views or self._rare(0.3):
                self.line(f"T.reads({regions[0]})")
                self.line(f"T.writes({regions[1]})")
            names, at = [source.name, made.name], [f"vo * {factor} + vi", "vj"]
            if views:
                names, at = [f"{name}_v" for name in names], ["vi", "vj"]
                for name, region in zip(names, regions, strict=True):
                    self._view(name, region, (inner[0].dim, dims[1]), made.dtype)
            self._inner(names, at, made.dtype, inner)
        return made

    def _view(self, name: str, region: str, dims: Sequence[Dim], dtype: str) -> None:
        options = ""
        if self._rare(0.5):
            strides = [f"{name}_s{place}" for place in range(2)]
            if self._rare(0.5):
                for one in strides:
                    self.line(f"{one} = T.{self.index_dtype}()")
                options = f", strides=[{', '.join(strides)}]"
            else:
                options = f", strides=[{', '.join(repr(one) for one in strides)}]"
                options = options if self.index_dtype == "int32" else ""
        options += ", offset_factor=1"
        self.line(f'{name} = T.match_buffer({region}, {self.shape(dims)}, "{dtype}"{options})')

    def _inner(
        self, names: Sequence[str], at: Sequence[str], dtype: str, inner: Sequence[Iterator]
    ) -> None:
        """The blocks of a tile, or loops without them."""
        loads = [f"{name}[{', '.join(at)}]" for name in names]
        made = plain(inner)
        if self.gpu:
            first = replace(made.loops[0], kind="threadIdx.x")
            made = replace(made, loops=(first, *made.loops[1:]))
        if self._rare(0.3) and not self.gpu:
            by_name = {one.name: loop for one, loop in zip(inner, ("i", "j"), strict=True)}
            for name, loop in by_name.items():
                loads = [load.replace(name, loop) for load in loads]
            with self.under(*self.loops(made)):
                self.line(f"{loads[1]} = {loads[0]} + T.{dtype}(1)")
            return
        with self.under(*self.loops(made), f'with T.block("{names[1]}_i"):'):
            self.axes(inner, made)
            self.line(f"{loads[1]} = {loads[0]} + T.{dtype}(1)")

    def _opaque(self, is_last: bool) -> Array:
        """A block without iterators."""
        made = self.output(is_last, self.dims(), self.dtype())
        iterators = [replace(one, name=one.name[1:]) for one in self.spatial(made.dims)]
        value = self.value(made.dtype, iterators, 1)
        element = made.at([one.name for one in iterators])
        with self.under(f'with T.block("{made.name}"):'):
            if self._rare(0.6):
                self.regions([self.whole(made)], self.formulas.read, always=True)
            with self.under(*self.loops(plain(iterators))):
                self.line(f"{element} = {value}")
        return made

    def _loops(self, is_last: bool) -> Array:
        """Loops without a block."""
        made = self.output(is_last, self.dims(), self.dtype())
        iterators = [replace(one, name=one.name[1:]) for one in self.spatial(made.dims)]
        value = self.value(made.dtype, iterators)
        given = for_processor(self.rng, plain(iterators))
        with self.under(*self.loops(given)):
            self.store(made, made.at([one.name for one in iterators]), value, iterators)
        return made

    def _while(self, is_last: bool) -> Array:
        """A loop that ends by a condition on a counter in memory."""
        made = self.output(is_last, self.dims()[:1], self.rng.choice((*FLOATS, "int32")))
        iterators = self.spatial(made.dims)
        element = made.at([one.name for one in iterators])
        value = self.value(made.dtype, iterators, 1)
        with self.under(*self.loops(plain(iterators)), f'with T.block("{made.name}"):'):
            self.axes(iterators, plain(iterators))
            self.line('count = T.alloc_buffer((1,), "int32", scope="local")')
            self.line("count[0] = 0")
            self.line(f"{element} = {value}")
            with self.under(f"while count[0] < {self.rng.randint(0, 4)}:"):
                self.line(f"{element} = {element} + {self.formulas.constant(made.dtype)}")
                self.line("count[0] = count[0] + 1")
        return made

    def _flat(self, is_last: bool) -> Array:
        """Memory that is allocated by statements, or constant."""
        made = self.output(is_last, self.dims()[:1], self.rng.choice(("float32", "int32")))
        extent, name = made.dims[0], f"t{self.count}"
        value = self.value(made.dtype, [Iterator("i", extent)], 1)
        header = f'with T.block("{made.name}"):'
        data = [str(self.rng.randint(-4, 9)) for _ in range(4)]
        style = self.rng.choice(("allocate", "declare", "constant"))
        with self.under(header):
            if style == "constant":
                self.line(f'{name} = T.allocate_const([{", ".join(data)}], "{made.dtype}", [4])')
                self.line(f'{name}_1 = T.decl_buffer((4,), "{made.dtype}", data={name})')
                with self.under(self._loop(Loop("i", extent))):
                    self.line(f"{made.name}[i] = {value} + {name}_1[i % 4]")
                return made
            if style == "allocate":
                self.line(f'{name} = T.allocate([{self.size(extent)}], "{made.dtype}", "global")')
                self.line(
                    f'{name}_1 = T.decl_buffer(({self.size(extent)},), "{made.dtype}", data={name})'
                )
            else:
                self.line(f'{name}_1 = T.decl_buffer(({self.size(extent)},), "{made.dtype}")')
            back = f"{extent.text} - 1 - i" if extent.text == str(extent.value) else "i"
            with self.under(self._loop(Loop("i", extent))):
                self.line(f"{name}_1[i] = {value}")
            with self.under(self._loop(Loop("i", extent))):
                self.line(f"{made.name}[i] = {name}_1[{back}]")
        return made
