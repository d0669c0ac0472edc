"""Random programs of stores, conditions and loops, as text that is TVMScript and also Python.

`source` makes the text of a function, `outcome` executes a text in Python, `compiled` executes a
function after passes. What `assume` states is true of the arguments.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import te_sched
from te_sched import script

SIZE = 8
BUFFERS = ("A", "B", "C")
_LIMIT = 1 << 24
_HEAD = """
@T.prim_func
def f(A: T.Buffer(8, "int32"), B: T.Buffer(8, "int32"), C: T.Buffer(8, "int32"), n: T.int32):
"""


class TooLarge(Exception):
    """A value that a program computes might overflow."""


class _Array(list[int]):
    """An array that refuses large values, and indices that Python would count from the end."""

    def __getitem__(self, index: Any) -> Any:
        assert 0 <= index < SIZE
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        assert 0 <= index < SIZE
        if abs(value) > _LIMIT:
            raise TooLarge
        super().__setitem__(index, int(value))


class _Words:
    """The words of TVMScript that programs use, for execution in Python."""

    serial = parallel = unroll = vectorized = range
    int32 = int
    min = min
    max = max

    @staticmethod
    def evaluate(value: Any) -> None:
        """Nothing."""

    @staticmethod
    def assume(holds: Any) -> None:
        assert holds

    @staticmethod
    def if_then_else(condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b


class _Writer:
    """Writes a random function; `ranges` has the values of its variables."""

    def __init__(self, seed: int, kinds: Sequence[str]) -> None:
        self.kinds = kinds
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.ranges: dict[str, tuple[int, int]] = {"n": (0, SIZE)}

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        outside = dict(self.ranges)
        yield
        self.ranges = outside
        self.depth -= 1

    # -- expressions -------------------------------------------------------------

    def linear(self) -> tuple[str, int, int]:
        """An integer of variables, with its smallest and largest value."""
        rng = self.rng
        names = [name for name in self.ranges if name != "n"]
        if not names or rng.random() < 0.2:
            value = rng.randrange(SIZE)
            return str(value), value, value
        name = rng.choice([*names, *names, "n"])
        low, high = self.ranges[name]
        how = rng.randrange(7)
        if how < 3:
            return name, low, high
        if how == 3:
            shift = rng.randint(-2, 2)
            return f"{name} + {shift}", low + shift, high + shift
        if how == 4:
            return f"7 - {name}", 7 - high, 7 - low
        if how == 5:
            return f"{name} // 2", low // 2, high // 2
        other = rng.choice(names)
        least, most = self.ranges[other]
        return f"{name} * 2 + {other}", low * 2 + least, high * 2 + most

    def index(self) -> str:
        if self.rng.random() < 0.06:
            return f"({self.load()}) % 8"
        text, low, high = self.linear()
        return text if low >= 0 and high < SIZE else f"({text}) % 8"

    def load(self) -> str:
        return f"{self.rng.choice(BUFFERS)}[{self.plain_index()}]"

    def plain_index(self) -> str:
        text, low, high = self.linear()
        return text if low >= 0 and high < SIZE else f"({text}) % 8"

    def value(self) -> str:
        rng = self.rng
        how = rng.randrange(9)
        if how < 3:
            return str(rng.randrange(3))
        if how == 3:
            return self.linear()[0]
        if how < 6:
            return self.load()
        if how == 6:
            return f"{self.load()} + {rng.randint(-1, 2)}"
        if how == 7:
            return f"{self.load()} * {self.load()}"
        return f"T.max({self.load()}, {rng.randrange(3)})"

    def condition(self) -> str:
        rng = self.rng
        how = rng.randrange(8)
        if how < 3:
            sign = rng.choice(("==", "!=", "<", "<=", ">", ">="))
            return f"{self.linear()[0]} {sign} {self.linear()[0]}"
        if how < 6:
            sign = rng.choice(("==", "==", "!=", "<", ">="))
            return f"{self.load()} {sign} {rng.randrange(3)}"
        if how == 6:
            return f"({self.condition()}) {rng.choice(('and', 'or'))} ({self.condition()})"
        return f"{self.load()} == {self.linear()[0]}"

    # -- statements --------------------------------------------------------------

    def statements(self, room: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(room)

    def statement(self, room: int) -> None:
        how = self.rng.randrange(10)
        if room and how < 4:
            self.loop(room)
        elif room and how < 6:
            self.branch(room)
        elif room and how == 6:
            name = self.fresh("x")
            text, low, high = self.linear()
            with self.block_of_let(f"{name}: T.int32 = {text}"):
                self.ranges[name] = (low, high)
                self.statements(room - 1)
        else:
            self.line(f"{self.rng.choice(BUFFERS)}[{self.index()}] = {self.value()}")

    @contextmanager
    def block_of_let(self, head: str) -> Iterator[None]:
        self.line(head)
        outside = dict(self.ranges)
        yield
        self.ranges = outside

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def loop(self, room: int) -> None:
        rng, name = self.rng, self.fresh("i")
        begin = rng.choice((0, 0, 0, 1, 2))
        end = rng.choice((SIZE, SIZE, SIZE, 3, 4, 6))
        stop = "n" if rng.random() < 0.2 else str(end)
        high = SIZE - 1 if stop == "n" else end - 1
        with self.block(f"for {name} in T.{rng.choice(self.kinds)}({begin}, {stop}):"):
            self.ranges[name] = (begin, high)
            self.statements(room - 1)

    def branch(self, room: int) -> None:
        with self.block(f"if {self.condition()}:"):
            self.statements(room - 1)
        if self.rng.random() < 0.4:
            with self.block("else:"):
                self.statements(room - 1)


def source(seed: int, kinds: Sequence[str] = ("serial",)) -> str:
    """The text of a random function with loops of some kinds; parallel ones may have races."""
    writer = _Writer(seed, kinds)
    if writer.rng.random() < 0.5:
        bound = writer.rng.randrange(SIZE)
        with writer.block("for a in T.serial(8):"):
            writer.line(f"T.evaluate(T.assume(a < {bound} or A[a] == {min(bound, 2)}))")
    for _ in range(writer.rng.randint(1, 4)):
        writer.statement(3)
    return _HEAD + "\n".join(writer.lines)


def arguments(text: str, seed: int) -> tuple[list[list[int]], int]:
    """Buffers for which the assumptions of a text hold, and a number."""
    rng = random.Random(seed)
    buffers = [[rng.randrange(3) for _ in range(SIZE)] for _ in BUFFERS]
    if "T.assume" in text:
        bound = int(text.split("a < ")[1].split()[0])
        buffers[0][bound:] = [min(bound, 2)] * (SIZE - bound)
    return buffers, rng.randint(0, SIZE)


def outcome(text: str, buffers: list[list[int]], number: int) -> list[list[int]]:
    """The buffers after the execution of a text in Python; may raise TooLarge."""
    body = text.split("T.int32):\n", 1)[1]
    names: dict[str, Any] = {"T": _Words}
    exec(f"def f(A, B, C, n):\n{body}", names)
    arrays = [_Array(values) for values in buffers]
    names["f"](*arrays, number)
    return [list(values) for values in arrays]


def parsed(text: str) -> te_sched.IRModule:
    """The module of a text."""
    from_text = script.from_source("from te_sched.script import tir as T\n" + text)
    return te_sched.IRModule({"f": from_text})


def compiled(module: te_sched.IRModule, buffers: list[list[int]], number: int) -> list[list[int]]:
    """The buffers after the execution of a module's function by LLVM."""
    run = te_sched.build(module["f"], target="llvm")
    arrays = [te_sched.nd.array(np.array(values, "int32")) for values in buffers]
    run(*arrays, number)
    return [array.numpy().tolist() for array in arrays]
