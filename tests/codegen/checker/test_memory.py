"""Elements of memory for all threads: which are read, written and initialized."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.codegen.checker.memory import Index, Mask, TrackedMemory, elements_of
from te_sched.errors import BuildError

SHAPE = (1, 2, 4, 3)  # of threads: z, y, x, blocks
INNER = {"global": (), "shared": SHAPE[3:], "local": SHAPE}
SIZE = 6


def memory(scope: str, dtype: str = "float32") -> TrackedMemory:
    return TrackedMemory("m", dtype, scope, SIZE, INNER[scope])


def places() -> list[int | Index]:
    """An element for all threads, for each one along x, for each block, for each thread."""
    generator = np.random.default_rng(0)
    values = [generator.integers(0, SIZE, s) for s in ((1, 1, 4, 1), (1, 1, 1, 3), SHAPE)]
    rows = [np.arange(2, 5).reshape(-1, 1, 1, 1, 1), np.array([4, 0, 5]).reshape(-1, 1, 1, 1, 1)]
    return [3, *map(Index, [*values, np.full((1, 1, 1, 1), 2), *rows])]


def masks() -> list[Mask]:
    generator = np.random.default_rng(1)
    return [None, *(generator.random(s) < 0.5 for s in ((1, 1, 4, 1), (1, 1, 1, 3), SHAPE))]


def threads_of(place: int | Index, mask: Mask) -> list[tuple[tuple[int, ...], int]]:
    """Each thread that takes part (of a vector each lane) and its element."""
    values = elements_of(place)
    shape = np.broadcast_shapes(values.shape, SHAPE)
    values, where = np.broadcast_to(values, shape), np.broadcast_to(mask is None or mask, shape)
    return [(at, int(values[at])) for at in np.ndindex(shape) if where[at]]


def slot_of(scope: str, at: tuple[int, ...], element: int) -> tuple[int, ...]:
    z, y, x, block = at[-4:]
    return (element, *{"global": (), "shared": (block,), "local": (z, y, x, block)}[scope])


@pytest.mark.parametrize("mask", masks(), ids=lambda m: "all" if m is None else str(m.shape))
@pytest.mark.parametrize("place", places(), ids=lambda p: str(elements_of(p).shape))
@pytest.mark.parametrize("scope", INNER)
def test_accesses_are_those_of_each_thread(scope: str, place: Any, mask: Mask) -> None:
    """Values, and what is initialized, as with a loop over threads."""
    kept, threads = memory(scope), [*threads_of(5, None), *threads_of(place, mask)]
    shape = np.broadcast_shapes(elements_of(place).shape, SHAPE)
    value = elements_of(place) * 10.0  # equal where threads access one element
    expected = np.zeros((SIZE, *INNER[scope]), np.float32)
    for at, element in threads:
        expected[slot_of(scope, at, element)] = element * 10
    for written, where, values in ((5, None, 50.0), (place, mask, value)):
        kept.put("float32", written, where, values)
        kept.mark(written, where)
    np.testing.assert_array_equal(kept.data, expected)
    loaded = np.broadcast_to(kept.get("float32", place), shape)
    for at, element in threads_of(place, mask):
        assert loaded[at] == element * 10
    assert kept.unwritten(place, mask) is None
    slots = {slot_of(scope, at, element) for at, element in threads}
    every = Index(np.arange(SIZE).reshape(-1, 1, 1, 1, 1))
    missing = kept.unwritten(every, None)
    bad = np.broadcast_to(False if missing is None else missing, (SIZE, *SHAPE))
    for at in np.ndindex(bad.shape):
        assert bad[at] == (slot_of(scope, at, at[0]) not in slots)


def test_what_was_forgotten_is_not_initialized() -> None:
    kept, everywhere = memory("shared"), Index(np.arange(SIZE).reshape(1, 1, -1, 1))
    kept.mark(everywhere, None)
    assert kept.unwritten(everywhere, None) is None
    kept.forget()
    assert kept.unwritten(everywhere, None).all()  # type: ignore[union-attr]
    assert kept.unwritten(0, np.zeros(SHAPE, bool)) is None  # no thread reads
    kept.initialize()
    assert kept.is_complete


@pytest.mark.parametrize(("place", "exists"), [(0, True), (SIZE, False), (-1, False)])
def test_elements_that_exist(place: int, exists: bool) -> None:
    assert memory("global").has(place) is exists
    assert memory("global").has(Index(np.array([1, place]))) is exists


def test_views_are_of_types_of_one_size() -> None:
    kept = memory("global")
    kept.put("float32", 0, None, 1.0)
    assert kept.view("int32")[0] == 0x3F800000
    assert memory("global", "float16x2").itemsize == 2
    for dtype, other in (("float32", "float16"), ("float32", "bfloat16"), ("bfloat16", "int32")):
        with pytest.raises(BuildError, match=f"cannot access m, of {dtype}, as {other}"):
            memory("global", dtype).view(other)
