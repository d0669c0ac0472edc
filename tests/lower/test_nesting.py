"""Programs of more stages than Python walks: an error that says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError, LoweringError
from te_sched.schedule import Schedule

pytestmark = pytest.mark.usefixtures("usual_limit")
CURE = r"(?s)nested deeper than Python's recursion limit.*sys\.setrecursionlimit"


@pytest.fixture
def usual_limit() -> Iterator[None]:
    """Python's own limit: programs that other tests run may have raised it."""
    raised = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(raised)


def chain(stages: int) -> tuple[Schedule, list[te.Tensor]]:
    first = last = te.placeholder((4,), name="A")
    for _ in range(stages):
        last = te.compute((4,), lambda i, read=last: read[i] + 1.0, name="T")
    return te.create_schedule(last.op), [first, last]


@pytest.mark.parametrize("is_inline", [False, True])
def test_chain_of_stages_that_is_too_long_is_refused(is_inline: bool) -> None:
    s, args = chain(3000)
    for stage in s.stages[1:-1] if is_inline else ():
        stage.compute_inline()
    with pytest.raises(LoweringError, match=CURE):
        te_sched.lower(s, args)
    with pytest.raises((LoweringError, BuildError), match=CURE):
        te_sched.build(s, args)


def test_sum_that_is_too_long_is_refused() -> None:
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: sum([A[i]] * 3000), name="B")
    with pytest.raises(LoweringError, match=CURE):
        str(B.op.body[0])
    with pytest.raises(LoweringError, match=CURE):
        te_sched.lower(te.create_schedule(B.op), [A, B])
