"""The steps of lowering as tvm.te.schedule and tvm.driver.build_module show them."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te, tir
from te_sched.compat import schedules
from te_sched.ir.visitor import walk
from tests.schedule.programs import chain

m, n = te.var("m"), te.var("n")


def scan(update: Any) -> Any:
    """A scan whose states are updated so: update(state, t, i, j)."""
    state = te.placeholder((m, n, n), name="state")
    start = te.compute((1, n, n), lambda _, i, j: te.const(0.0), name="start")
    step = te.compute((m, n, n), lambda t, i, j: update(state, t, i, j), name="step")
    return te.scan(start, step, state)


def test_loops_without_passes() -> None:
    p = chain()
    module = schedules.schedule_to_module(p.s, [p.A, p.D], "f")
    assert "T.realize(B" in str(module["f"])
    body = schedules.ScheduleOps(p.s, schedules.InferBound(p.s))
    loops = [node for node in walk(body) if isinstance(node, tir.For)]
    assert len(loops) == len([node for node in walk(module["f"].body) if isinstance(node, tir.For)])


def test_who_reads_whom() -> None:
    p = chain()
    graph = schedules.CreateReadGraph([p.D.op])
    assert graph[p.C.op] == (p.B,)
    order = schedules.PostDFSOrder([p.D.op], graph)
    assert [op.name for op in order] == ["A", "B", "C", "D"]


def test_loops_around_a_stage() -> None:
    p = chain()
    i, j = p.D.op.axis
    p.s[p.B].compute_at(p.s[p.D], j)
    assert schedules.CreateAttachPath(p.s)[p.B.op] == [j, i]


def test_body_of_a_scan() -> None:
    result = scan(lambda state, t, i, j: state[t - 1, i, j] + 1.0)
    assert [op.name for op in schedules.ScanGetBody(result.op)] == ["step", "scan"]


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (lambda state, t, i, j: state[t - 1, i, j], [1, 1]),
        (lambda state, t, i, j: state[t - 1, j, i], [0, 0]),
        (lambda state, t, i, j: state[t - 1, i, 3], [1, 0]),
        (lambda state, t, i, j: state[t - 1, i, j] + state[t - 1, i, i], [0, 0]),
    ],
)
def test_axes_that_steps_leave_alone(update: Any, expected: list[int]) -> None:
    op = scan(update).op
    found = schedules.ScanFixPointAnalysis(op)
    assert [found[axis].value for axis in op.spatial_axis_] == expected


def test_axes_are_followed_through_other_operations() -> None:
    def update(state: Any, t: Any, i: Any, j: Any) -> Any:
        return through[t, j, i]

    state = te.placeholder((m, n, n), name="state")
    start = te.compute((1, n, n), lambda _, i, j: te.const(0.0))
    through = te.compute((m, n, n), lambda t, a, b: state[t - 1, b, a], name="through")
    step = te.compute((m, n, n), lambda t, i, j: update(state, t, i, j))
    op = te.scan(start, step, state).op
    found = schedules.ScanFixPointAnalysis(op)
    assert [found[axis].value for axis in op.spatial_axis_] == [1, 1]
    assert schedules.ScanGetBody(op)[0].name == "through"


def test_what_is_inlined() -> None:
    A, row = te.placeholder((8, 4), name="A"), te.placeholder((4,), name="row")
    kinds = {
        "same": lambda i, j: A[i, j] + 1,
        "row": lambda i, j: A[i, j] * row[j] * A[0, j],
        "turned": lambda i, j: A[j, i],
    }
    inlined: dict[Any, list[str]] = {
        schedules.AutoInlineElemWise: ["same"],
        schedules.AutoInlineBroadcast: ["same", "row"],
        schedules.AutoInlineInjective: ["same", "row", "turned"],
    }
    for inline, names in inlined.items():
        found = []
        for name, element in kinds.items():
            B = te.compute((4, 4), element, name="B")
            C = te.compute((4, 4), lambda i, j, B=B: B[i, j] * 2, name="C")
            s = te.create_schedule(C.op)
            inline(s)
            found += [name] if s[B].attach_type == 2 else []
        assert found == names
