"""Draws programs of blocks as text: maps, reductions, windows, gathers and updates of eleven types.

Every index is in bounds and every element is written before it is read, by construction. Must not
know schedules or results.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
DTYPES = (*INTEGERS, *FLOATS)
EXTENTS = (1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16)
LARGEST = 300  # elements of a buffer
MOST = 1500  # instances of a block
HEAD = """from tvm.script import tir as T

@T.prim_func
def main({}):
"""


class Tensor(NamedTuple):
    """A buffer of a program."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Axis(NamedTuple):
    """An iterator of a block, with the values that it takes."""

    name: str
    extent: int
    is_reduction: bool = False


class Drawn:
    """A program that is being drawn."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(DTYPES)
        self.inputs: list[Tensor] = []
        self.stages: list[Tensor] = []
        self.read: set[str] = set()
        self.lines: list[str] = []

    def text(self) -> str:
        """The text of the program: what nothing reads is a parameter, the rest is allocated."""
        kept = [one for one in self.stages if one.name in self.read]
        if self.rng.random() < 0.1:  # a parameter that is read again
            kept = kept[1:]
        outputs = [one for one in self.stages if one not in kept]
        given = [_declared(one, ": T.Buffer({})") for one in (*self.inputs, *outputs)]
        if self.rng.random() < 0.3:
            self.rng.shuffle(given)
        lines = ['T.func_attr({"tir.noalias": True})'] if self.rng.random() < 0.5 else []
        lines += [_declared(one, " = T.alloc_buffer({})") for one in kept]
        body = "".join(f"    {line}\n" for line in [*lines, *self.lines])
        return HEAD.format(", ".join(given)) + body

    def draw(self, count: int) -> None:
        """Draw some stages."""
        for _ in range(count):
            kinds = (self._map, self._map, self._reduction, self._reduction, self._update)
            self.rng.choice(kinds)()

    # Stages

    def _map(self) -> None:
        shape = self._shape()
        axes = [Axis(f"v{n}", extent) for n, extent in enumerate(shape)]
        name = self._name()
        element = _element(name, self._own(axes))
        lines = [f"{element} = {self._value(axes, self.dtype)}"]
        if self.rng.random() < 0.1 and axes:
            other = self._value(axes, self.dtype)
            condition = self._condition(axes)
            lines = [f"if {condition}:", f"    {lines[0]}", "else:", f"    {element} = {other}"]
        self._block(name, axes, lines)
        self.stages.append(Tensor(name, shape, self.dtype))

    def _reduction(self) -> None:
        rng = self.rng
        shape = self._shape()
        axes = [Axis(f"v{n}", extent) for n, extent in enumerate(shape)]
        for number in range(rng.choice((1, 1, 1, 2))):
            most = MOST // max(1, prod(one.extent for one in axes))
            extents = [one for one in EXTENTS if one <= most] or [1]
            axes.append(Axis(f"k{number}", rng.choice(extents), True))
        name = self._name()
        element = _element(name, self._own(axes[: len(shape)]))
        value = self._value(axes, self.dtype)
        form, start = rng.choice(
            (
                ("{} + {}", "0"),
                ("{} + {}", "0"),
                ("{} * {}", "1"),
                ("T.max({}, {})", f'T.min_value("{self.dtype}")'),
                ("T.min({}, {})", f'T.max_value("{self.dtype}")'),
            )
        )
        start = start if start[0] == "T" else _constant(self.dtype, start)
        rng.shuffle(axes)
        update = f"{element} = {form.format(element, value)}"
        if rng.random() < 0.12:  # decomposed
            spatial = [one for one in axes if not one.is_reduction]
            self._block(f"{name}_init", spatial, [f"{element} = {start}"])
            self._block(name, axes, [update])
        else:
            self._block(name, axes, ["with T.init():", f"    {element} = {start}", update])
        self.stages.append(Tensor(name, shape, self.dtype))

    def _update(self) -> None:
        """Another block that changes a stage in place."""
        known = [one for one in self.stages if one.dtype == self.dtype]
        if not known:
            self._map()
            return
        tensor = self.rng.choice(known)
        axes = [Axis(f"v{n}", extent) for n, extent in enumerate(tensor.shape)]
        element = _element(tensor.name, [one.name for one in axes])
        value = self._value(axes, self.dtype, but=tensor.name)
        form = self.rng.choice(("{} + {}", "{} * {}", "T.max({}, {})"))
        name = f"{tensor.name}_update{len(self.lines)}"
        self._block(name, axes, [f"{element} = {form.format(element, value)}"])

    def _own(self, axes: Sequence[Axis]) -> list[str]:
        """The indices of what a block writes: its iterators, some of them reversed."""
        chance = self.rng.random() < 0.1
        return [f"{one.extent - 1} - {one.name}" if chance else one.name for one in axes]

    def _block(self, name: str, axes: Sequence[Axis], statements: Sequence[str]) -> None:
        """Loops around a block: one for each iterator, or fused, in parts, or reversed."""
        rng, loops, bindings, where = self.rng, [], {}, []
        todo = list(axes)
        rng.shuffle(todo) if rng.random() < 0.3 else None
        while todo:
            axis, loop = todo.pop(0), f"i{len(loops)}"
            kind = rng.random()
            if kind < 0.08 and todo and todo[0].is_reduction == axis.is_reduction:
                other = todo.pop(0)
                loops.append((loop, axis.extent * other.extent))
                bindings[axis] = f"{loop} // {other.extent}"
                bindings[other] = f"{loop} % {other.extent}"
            elif kind < 0.16:
                inner = rng.choice((1, 2, 3, 4))
                outer = -(-axis.extent // inner)
                loops += [(loop, outer), (f"i{len(loops) + 1}", inner)]
                bindings[axis] = f"{loop} * {inner} + i{len(loops) - 1}"
                if outer * inner != axis.extent:
                    where.append(f"{bindings[axis]} < {axis.extent}")
            elif kind < 0.2 and not axis.is_reduction:
                loops.append((loop, axis.extent))
                bindings[axis] = f"{axis.extent - 1} - {loop}"
            elif kind < 0.24:
                loops.append((loop, axis.extent + rng.choice((1, 3))))
                bindings[axis] = loop
                where.append(f"{loop} < {axis.extent}")
            else:
                loops.append((loop, axis.extent))
                bindings[axis] = loop
        kinds = {True: "reduce", False: "spatial"}
        lines = [
            f"{axis.name} = T.axis.{kinds[axis.is_reduction]}({axis.extent}, {bindings[axis]})"
            for axis in axes
        ]
        lines += [f"T.where({' and '.join(where)})"] if where else []
        if rng.random() < 0.85:
            names = ", ".join([loop for loop, _ in loops])
            extents = ", ".join([str(extent) for _, extent in loops])
            heads = [f"for {names} in T.grid({extents}):"] if loops else []
        else:
            heads = [f"for {loop} in T.{self._loop_kind()}({extent}):" for loop, extent in loops]
        depth = 0
        for head in heads:
            self.lines.append("    " * depth + head)
            depth += 1
        self.lines.append("    " * depth + f'with T.block("{name}"):')
        self.lines += ["    " * (depth + 1) + line for line in [*lines, *statements]]

    def _loop_kind(self) -> str:
        return self.rng.choice(("serial", "serial", "unroll"))

    # Values

    def _value(self, axes: Sequence[Axis], dtype: str, depth: int = 2, but: str = "") -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            if rng.random() < 0.12:
                return _constant(dtype, str(rng.choice((0, 1, 2, 3, 5))))
            if rng.random() < 0.05 and axes:
                return f'T.Cast("{dtype}", {rng.choice(axes).name})'
            return self._load(axes, dtype, but)
        a = self._value(axes, dtype, depth - 1, but)
        kind = rng.random()
        if kind < 0.12:
            return self._unary(a, dtype)
        if kind < 0.2 and axes:
            b = self._value(axes, dtype, depth - 1, but)
            word = rng.choice(("T.Select", "T.if_then_else"))
            return f"{word}({self._condition(axes)}, {a}, {b})"
        b = self._value(axes, dtype, depth - 1, but)
        if kind < 0.28:
            order = rng.choice(("<", "<=", ">", "==", "!="))
            return f"T.Select({a} {order} {b}, {b}, {_constant(dtype, '2')})"
        form = rng.choice(("({} + {})", "({} - {})", "{} * {}", "T.max({}, {})", "T.min({}, {})"))
        return form.format(a, b)

    def _unary(self, a: str, dtype: str) -> str:
        if dtype in FLOATS:
            forms = ["({}) / {two}", "T.abs({})", "({}) * {half}"]
            half = _constant(dtype, "0.5")
        else:
            forms = ["T.floordiv({}, {three})", "T.floormod({}, {three})"]
            forms += ["T.bitwise_and({}, {three})", "T.shift_right({}, {two})", "T.bitwise_not({})"]
            half = ""
        two, three = _constant(dtype, "2"), _constant(dtype, "3")
        return self.rng.choice(forms).format(a, two=two, three=three, half=half)

    def _condition(self, axes: Sequence[Axis]) -> str:
        axis = self.rng.choice(axes)
        order = self.rng.choice(("<", ">=", "==", "!="))
        return f"{axis.name} {order} {self.rng.randint(0, axis.extent)}"

    def _load(self, axes: Sequence[Axis], dtype: str, but: str) -> str:
        """A read of an earlier stage, or of an input, in the type."""
        rng = self.rng
        known = [one for one in (*self.stages, *self.stages, *self.inputs) if one.name != but]
        known = [one for one in known if not (one.dtype in FLOATS and dtype in INTEGERS)]
        if not known or rng.random() < 0.3:
            tensor = self._input(axes, dtype)
        else:
            tensor = known[max(rng.randrange(len(known)), rng.randrange(len(known)))]
        self.read.add(tensor.name)
        indices, guards = [], []
        free = list(axes)
        for size in tensor.shape:
            index, guard = self._index(size, free)
            indices.append(index)
            guards += guard
        if rng.random() < 0.04 and tensor.shape and axes:
            at = rng.randrange(len(indices))
            indices[at] = self._looked_up(tensor.shape[at], axes)
        load = _element(tensor.name, indices)
        if tensor.dtype != dtype:
            load = f'T.Cast("{dtype}", {load})'
        if guards:
            return f"T.if_then_else({' and '.join(guards)}, {load}, {_constant(dtype, '0')})"
        return load

    def _index(self, size: int, free: list[Axis]) -> tuple[str, list[str]]:
        """An index in bounds, and conditions under which it is."""
        rng = self.rng
        alike = [one for one in free if one.extent == size]
        if alike and rng.random() < 0.8:
            axis = rng.choice(alike)
            free.remove(axis)
            return (f"{size - 1} - {axis.name}" if rng.random() < 0.08 else axis.name), []
        if not free:
            return str(rng.randrange(size)), []
        axis = rng.choice(free)
        if rng.random() < 0.8:
            free.remove(axis)
        name, extent = axis.name, axis.extent
        choices = []
        if extent <= size:
            choices += [(name, []), (f"{name} + {size - extent}", [])]
            others = [one for one in free if one.extent + extent - 1 <= size]
            if others:
                choices += [(f"{name} + {rng.choice(others).name}", [])] * 3
            if 2 * extent <= size:
                choices.append((f"{name} * 2 + {rng.choice((0, 1))}", []))
        if extent > size:
            choices += [(f"{name} % {size}", []), (f"{name} // {-(-extent // size)}", [])]
            choices.append((f"T.min({name}, {size - 1})", []))
        low = rng.choice((0, 1, 2))
        high = size + low
        if extent > low:
            guards = [f"{low} <= {name}"] * (low > 0) + [f"{name} < {high}"] * (extent > high)
            choices.append((f"{name} - {low}" if low else name, guards))
        return rng.choice(choices) if choices else (str(rng.randrange(size)), [])

    def _looked_up(self, size: int, axes: Sequence[Axis]) -> str:
        """An index that an array tells."""
        axis = self.rng.choice(axes)
        name = f"I{len(self.inputs)}"
        self.inputs.append(Tensor(name, (axis.extent,), "int32"))
        return f"T.min(T.max({name}[{axis.name}], 0), {size - 1})"

    def _input(self, axes: Sequence[Axis], dtype: str) -> Tensor:
        rng = self.rng
        if dtype == self.dtype and rng.random() < 0.1:
            others = FLOATS if dtype in FLOATS else INTEGERS
            dtype = rng.choice(others if dtype == "float64" else INTEGERS) if axes else dtype
        extents = [one.extent for one in axes] or [rng.choice(EXTENTS)]
        count = min(len(extents), rng.choice((1, 2, 2, 3)))
        shape = rng.sample(extents, count)
        if rng.random() < 0.3:
            shape[rng.randrange(count)] += rng.choice((1, 2, 3))
        while prod(shape) > LARGEST:
            shape[shape.index(max(shape))] = 2
        tensor = Tensor(f"A{len(self.inputs)}", tuple(shape), dtype)
        self.inputs.append(tensor)
        return tensor

    def _shape(self) -> tuple[int, ...]:
        rng = self.rng
        if self.stages and rng.random() < 0.5:
            return rng.choice(self.stages).shape
        shape = [rng.choice(EXTENTS) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
        while prod(shape) > LARGEST:
            shape[shape.index(max(shape))] = rng.choice((1, 2, 3))
        return tuple(shape)

    def _name(self) -> str:
        return f"B{len(self.stages)}"


def _declared(tensor: Tensor, form: str) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return tensor.name + form.format(f'({shape},), "{tensor.dtype}"')


def _element(name: str, indices: Sequence[str]) -> str:
    return f"{name}[{', '.join(indices)}]"


def _constant(dtype: str, value: str) -> str:
    return f"T.{dtype}({value})"


def draw_program(rng: random.Random) -> str:
    """The text of a program of one to four stages."""
    drawn = Drawn(rng)
    drawn.draw(rng.choice((1, 2, 2, 3, 3, 4)))
    return drawn.text()
