"""Random modules of graphs, as TVMScript that te_sched and TVM read, with what numpy computes.

A value of a graph has a shape whose symbolic sizes are texts, and a function from the values of
variables to its array. What numpy rounds otherwise than compiled code is not `exact`, and only
exact values are compared with numbers, sorted, or rounded.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = {"n": 5, "m": 3}
Size = int | str
Env = dict[str, Any]
FLOATS = ("float32", "float32", "float32", "float16", "float64")
INTS = ("int32", "int64", "int8", "uint8")


@dataclass(frozen=True)
class Value:
    """A variable of a graph: a tensor, or a tuple with `fields`."""

    name: str
    shape: tuple[Size, ...] = ()
    dtype: str = ""
    exact: bool = True
    fields: tuple[Value, ...] | None = None

    @property
    def is_float(self) -> bool:
        """Whether elements are of floating point."""
        return self.dtype.startswith("float")

    @property
    def is_static(self) -> bool:
        """Whether all sizes are numbers."""
        return all(isinstance(one, int) for one in self.shape)


def number(size: Size) -> int:
    """The size in the calls of a campaign."""
    return int(eval(str(size), dict(SIZES)))


def numbers(shape: Sequence[Size]) -> tuple[int, ...]:
    """The sizes in the calls of a campaign."""
    return tuple(number(one) for one in shape)


def tuple_text(items: Sequence[Any]) -> str:
    """A tuple in Python."""
    return f"({', '.join(map(str, items))}{',' if len(items) == 1 else ''})"


def info_text(shape: Sequence[Size], dtype: str, quoted: bool = False) -> str:
    """The struct info of a tensor; sizes of a signature are quoted."""
    sizes = [f'"{one}"' if quoted and isinstance(one, str) else one for one in shape]
    return f'R.Tensor({tuple_text(sizes)}, "{dtype}")'


def info_of(value: Value, quoted: bool = False) -> str:
    """The struct info of a value."""
    if value.fields is not None:
        return f"R.Tuple({', '.join(info_of(one, quoted) for one in value.fields)})"
    return info_text(value.shape, value.dtype, quoted)


def random_array(seed: str, shape: Sequence[Size], dtype: str) -> Any:
    """Elements for a parameter or a constant: small multiples of 1/4, or small integers."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    sizes = numbers(shape)
    if dtype == "bool":
        return rng.integers(0, 2, sizes).astype(bool)
    if dtype.startswith("u"):
        return rng.integers(0, 6, sizes).astype(dtype)
    if dtype.startswith("int"):
        return rng.integers(-5, 6, sizes).astype(dtype)
    return (rng.integers(-8, 9, sizes) / 4).astype(dtype)


@dataclass
class Module:
    """A module under construction."""

    rng: random.Random
    functions: list[str] = field(default_factory=list)
    prim_funcs: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    packed: set[str] = field(default_factory=set)
    counter: int = 0


@dataclass
class Program:
    """A module as text, the arrays of its constants, what "main" is given, and its result."""

    text: str
    constants: dict[str, Any]
    given: list[Any]
    expected: Any
    is_exact: bool
    is_symbolic: bool


class Writer:
    """Writes the body of a function, and remembers how to compute it."""

    def __init__(self, module: Module, depth: int = 2) -> None:
        self.module, self.rng = module, module.rng
        self.lines: list[str] = []
        self.steps: list[Callable[[Env], None]] = []
        self.values: list[Value] = []
        self.depth = depth
        self.in_dataflow = False

    def write(self, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * self.depth + line)

    def fresh(self) -> str:
        """A new name."""
        self.module.counter += 1
        return f"v{self.module.counter}"

    def bind(
        self,
        text: str,
        shape: Sequence[Size],
        dtype: str,
        run: Callable[[Env], Any],
        exact: bool = True,
        fields: tuple[Value, ...] | None = None,
    ) -> Value:
        """Bind an expression to a new variable."""
        value = Value(self.fresh(), tuple(shape), dtype, exact, fields)
        self.write(f"{value.name} = {text}")

        def step(env: Env) -> None:
            found = run(env)
            if fields is None and isinstance(found, (np.ndarray, np.generic)):
                found = np.asarray(found).astype(dtype)
                assert found.shape == numbers(shape), (text, found.shape, shape)
            env[value.name] = found

        self.steps.append(step)
        self.values.append(value)
        return value

    def execute(self, env: Env) -> None:
        """Compute all variables."""
        for step in self.steps:
            step(env)

    def some(self, wanted: Callable[[Value], bool]) -> Value | None:
        """A recent tensor with a property."""
        found = [one for one in self.values if one.fields is None and wanted(one)]
        return self.rng.choice(found[-8:]) if found else None

    def constant(self, shape: Sequence[Size], dtype: str) -> Value:
        """A constant of numbers."""
        name = f"c{len(self.module.constants)}"
        array = random_array(f"{name}{shape}{dtype}", shape, dtype)
        self.module.constants[name] = array
        return Value(name, tuple(shape), dtype)

    def like(self, value: Value) -> Value:
        """A value of the same shape and type: a variable or a constant."""
        found = self.some(lambda one: one.shape == value.shape and one.dtype == value.dtype)
        if value.is_static and (found is None or self.rng.random() < 0.2):
            return self.with_array(self.constant(value.shape, value.dtype))
        return found or value

    def with_array(self, value: Value) -> Value:
        """Make a constant's array known to the steps."""
        array = self.module.constants[value.name]
        self.steps.append(lambda env: env.__setitem__(value.name, array))
        return value

    def scalar(self, dtype: str) -> tuple[str, Any]:
        """A number as an expression, and its value."""
        number = self.rng.randint(1, 4)
        if dtype.startswith("float"):
            array = np.asarray(number / 2, dtype)
            return f'R.const({number / 2}, "{dtype}")', array
        return f'R.const({number}, "{dtype}")', np.asarray(number, dtype)
