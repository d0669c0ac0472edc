"""Kernels with indices from memory and dynamic numbers of threads, on the emulated device.

Half of the cases have an index near a limit of a tensor or a type. numpy computes the expected
result, and whether an index is out of bounds, which the checked mode must report. Must not know
judging.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.peer.differential.program import Dim, Program, Value, shape

DTYPES = ("int32", "int32", "int32", "int64", "int64", "int8", "uint8", "int16", "uint32", "uint64")
# Operations on an index x of n elements, for te_sched and for numpy.
CHANGES = (
    *(("{x}", "I.astype('int64')"),) * 4,
    ("{x} + 1", "(I + I.dtype.type(1)).astype('int64')"),  # which wraps around
    ("{x} * 2 - {x}", "I.astype('int64')"),
    ("te.floormod({x}, {n})", "np.mod(I, {n})"),
    ("te.max(te.min({x}, {n} - 1), 0)", "np.clip(I, 0, {n} - 1)"),
)
EXTENTS = (1, 2, 5, 31, 32, 64, 100)


def generate_kernel(rng: random.Random, number: int) -> Case:
    """A case; the same for the same state of the generator."""
    return _Kernel(rng, number).case()


class _Kernel:
    """A table A, indices I, the computed tensor, and its threads."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng, self.number = rng, number
        self.sizes: dict[str, int] = {}
        self.n, self.m = self.dim("n"), self.dim("m")
        self.dtype = rng.choice(DTYPES)
        self.steps: list[str] = []

    def dim(self, name: str) -> Dim:
        """An extent, dynamic or constant."""
        value = self.rng.choice(EXTENTS)
        if self.rng.random() < 0.4:
            self.sizes[name] = value if self.rng.random() < 0.9 else 0
            return Dim(name, self.sizes[name])
        return Dim(str(value), value)

    def case(self) -> Case:
        """A program of some kind with a schedule, and the fault of its indices."""
        kind = self.rng.choice((self.gathered, self.gathered, self.columns, self.twice, self.added))
        table, index, result = kind()
        values = (table, index, result)
        program = Program(self.number, values, ("B",), tuple(self.steps), self.used(values))
        return Case("kernels", program, (), self.hostile(index), "cuda")

    def used(self, values: tuple[Value, ...]) -> dict[str, int]:
        """The sizes of shapes."""
        names = {dim.text for value in values for dim in value.dims}
        return {name: size for name, size in self.sizes.items() if name in names}

    def inputs(self, *dims: Dim, below: Dim | None = None) -> tuple[Value, Value]:
        """A and I."""
        below = below or dims[0]
        table = Value(("A",), dims, ("float32",))
        return table, Value(("I",), (self.m,), (self.dtype,), below=min(below.value, 100) or 1)

    def compute(self, dims: tuple[Dim, ...], body: str, numpy: str) -> Value:
        """B, in threads."""
        names = ", ".join("ij"[: len(dims)])
        line = f'B = te.compute({shape(dims)}, lambda {names}: {body}, name="B")'
        self.schedule(len(dims))
        return Value(("B",), dims, ("float32",), ("A", "I"), (line,), (numpy,))

    def index(self, text: str, n: Dim) -> tuple[str, str]:
        """An index, usually less than n, for te_sched and for numpy."""
        mine, numpy = self.rng.choice(CHANGES)
        return mine.format(x=text, n=n.text), numpy.format(n=n.value)

    def gathered(self) -> tuple[Value, Value, Value]:
        """B[i] = A[I[i]], possibly out of bounds."""
        index, numpy = self.index("I[i]", self.n)
        body, answer = f"A[{index}]", f"A[{numpy}]"
        if self.rng.random() < 0.2:
            body = f"te.if_then_else(te.all(0 <= I[i], I[i] < {self.n.text}), A[I[i]], 0.0)"
            inside = f"(I >= 0) & (I < {self.n.value})"
            answer = f"np.where({inside}, A[np.where({inside}, I, 0)], np.float32(0))"
            if self.n.value == 0:
                answer = f"np.zeros({self.m.value}, 'float32')"
        return *self.inputs(self.n), self.compute((self.m,), body, answer)

    def columns(self) -> tuple[Value, Value, Value]:
        """B[i, j] = A[i, I[j]]: an index out of bounds of its row is in another one."""
        index, numpy = self.index("I[j]", self.n)
        rows = Dim("7", 7)
        result = self.compute((rows, self.m), f"A[i, {index}]", f"A[:, {numpy}]")
        return *self.inputs(rows, self.n, below=self.n), result

    def twice(self) -> tuple[Value, Value, Value]:
        """B[i] = A[I[I[i]]]"""
        table, index = self.inputs(self.n)
        below = min(index.below, self.m.value or 1)
        index = Value(index.names, index.dims, index.dtypes, below=below)
        wide = "I.astype('int64')"
        return table, index, self.compute((self.m,), "A[I[I[i]]]", f"A[{wide}[{wide}]]")

    def added(self) -> tuple[Value, Value, Value]:
        """B[I[i]] += A[i], by atomic additions of a hand-written kernel."""
        table, index = self.inputs(self.m, below=self.n)
        less = self.rng.choice((0, 0, 3))
        line = f'B = te.extern({shape((self.n,))}, [A, I], adding({less}), "B", dtype="float32")'
        count = f"max(len(I) - {less}, 0)"
        n = self.n.value
        places = f"np.arange({n})[I[:{count}].astype('int64')]"
        numpy = f"np.bincount({places}, A[:{count}], {n}).astype('float32')"
        return table, index, Value(("B",), (self.n,), ("float32",), ("A", "I"), (line,), (numpy,))

    # -- schedules ---------------------------------------------------------------------------------

    def schedule(self, rank: int) -> None:
        """Threads, and caches of the table and of the indices."""
        rng, add = self.rng, self.steps.append
        add("x = s[B].fuse(*s[B].op.axis)" if rank > 1 else "x = s[B].op.axis[0]")
        if rng.random() < 0.3:
            add(f"x, v = s[B].split(x, factor={rng.choice((2, 4))})")
            add(rng.choice(("s[B].vectorize(v)", "s[B].unroll(v)", "pass")))
        if rng.random() < 0.2:
            add("v2, x = s[B].split(x, nparts=2)")
            add('s[B].bind(v2, te.thread_axis("vthread"))')
        add(f"bx, tx = s[B].split(x, factor={rng.choice((1, 8, 32, 64))})")
        add('s[B].bind(bx, te.thread_axis("blockIdx.x"))')
        add('s[B].bind(tx, te.thread_axis("threadIdx.x"))')
        caches: list[Callable[[], None]] = [
            lambda: self.cache("A", "local", "tx"),
            lambda: self.cache("I", "local", "tx"),
            lambda: self.cache("I", "shared", "bx"),
        ]
        if self.n.value <= 64 and "n" not in self.sizes:
            caches.append(lambda: self.cache("A", "shared", "bx"))
        if rng.random() < 0.5:
            rng.choice(caches)()

    def cache(self, name: str, scope: str, axis: str) -> None:
        """A cache of an input, computed by the threads that read it."""
        self.steps.append(f's{name} = s.cache_read({name}, "{scope}", [B])')
        self.steps.append(f"s[s{name}].compute_at(s[B], {axis})")

    # -- values ------------------------------------------------------------------------------------

    def hostile(self, index: Value) -> tuple[str, ...]:
        """Lines that change some of the indices."""
        if not self.m.value or self.rng.random() < 0.5:
            return ()
        n, bits = self.n.value, int(self.dtype.lstrip("uint"))
        low, high = (
            (0, 2**bits - 1) if self.dtype[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        near = (n - 1, n, n + 1, -1, -n, -n - 1, 2 * n, 0, low, high, high - 1, 1 << 20, 1 << 31)
        far = (1 << 32, (1 << 32) + 1, 1 << 33, -(1 << 32), 1 << 62)
        fits = [value for value in (*near, *far) if low <= value <= high]
        place = self.rng.randrange(self.m.value)
        return (f"arrays[1] = with_value(arrays[1], {place}, {self.rng.choice(fits)})",)
