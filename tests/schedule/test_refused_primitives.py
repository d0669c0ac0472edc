"""A refused primitive changes nothing: every primitive, with random arguments, on random schedules.

What is compared is the whole state of the schedule: stages, groups, maps, axes, marks, the trace.
"""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import te
from te_sched.errors import ScheduleError, TeSchedError
from te_sched.ir.expr import IterVar
from te_sched.schedule import Schedule
from te_sched.schedule.stage import Stage
from te_sched.trace.drafts import Draft
from tests.schedule import programs


def primitives(kind: type) -> list[str]:
    """The names of the primitives of a class."""
    return [name for name, one in inspect.getmembers(kind) if hasattr(one, "declared")]


def ragged() -> Any:
    """B sums as many elements of each row as L says, which is computed by a reduction."""
    M = te.placeholder((8, 4), "int32", name="M")
    A = te.placeholder((8, 99), name="A")
    q = te.reduce_axis((0, 4), "q")
    L = te.compute((8,), lambda i: te.sum(M[i, q], axis=q), name="L")

    def row(i: Any) -> Any:
        k = te.reduce_axis((0, L[i]), "k")
        return te.sum(A[i, k], axis=k)

    return te.create_schedule(te.compute((8,), row, name="B").op)


def fails(*indices: Any) -> Any:
    raise ValueError("the user's own")


SCHEDULES: list[Callable[[], Schedule]] = [
    *[lambda make=make: make().s for make in (programs.chain, programs.product, programs.pair)],
    lambda: programs.scan().s,
    ragged,
]
HOSTILE = [
    *(None, 0, -1, 3, 4, 2**31, 2**63, 2.5, float("nan"), True, "shared", "nowhere", "", "unroll"),
    *((), [], {}, {1}, object(), fails, lambda *i: list(reversed(i)), lambda *i: [0] * len(i)),
    *(te.var("n"), te.const(0), te.var("x", "float32"), np.zeros(3), np.int64(4), "unrol"),
    *(te.thread_axis("threadIdx.x"), te.thread_axis((0, 4), "vthread"), te.placeholder((3,))),
]


TENSORS = ("tensor", "readers", "outputs", "inputs")
AXES = ("axis", "args", "var", "ivar", "x_parent", "y_parent", "scope_of_parent")


def arguments(rng: random.Random, s: Schedule, owner: Any, method: Any) -> list[Any]:
    """Stages, tensors and axes where they belong or elsewhere, and what no primitive can use."""
    given = []
    for name in inspect.signature(method).parameters:
        stage = owner if owner in s.stages and rng.random() < 0.7 else rng.choice(s.stages)
        axes = [*stage.leaf_iter_vars, *stage.all_iter_vars, None]
        if rng.random() < 0.15:
            given.append(rng.choice(HOSTILE))
        elif name in TENSORS:
            given.append(stage.op.output(0))
        elif name in AXES or (name == "parent" and method.__name__ == "split"):
            given += rng.choices(axes, k=2 if name == "args" else 1)
        elif name in ("parent", "scope") and owner in s.stages:
            given.append(stage if name == "parent" else rng.choice([*axes, "shared"]))
        else:
            given.append(rng.choice([2, 4, "local", rng.choice(HOSTILE)]))
    return given


@pytest.mark.parametrize("seed", range(24))
def test_random_arguments(seed: int) -> None:
    rng = random.Random(seed)
    s = SCHEDULES[seed % len(SCHEDULES)]()
    refused = 0
    for _ in range(150):
        owner = s if rng.random() < 0.2 else rng.choice([*s.stages, *s.groups])
        name = rng.choice(primitives(Schedule if owner is s else Stage))
        given = arguments(rng, s, owner, getattr(owner, name))
        before, text = programs.snapshot(s), str(s.trace)
        with warnings.catch_warnings():
            warnings.simplefilter(rng.choice(("error", "ignore")))
            try:
                getattr(owner, name)(*given)
            except (TeSchedError, TypeError, ValueError, UserWarning):
                refused += 1
                assert same(before, programs.snapshot(s)), (name, given)
                assert str(s.trace) == text
    assert refused > 50


class _NotCommitted(Exception):
    """Raised in place of a commit."""


@pytest.mark.parametrize("seed", range(8))
def test_nothing_changes_before_the_commit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    s = SCHEDULES[seed % len(SCHEDULES)]()

    def refuse(*_: Any) -> None:
        raise _NotCommitted

    reached = 0
    for _ in range(150):
        owner = s if rng.random() < 0.2 else rng.choice([*s.stages, *s.groups])
        name = rng.choice(primitives(Schedule if owner is s else Stage))
        given = arguments(rng, s, owner, getattr(owner, name))
        before, text = programs.snapshot(s), str(s.trace)
        is_committed = rng.random() < 0.3
        with warnings.catch_warnings(), monkeypatch.context() as patch:
            warnings.simplefilter("ignore")
            if not is_committed:
                patch.setattr(Draft, "commit", refuse)
            try:
                getattr(owner, name)(*given)
            except (TeSchedError, TypeError, ValueError):
                continue
            except _NotCommitted:
                reached += 1
                assert same(before, programs.snapshot(s)), (name, given)
                assert str(s.trace) == text
    assert reached > 10


def test_every_method_of_the_primitives_is_declared() -> None:
    kinds = [
        kind
        for kind in (*Stage.__mro__, *Schedule.__mro__)
        if kind.__module__.startswith("te_sched.schedule.primitives")
    ]
    names = [name for kind in kinds for name in vars(kind) if name[0] != "_"]
    assert sorted(names) == sorted(primitives(Stage) + primitives(Schedule))


def same(a: list[Any], b: list[Any]) -> bool:
    """Whether two snapshots show the same; expressions count by identity."""
    return len(a) == len(b) and all(x is y or _same(x, y) for x, y in zip(a, b, strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(x is y or _same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and isinstance(a, int | str | frozenset) and a == b


def split_by_four(s: Schedule, name: str) -> tuple[Any, IterVar]:
    """A tensor whose first axis is split, and the inner axis."""
    stage = next(one for one in s.stages if one.op.name == name)
    return stage.op.output(0), stage.split(stage.op.axis[0], factor=4)[1]


def test_cache_write_of_what_an_extent_reads() -> None:
    s = ragged()
    lengths, _ = split_by_four(s, "L")
    before = programs.snapshot(s)
    with pytest.raises(
        ScheduleError, match=r"cannot replace tensor L: L\[i\] is the extent of a reduction axis"
    ):
        s.cache_write(lengths, "local")
    assert same(before, programs.snapshot(s))


def test_rfactor_of_what_an_extent_reads() -> None:
    s = ragged()
    lengths, _ = split_by_four(s, "L")
    before = programs.snapshot(s)
    with pytest.raises(
        ScheduleError, match=r"cannot replace tensor L: L\[i\] is the extent of a reduction axis"
    ):
        s.rfactor(lengths, lengths.op.reduce_axis[0])
    assert same(before, programs.snapshot(s))


def test_rfactor_rejects_an_extent_that_differs_from_element_to_element() -> None:
    s = ragged()
    total = s.outputs[0].output(0)
    outer, inner = s[total].split(total.op.reduce_axis[0], factor=4)
    with pytest.raises(
        ScheduleError, match=r"axis k.outer .* its extent .*L\[i\].* differs from element"
    ):
        s.rfactor(total, outer)
    assert s.rfactor(total, inner).shape[0].value == 4
