"""Random loops around a block: how they divide, join and order the block's iterators.

Must not know what a block computes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.peer.differential.formulas import Iterator
from tests.peer.differential.program import Dim

KINDS = {"S": "spatial", "R": "reduce", "O": "scan", "Q": "opaque"}
_NOTES = ('{"pragma_unroll_explicit": 1}', '{"key": "text"}', '{"unroll_max": T.int32(16)}')


@dataclass(frozen=True)
class Loop:
    """A loop from `start`; `kind` is the word of T, or the name of a thread axis."""

    name: str
    dim: Dim
    of: str = "S"  # the kind of iterators that depend on it
    kind: str = "serial"
    start: int = 0
    note: str = ""


@dataclass(frozen=True)
class Nest:
    """Loops from the outside in, the values of the iterators, and conditions."""

    loops: tuple[Loop, ...]
    values: tuple[str, ...]
    guards: tuple[str, ...] = ()


def plain(iterators: Sequence[Iterator]) -> Nest:
    """One loop for each iterator."""
    loops = [Loop(_name(place), one.dim, one.kind) for place, one in enumerate(iterators)]
    return Nest(tuple(loops), tuple([one.name for one in loops]))


def nest(rng: random.Random, iterators: Sequence[Iterator]) -> Nest:
    """Random loops of the iterators, in an order that keeps scans sequential."""
    loops: list[Loop] = []
    values: list[str] = []
    guards: list[str] = []
    for place, one in enumerate(iterators):
        style = rng.choice(("plain",) * 5 + ("split", "split", "offset", "reversed", "constant"))
        name, dim = _name(place), one.dim
        if style == "split" and dim.value > 1:
            factor = rng.choice((2, 3, 4))
            outer = _divided(dim, factor)
            loops += [Loop(f"{name}_0", outer, one.kind)]
            loops += [Loop(f"{name}_1", Dim(str(factor), factor), one.kind)]
            values.append(f"{name}_0 * {factor} + {name}_1")
            if dim.text != str(dim.value) or dim.value % factor:
                guards.append(f"{values[-1]} < {dim.text}")
        elif style == "constant" and dim.text == "1":
            values.append("0")
        elif style == "offset" and dim.text == str(dim.value):
            loops.append(Loop(name, dim, one.kind, start=rng.randint(1, 3)))
            values.append(f"{name} - {loops[-1].start}")
        elif style == "reversed" and one.kind == "S":
            loops.append(Loop(name, dim, one.kind))
            values.append(f"{dim.text} - 1 - {name}")
        else:
            loops.append(Loop(name, dim, one.kind))
            values.append(name)
    made = _fused(rng, Nest(tuple(loops), tuple(values), tuple(guards)))
    if rng.random() < 0.25 and all(one.of in "SR" for one in made.loops):
        made = replace(made, loops=tuple(rng.sample(made.loops, len(made.loops))))
    return made


def _fused(rng: random.Random, given: Nest) -> Nest:
    """The nest with two neighbors of constant extents as one loop."""
    for place, (a, b) in enumerate(zip(given.loops, given.loops[1:], strict=False)):
        dims = (a.dim, b.dim)
        if rng.random() > 0.12 or a.of != b.of or any(d.text != str(d.value) for d in dims):
            continue
        if a.start or b.start or any(f"{one.name}_" in " ".join(given.values) for one in (a, b)):
            continue
        name, extent = f"{a.name}_{b.name}_fused", a.dim.value * b.dim.value
        values = {a.name: f"{name} // {b.dim.value}", b.name: f"{name} % {b.dim.value}"}
        loop = Loop(name, Dim(str(extent), extent), a.of)
        return Nest(
            (*given.loops[:place], loop, *given.loops[place + 2 :]),
            tuple([_renamed(value, values) for value in given.values]),
            tuple([_renamed(guard, values) for guard in given.guards]),
        )
    return given


def _renamed(text: str, values: dict[str, str]) -> str:
    words = [f"({values[word]})" if word in values else word for word in text.split(" ")]
    return values[text] if text in values else " ".join(words)


def _divided(dim: Dim, factor: int) -> Dim:
    value = -(-dim.value // factor)
    constant = dim.text == str(dim.value)
    return Dim(str(value) if constant else f"({dim.text} + {factor - 1}) // {factor}", value)


def _name(place: int) -> str:
    return "ijkl"[place] if place < 4 else f"ax{place}"


def for_processor(rng: random.Random, given: Nest) -> Nest:
    """The nest with parallel, vectorized and unrolled loops, and annotations."""
    loops = list(given.loops)
    for place, loop in enumerate(loops):
        is_constant, chance = loop.dim.text == str(loop.dim.value), rng.random()
        if loop.of == "S" and place == 0 and chance < 0.15:
            loops[place] = replace(loop, kind="parallel")
        elif loop.of == "S" and place == len(loops) - 1 and is_constant and chance < 0.2:
            loops[place] = replace(loop, kind="vectorized")
        elif is_constant and loop.dim.value <= 8 and chance < 0.1:
            loops[place] = replace(loop, kind="unroll")
        elif chance > 0.95:
            loops[place] = replace(loop, note=rng.choice(_NOTES))
    return replace(given, loops=tuple(loops))


def for_threads(rng: random.Random, given: Nest) -> Nest:
    """The nest with loops bound to blocks and threads."""
    axes = ["blockIdx.x", "threadIdx.x", rng.choice(("vthread", "blockIdx.y", "threadIdx.y"))]
    if rng.random() < 0.3:
        axes = axes[1:]
    loops = []
    for loop in given.loops:
        is_constant = loop.dim.text == str(loop.dim.value)
        if loop.of == "S" and axes and (is_constant or axes[0].startswith("blockIdx")):
            values = [_moved(value, loop) for value in given.values]
            given = replace(given, values=tuple(values))
            loop = replace(loop, kind=axes.pop(0), start=0)
        loops.append(loop)
    return replace(given, loops=tuple(loops))


def _moved(value: str, loop: Loop) -> str:
    """A value in a loop that starts at 0 instead."""
    return loop.name if loop.start and value == f"{loop.name} - {loop.start}" else value
