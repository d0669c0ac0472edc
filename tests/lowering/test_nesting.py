"""Programs that are nested deeper than Python recurses."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import te_sched
from te_sched import deep_recursion, te
from te_sched.errors import BuildError, DeclarationError, LoweringError, ScheduleError
from te_sched.schedule import Schedule

pytestmark = pytest.mark.usefixtures("usual_limit")


@pytest.fixture
def usual_limit() -> Iterator[None]:
    """Python's own limit: programs that other tests run may have raised it."""
    raised = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    assert sys.getrecursionlimit() == 1000
    sys.setrecursionlimit(raised)


def chain(stages: int) -> tuple[Schedule, list[te.Tensor]]:
    first = last = te.placeholder((4,), name="A")
    for _ in range(stages):
        last = te.compute((4,), lambda i, read=last: read[i] + 1.0, name="T")
    return te.create_schedule(last.op), [first, last]


@pytest.mark.parametrize("is_inline", [False, True])
def test_many_stages_are_built(is_inline: bool) -> None:
    s, args = chain(300)
    for stage in s.stages[1:-1] if is_inline else ():
        stage.compute_inline()
    assert str(te_sched.lower(s, args)).count("for i in range(4)") == (1 if is_inline else 300)
    result = np.zeros(4, "float32")
    te_sched.build(s, args)(np.arange(4, dtype="float32"), result)
    np.testing.assert_array_equal(result, np.arange(4) + 300)


def test_sum_of_many_terms_is_printed() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: sum([A[i]] * 1500), name="B")
    assert str(B.op.body[0]).count("A[i]") == 1500


def fail(depth: int, error: Exception) -> None:
    if not depth:
        raise error
    fail(depth - 1, error)


@deep_recursion.walks_deeply("descend")
def descend(make: type[Exception]) -> None:
    fail(2000, make("descend further"))


def test_errors_from_deep_below_name_the_users_line() -> None:
    with pytest.raises(LoweringError, match="descend further") as caught:
        descend(LoweringError)
    assert __file__ in caught.value.where


def test_other_errors_from_deep_below_stay_what_they_are() -> None:
    with pytest.raises(RuntimeError, match="descend further"):
        descend(RuntimeError)


def test_no_room_for_a_larger_stack_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(LoweringError, match="nested too deeply"):
        descend(RuntimeError)


def test_what_no_stack_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_recursion, "_FRAMES", 1100)
    s, args = chain(600)
    with pytest.raises(LoweringError, match=r"nested too deeply"):
        te_sched.lower(s, args)
    with pytest.raises((LoweringError, BuildError), match=r"nested too deeply"):
        te_sched.build(s, args)


def test_expression_that_grows_without_end_is_refused() -> None:
    A = te.placeholder((4,), name="A")

    def power(i: te.Var) -> te.Expr:
        value = A[i]
        for _ in range(40):
            value = value * value
        return value

    with pytest.raises(
        DeclarationError, match="the expression of compute B has more than 262144 operations"
    ):
        te.compute((4,), power, name="B")


def test_inlining_that_grows_without_end_is_refused() -> None:
    first = last = te.placeholder((4,), name="A")
    for number in range(40):
        last = te.compute((4,), lambda i, read=last: read[i] * read[i], name=f"T{number}")
    s = te.create_schedule(last.op)
    for stage in s.stages[1:-1]:
        stage.compute_inline()
    with pytest.raises(ScheduleError, match=r"inline T15 into T16"):
        te_sched.lower(s, [first, last])
