"""Cases of kind "sizes": programs with dynamic extents, lengths of splits, bounds of reductions and
strides, and calls with 0, negative and extreme numbers.

The result is numpy's or a CallError; calls with `plain` sizes must succeed. The `given` lines end
with that of `build`, and `calls` make `arrays` and `expected`, which numpy computes. Must not know
judging.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.peer.differential.program import Program, Value

OPTIONS = ("", "", "", ", sanitize=True", ", verify=False")
_PLAIN = (1, 2, 3, 4, 7, 10)
_LIMITS = {"int32": 2**31, "int64": 2**63}


def generate_sizes(rng: random.Random, number: int) -> Case:
    """A case; the same for the same state of `rng`."""
    return _Maker(rng, number).run()


class _Maker:
    """Writes the lines of one case."""

    def __init__(self, rng: random.Random, number: int) -> None:
        self.rng, self.number = rng, number
        self.dtype = rng.choice(("int32", "int32", "int64"))
        self.hostile = rng.random() < 0.7
        self.target = "llvm"
        self.told: dict[str, int] = {}  # numbers among the arguments
        self.lines: list[str] = []
        self.steps: list[str] = []
        self.needs: list[str] = []  # conditions of plain sizes
        self.options = rng.choice(OPTIONS)

    def run(self) -> Case:
        shapes: list[Callable[[], tuple[str, str, list[str]]]] = [
            *(self.elementwise, self.elementwise, self.reduction, self.reduction),
            *(self.computed_shape, self.temporary, self.strided, self.scanned),
        ]
        arguments, expected, arrays = self.rng.choice(shapes)()
        values = [*self.told.values()]
        is_plain = all(0 < value < 100 for value in values)
        plain = " and ".join([str(is_plain), *self.needs])
        names = ", ".join([*self.told, arguments])
        option = self.options if self.target == "llvm" else ""
        build = f'function = te_sched.build(s, args, target="{self.target}"{option})'
        calls = (
            *(f"{name} = {value}" for name, value in self.told.items()),
            f"plain = {plain}",
            f"arrays = [{', '.join([*self.told, *arrays])}]",
            f"expected = lambda: {expected}",
        )
        value = Value(("B",), (), ("float32",), lines=tuple(self.lines))
        program = Program(self.number, (value,), ("B",), tuple(self.steps))
        given = (f"args = [{names}]", build)
        return Case("sizes", program, given, calls, self.target)

    def tell(self, name: str, is_near: bool = True) -> str:
        """A dynamic number; `is_near` its limit if no loop depends on it."""
        limit = _LIMITS[self.dtype]
        self.lines.append(f'{name} = te.var("{name}", "{self.dtype}")')
        extreme = [0, 0, -1, -self.rng.randint(2, 9), -limit, limit, 2 * limit + 3]
        extreme += [limit - 1, limit - 2, limit - 5] if is_near else []
        is_hostile = self.hostile and self.rng.random() < 0.6
        self.told[name] = self.rng.choice(extreme if is_hostile else _PLAIN)
        return name

    def length(self, is_near: bool = False) -> str:
        """The length of a loop, computed from one or two dynamic numbers."""
        text = self.tell(f"f{len(self.told)}", is_near)
        if self.rng.random() < 0.4:
            second = self.tell(f"f{len(self.told)}", is_near)
            form = self.rng.choice(("{} * {}", "{} - {}", "te.max({}, {})"))
            text = form.format(text, second)
            self.needs.append(f"{text.replace('te.', '')} >= 1")
        return text

    def extent(self) -> tuple[str, int]:
        """The extent of an array, and its value."""
        self.lines.append(f'n = te.var("n", "{self.dtype}")')
        return "n", 33 if self.hostile else self.rng.choice((0, 1, 5, 10))

    def split(self, stage: str, axis: str, is_near: bool = False) -> None:
        """One or two splits, perhaps fused again."""
        kind = self.rng.choice(("factor", "nparts"))
        self.steps.append(f"o, i = s[{stage}].split({axis}, {kind}={self.length(is_near)})")
        again = self.rng.random()
        if again < 0.2:
            self.steps.append(f"o = s[{stage}].fuse(o, i)")
        elif again < 0.4:
            self.steps.append(f"o, j = s[{stage}].split(o, factor={self.length()})")
        elif again < 0.5:
            self.steps.append(f"s[{stage}].reorder(i, o)")

    def elementwise(self) -> tuple[str, str, list[str]]:
        """B = A + 1, perhaps with a stage attached to one of its loops or thread axes."""
        n, size = self.extent()
        by_way = self.rng.random() < 0.4
        self.lines += [
            f'A = te.placeholder(({n},), name="A")',
            f'T = te.compute(({n},), lambda i: A[i] + 1, name="T")',
            f'B = te.compute(({n},), lambda i: T[i] * 2, name="B")',
        ]
        self.split("B", "B.op.axis[0]", is_near=True)
        if self.rng.random() < 0.2 and len(self.steps) == 1:
            self.target = "cuda"
            self.steps.append('s[B].bind(o, te.thread_axis("blockIdx.x"))')
            self.steps.append('s[B].bind(i, te.thread_axis("threadIdx.x"))')
            self.steps.append("s[T].compute_inline()")
        elif by_way:
            self.steps.append("s[T].compute_at(s[B], o)")
        elif self.rng.random() < 0.3:
            self.steps.append("s[B].parallel(o)")
        elif self.rng.random() < 0.3:
            self.steps.append('s.cache_write(B, "global")')
        return "A, B", "(arrays[-2] + 1) * 2", [f"framed({size}, 1)", f"framed({size})"]

    def reduction(self) -> tuple[str, str, list[str]]:
        """A sum or maximum over a part of each row."""
        self.options = self.options.replace(", verify=False", "")  # it would read out of bounds
        low = self.tell("lo") if self.rng.random() < 0.5 else "0"
        high = self.tell("hi")
        what = self.rng.choice(("sum", "max"))
        self.lines += [
            'A = te.placeholder((4, 12), name="A")',
            f'k = te.reduce_axis(({low}, {high}), "k")',
            f'B = te.compute((4,), lambda i: te.{what}(A[i, k], axis=k), name="B")',
        ]
        if self.rng.random() < 0.7:
            self.split("B", "k")
            if len(self.steps) == 1 and self.rng.random() < 0.4:
                self.steps.append(f"s.rfactor(B, {self.rng.choice('oi')})")
        self.needs.append(f"0 <= {low} < {high} <= 12")
        rows = f"rows(arrays[-2], {low}, {high}).{what}(axis=1)"
        return "A, B", rows, ["framed((4, 12), 1)", "framed(4)"]

    def computed_shape(self) -> tuple[str, str, list[str]]:
        """A result whose shape is computed from dynamic numbers."""
        n, m = self.tell("n"), self.tell("m")
        form = self.rng.choice(("{} * {}", "{} - {}", "{} + {}", "{} // {}", "{} % {}"))
        shape = form.format(n, m)
        self.lines.append(f'B = te.compute(({shape},), lambda i: i * 1.0, name="B")')
        if self.rng.random() < 0.5:
            self.split("B", "B.op.axis[0]")
        self.needs.append(f"{shape} >= 0")
        expected = f"np.arange(count({shape}), dtype='float32')"
        return "B", expected, [f"framed(few(lambda: {shape}))"]

    def temporary(self) -> tuple[str, str, list[str]]:
        """An intermediate stage with extents computed from dynamic numbers, read as a whole."""
        n, m = self.tell("n", False), self.tell("m", False)
        if self.hostile and self.rng.random() < 0.2:  # whose product the type does not hold
            self.told[n] = self.told[m] = round(_LIMITS[self.dtype] ** 0.5) + 1
        shape = self.rng.choice(("{} * {}", "{} - {}", "{} + {}", "{} // {}")).format(n, m)
        self.lines += [
            f'T = te.compute(({shape},), lambda i: i * 1.0, name="T")',
            f'k = te.reduce_axis((0, {shape}), "k")',
            'B = te.compute((2,), lambda i: te.sum(T[k], axis=k), name="B")',
        ]
        if self.rng.random() < 0.5:
            self.split("T", "T.op.axis[0]")
        self.needs.append(f"{shape} >= 0")
        expected = f"np.full(2, np.arange(count({shape})).sum(), 'float32')"
        return "B", expected, ["framed(2)"]

    def strided(self) -> tuple[str, str, list[str]]:
        """An input with a dynamic stride."""
        n, size = self.extent()
        step = self.tell("step")
        self.lines += [
            f'A = te.placeholder(({n},), name="A")',
            f'B = te.compute(({n},), lambda i: A[i] * 2, name="B")',
            f'X = tir.decl_buffer(({n},), "float32", "X", strides=[{step}])',
        ]
        self.split("B", "B.op.axis[0]")
        self.options += ", binds={A: X}"
        have = self.rng.choice((1, 2, 3))
        self.needs.append(f"{step} == {have if size else 1}")
        return (
            "X, B",
            "arrays[-2] * 2",
            [f"framed({size} * {have}, 1)[::{have}]", f"framed({size})"],
        )

    def scanned(self) -> tuple[str, str, list[str]]:
        """Cumulative sums, over a possibly dynamic number of steps."""
        m = self.tell("m")
        self.lines += [
            f'A = te.placeholder(({m}, 3), name="A")',
            f'P = te.placeholder(({m}, 3), name="P")',
            'I = te.compute((1, 3), lambda _, j: A[0, j], name="I")',
            f'U = te.compute(({m}, 3), lambda t, j: P[t - 1, j] + A[t, j], name="U")',
            "B = te.scan(I, U, P, inputs=[A])",
        ]
        shape = f"(few(lambda: {m}), 3)"
        return "A, B", "arrays[-2].cumsum(axis=0)", [f"framed({shape}, 1)", f"framed({shape})"]
