"""Stores, reducers and sources of blocks with T.init()."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.expr import Var
from te_sched.tensorir.updates import (
    any_update_of,
    known_update_of,
    may_be_repeated,
    step_of,
    update_of,
)
from tests.tensorir.programs import function, program


class RefusedError(Exception):
    """The reason why a block has no update."""


def refused(*why: str) -> Exception:
    return RefusedError(" | ".join(why))


def block_of(value: str, start: str = "0.0", index: str = "vi") -> Any:
    """A block that reduces rows of A."""
    text = f"""
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[{index}] = {start}
        B[vi] = {value}
"""
    return program(function("A:8,8 B:8", text)).body.block.body.body.body.block


@pytest.mark.parametrize(
    ("value", "start", "kind", "source"),
    [
        ("B[vi] + A[vi, vk]", "0.0", "Add", "A[vi, vk]"),
        ("A[vi, vk] * 2.0 + B[vi]", "0.0", "Add", "A[vi, vk] * T.float32(2)"),
        ("B[vi] * A[vi, vk]", "1.0", "Mul", "A[vi, vk]"),
        ("T.max(B[vi], A[vi, vk])", "3.0", "Max", "A[vi, vk]"),
    ],
)
def test_updates(value: str, start: str, kind: str, source: str) -> None:
    update = update_of(block_of(value, start), refused)
    (result,) = update.reducer.result
    assert (type(result).__name__, [str(x) for x in update.sources]) == (kind, [source])
    assert [str(store.buffer.name) for store in update.stores] == ["B"]
    assert [float(x.value) for x in update.reducer.identity] == [float(start)]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (block_of("B[vi] + A[vi, vk]", "3.0"), r"its initial value is .*3.* initialize with 0"),
        (block_of("A[vi, vk] - B[vi]"), "its update is not a known commutative reduction"),
        (block_of("B[vi] + A[vi, vk]", index="7 - vi"), "updates different elements"),
        (block_of("B[vi]\n        A[vi, vk] = 1.0"), "A is stored without a variable|B is stored"),
        (block_of("B[vi] + A[vi, vk]\n        B[vi] = 1.0"), "is not a store for each result"),
    ],
)
def test_what_is_not_an_update(block: Any, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        update_of(block, refused)


def test_updates_that_begin_with_an_element_are_not_known() -> None:
    """Its comparison with 0 had no truth value."""
    assert known_update_of(block_of("B[vi] + A[vi, vk]", "A[vi, 0]")) is None


def test_any_initial_value() -> None:
    update = any_update_of(block_of("B[vi] + A[vi, vk]", "3.0"), refused)
    assert [str(x) for x in update.sources] == ["A[vi, vk]"]


def test_steps_of_updates_that_do_not_commute() -> None:
    step = step_of(block_of("A[vi, vk] - B[vi] * A[vi, vk] + T.Cast('float32', vk)"))
    assert step is not None
    (total,), (element, count) = step.lhs, step.rhs
    assert all(isinstance(x, Var) for x in (total, element, count))
    (result,) = step.result
    assert str(result).splitlines()[-1].count("input") == 3  # the element twice, and vk
    assert step_of(block_of("B[vi] + 1.0\n        B[vi] = 1.0")) is None


@pytest.mark.parametrize(
    ("value", "may"),
    [
        ("A[vi]", True),
        ("T.max(B[vi], A[vi])", True),
        ("T.min(A[vi], B[vi])", True),
        ("B[vi] + A[vi]", False),
        ("T.max(B[vi], B[vi] + A[vi])", False),
        ("T.max(A[vi], A[7 - vi])", True),
    ],
)
def test_instances_that_may_be_repeated(value: str, may: bool) -> None:
    text = f"""
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = {value}
"""
    block = program(function("A:8 B:8", text)).body.block.body.body.block
    assert may_be_repeated(block) == may
    assert not may_be_repeated(block_of("B[vi] + A[vi, vk]"))
