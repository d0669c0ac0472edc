"""Schedules of programs, and whether they compute what the programs compute."""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from te_sched import tir
from te_sched.ir import structural_equal
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN


def scheduled(text: str) -> Any:
    """A schedule of a program."""
    return tir.Schedule(from_source(GIVEN + text))


def loops(sch: Any, name: str) -> list[Any]:
    """The loops of a block."""
    found: list[Any] = sch.get_loops(sch.get_block(name))
    return found


def check_same(sch: Any, text: str) -> None:
    """The program computes what the text computes, and its trace makes it."""
    func = from_source(GIVEN + text)
    sizes = [tuple(map(int, one.shape)) for one in func.buffer_map.values()]
    data = [np.random.default_rng(0).random(size, "float32") for size in sizes]
    results = []
    for one in (func, sch.mod):
        arrays = [te_sched.nd.array(value) for value in data]
        te_sched.build(one, target="llvm")(*arrays)
        results.append([array.numpy() for array in arrays])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    again = scheduled(text)
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)
    assert str(again.trace) == str(sch.trace)
