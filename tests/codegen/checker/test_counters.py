"""Passes through banks, and sectors of global memory."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from te_sched.codegen.checker import check_program, counters
from te_sched.codegen.checker.machine import Site
from te_sched.codegen.checker.memory import Index, TrackedMemory
from tests.codegen.checker import kernels as k


def counter(report, does, buffer):
    return next(
        one for one in report.counters["main_kernel"] if (one.does, one.buffer) == (does, buffer)
    )


@pytest.mark.parametrize("stride", [1, 2, 8, 33])
def test_bank_conflicts(stride):
    def build(ib, A, C, tx):
        s = ib.allocate("float32", (33 * 32,), "s", scope="shared")
        s[tx * stride] = A[tx]
        C[tx] = s[tx * stride]

    module = k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32)
    report = check_program(module, [np.ones(32, np.float32), np.ones(32, np.float32)])
    found = counter(report, "write", "s")
    assert report.ok
    assert (found.requests, found.taken, found.ideal) == (1, {33: 1}.get(stride, stride), 1)


@pytest.mark.parametrize(("stride", "sectors"), [(0, 1), (1, 4), (2, 8), (8, 32), (100, 32)])
def test_global_sectors(stride, sectors):
    def build(ib, A, C, tx):
        C[tx] = A[tx * stride]

    module = k.program(build, [k.array("A", 3200), k.array("C", 32)], tx=32)
    report = check_program(module, [np.ones(3200, np.float32), np.ones(32, np.float32)])
    found = counter(report, "read", "A")
    assert (found.taken, found.ideal) == (sectors, 4 if stride else 1)


def by_hand(scope: str, size: int, lanes: list[int | None]) -> tuple[int, int]:
    """Passes or sectors of one request of a warp, of the elements of its lanes: taken and ideal."""
    if scope == "global":
        elements = {element for element in lanes if element is not None}
        sectors = {element * size // 32 for element in elements}
        return len(sectors), math.ceil(len(elements) * size / 32)
    words_each = max(1, size // 4)
    each, taken, ideal = 32 // words_each, 0, 0
    for start in range(0, 32, each):  # wide elements go in halves of the warp
        group = [element for element in lanes[start : start + each] if element is not None]
        words = {element * size // 4 + k for element in group for k in range(words_each)}
        banks = Counter(word % 32 for word in words)
        taken += max(banks.values(), default=0)
        ideal += math.ceil(len(words) / 32)
    return taken, ideal


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
@pytest.mark.parametrize("scope", ["shared", "global"])
def test_random_requests(scope: str, dtype: str) -> None:
    generator, size = np.random.default_rng(0), np.dtype(dtype).itemsize
    for most in (4, 40, 600):
        machine, site = k.state((48, 1, 1)), Site(0, "m", "m[i]", "read")  # a warp and a half
        memory = TrackedMemory(
            "m", dtype, scope, 600, machine.space.shape[3:] * (scope != "global")
        )
        values, mask = generator.integers(0, most, 48), generator.random(48) < 0.8
        place, where = Index(values.reshape(1, 1, 48, 1)), mask.reshape(1, 1, 48, 1)
        counters.count(machine, site, memory, place, where)
        lanes = [int(v) if m else None for v, m in zip(values, mask, strict=True)] + [None] * 16
        warps = [by_hand(scope, size, lanes[start : start + 32]) for start in (0, 32)]
        (found,) = machine.report.counters["main_kernel"]
        assert (found.requests, found.executions) == (2, 1)
        assert (found.taken, found.ideal) == tuple(map(sum, zip(*warps, strict=True)))


def test_some_executions_are_looked_at() -> None:
    """The 1st, 2nd, 4th and 8th of ten, also where all iterations of a loop are one access."""
    rows = np.arange(10).reshape(10, 1, 1, 1, 1) * np.arange(32).reshape(1, 1, 32, 1)
    totals = []
    for at_once in (False, True):
        machine, site = k.state(), Site(0, "m", "m[i]", "read")
        memory = TrackedMemory("m", "float32", "global", 320, ())
        if at_once:
            counters.count(machine, site, memory, Index(rows), None, (10,))
        else:
            for row in rows:
                counters.count(machine, site, memory, Index(row), None)
        totals += machine.report.counters["main_kernel"]
    assert totals[0] == totals[1]
    assert (totals[0].executions, totals[0].requests) == (10, 4)
    assert totals[0].taken == sum(by_hand("global", 4, list(rows[n].flat))[0] for n in (0, 1, 3, 7))
