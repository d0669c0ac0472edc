"""A trace that was saved as JSON does the same to another schedule, also in another process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.trace.trace import Trace
from tests.schedule.programs import chain, pair, product, scan

DECLARED = """
import json, sys
from te_sched import te
from te_sched.trace.trace import Trace
n = te.var("n")
A = te.placeholder((n, 32), name="A")
B = te.compute((n, 32), lambda i, j: A[i, j] + 1, name="B")
s = te.create_schedule(B.op)
"""
SCHEDULED = """
io, ii = s[B].split(B.op.axis[0], factor=n)
s[B].bind(ii, te.thread_axis((0, 32), "threadIdx.x"))
s[B].pragma(io, "unroll_explicit", True)
s[B].set_store_predicate(te.all(ii.var < n, io.var.equal(0)))
s.cache_write(B, "local")
"""


def after_saving(s: Any, other: Any, names: Any = None) -> str:
    """The trace of a schedule to which the saved trace of another was applied."""
    Trace.apply_json_to_schedule(json.loads(json.dumps(s.trace.as_json())), other, names)
    return str(other.trace)


def test_form_of_the_json() -> None:
    p = product()
    outer, inner = p.s[p.D].split(p.D.op.axis[0], factor=4)
    p.s[p.D].set_scope("global")
    p.s[p.D].reorder(inner, outer)
    assert p.s.trace.as_json() == [
        [
            [
                "create_schedule",
                [],
                [
                    ["A", "PlaceholderOp", [2]],
                    ["B", "PlaceholderOp", [2]],
                    ["C", "ComputeOp", [2]],
                    ["D", "ComputeOp", [2]],
                ],
                ["A", None, None, "B", None, None, "C", None, None, "D", None, None],
            ],
            ["axis", [{"StageOf": "D"}], [], ["i", "j"]],
            ["split", [{"StageOf": "D"}, "i", 4, "None"], [0], ["i_outer", "i_inner"]],
            ["set_scope", [{"StageOf": "D"}], ["global"], []],
            ["reorder", [{"StageOf": "D"}, "i_inner", "i_outer"], [], []],
        ],
        [],
    ]


def test_a_trace_replays_in_another_process() -> None:
    names: dict[str, Any] = {}
    exec(DECLARED + SCHEDULED, names)
    apply = "Trace.apply_json_to_schedule(json.load(sys.stdin), s)\nprint(s.trace)"
    run = subprocess.run(
        [sys.executable, "-c", DECLARED + apply],
        input=json.dumps(names["s"].trace.as_json()),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == str(names["s"].trace)


def test_groups_and_several_outputs_are_saved() -> None:
    p, other = chain(), chain()
    group = p.s.create_group(outputs=p.C, inputs=p.A)
    group.compute_at(p.s[p.D], p.s[p.D].op.axis[0])
    assert after_saving(p.s, other.s) == str(p.s.trace)
    q, fresh = pair(), pair()
    q.s.cache_write([q.B1, q.B0], "local")
    assert after_saving(q.s, fresh.s) == str(q.s.trace)
    r, last = scan(), scan()
    r.s[r.scan].env_threads(te.thread_axis("threadIdx.x"))
    assert after_saving(r.s, last.s) == str(r.s.trace)


def test_what_no_json_holds_is_given_by_name() -> None:
    p, other = chain(), chain()
    p.s[p.D].transform_layout(lambda i, j: [j, i])
    names = {"mapping": p.s.trace.names()["mapping"]}
    assert after_saving(p.s, other.s, names) == str(p.s.trace)
    with pytest.raises(ScheduleError, match=r"trace needs mapping") as caught:
        after_saving(p.s, chain().s)
    assert "names={'mapping': ...}" in caught.value.help


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [[], []],
        [[["create_schedule"]], []],
        "null",
        ["unknown", [], [], []],
        ["split", [{"StageOf": "D"}], [], []],
        ["split", [{"Thing": [1]}, 1, 2, None], [False], []],
        ["split", [{"StageOf": "D"}, '"broken', 2, None], [False], []],
    ],
)
def test_apply_json_rejects_what_is_no_trace(data: Any) -> None:
    p = chain()
    if data and isinstance(data[0], str) and len(data) == 4:
        root = p.s.trace.as_json()[0][0]
        data = [[root, data], []]
    with pytest.raises(ScheduleError, match=r"invalid JSON of a trace"):
        Trace.apply_json_to_schedule(data, p.s)
    assert len(p.s.trace) == 0


def test_apply_json_rejects_other_declarations() -> None:
    p = chain()
    with pytest.raises(
        ScheduleError, match=r"replay a trace of A, B, C, D on a schedule of A, B, C\n"
    ):
        Trace.apply_json_to_schedule(p.s.trace.as_json(), pair().s)


def test_apply_json_rejects_what_is_no_schedule() -> None:
    with pytest.raises(
        ScheduleError, match=r"apply_json_to_schedule expects a schedule, got an int"
    ):
        Trace.apply_json_to_schedule([[], []], 3)
