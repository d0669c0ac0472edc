"""Reports as data and as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from te_sched.codegen.checker import (
    AccessCounter,
    Report,
    ThreadId,
    Violation,
    ViolationKind,
    check_program,
)
from te_sched.codegen.checker.report import stage_name
from tests.codegen.checker import kernels as k


def test_report_is_data_and_text() -> None:
    module, arguments, _ = k.reverse()
    report = check_program(k.without_barrier(1)(module), arguments)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is report.ok is False
    assert data["findings"][0]["kind"] == "read-write race"
    assert data["counters"]["main_kernel"][0]["access"] == "A[bx * 256 + k * 64 + tx]"
    assert "other thread: block (0, 0, 0) thread (63, 0, 0): read s_shared[63 - tx]" in str(report)
    assert "kernel main_kernel: 2 blocks of 64 threads, 256 bytes" in str(report)


THREAD = ThreadId((1, 0, 0), (5, 0, 0))


def finding(**changes: Any) -> Violation:
    """A finding at A_shared[tx]."""
    kind = ViolationKind.OUT_OF_BOUNDS
    return Violation(kind, "f", "A", "A_shared", "A_shared[tx]", "read", THREAD, **changes)


def test_finding_as_text() -> None:
    assert str(finding(index=7, loops={"k": 1, "j": 2}, count=3)).split("\n") == [
        "out of bounds in f: the element does not exist; the access was not done (3 times)",
        "  where: stage A, buffer A_shared, read A_shared[tx]",
        "  element: 7",
        "  thread: block (1, 0, 0) thread (5, 0, 0)",
        "  loops: k = 1, j = 2",
    ]
    assert str(finding(detail="why", other=THREAD)).split("\n")[::3] == [
        "out of bounds in f: why",
        "  other thread: block (1, 0, 0) thread (5, 0, 0)",
    ]


@pytest.mark.parametrize(
    ("taken", "ideal", "text"),
    [
        (8, 8, "read  s[tx]  1.0 passes a request"),
        (20, 8, "read  s[tx]  2.5 passes a request  <- 2.5 times the ideal"),
        (0, 0, "read  s[tx]  never executed"),
    ],
)
def test_counter_as_text(taken: int, ideal: int, text: str) -> None:
    counter = AccessCounter("s[tx]", "s", "shared", "read", 8, ideal, taken, ideal)
    assert counter.factor == (taken / 8 if taken else 1)
    report = Report(counters={"f": [counter]}, unchecked=["g"])
    report.launches["f"] = {"blocks": 2, "threads": 64, "shared_bytes": 0}
    assert str(report).split("\n\n") == [
        "checked: nothing found",
        "kernel f: 2 blocks of 64 threads, 0 bytes of shared memory in a block\n  " + text,
        "not checked: g",
    ]


def test_findings_are_counted_by_kind() -> None:
    report = Report([finding(), finding(), finding()])
    report.findings[1].kind = ViolationKind.SHUFFLE
    assert not report.ok
    head = "checked: 3 findings (2 x out of bounds, 1 x undefined shuffle)"
    assert str(report).startswith(head)
    assert report.records()[0]["thread"] == {"block": (1, 0, 0), "thread": (5, 0, 0)}


@pytest.mark.parametrize(
    ("buffer", "stage"),
    [
        ("A_shared_local", "A"),
        ("A.wmma.matrix_a", "A"),
        ("A_shared_1", "A"),
        ("local", "local"),
        ("A_sharedx", "A_sharedx"),
        ("_shared", "_shared"),
    ],
)
def test_stage_of_a_buffer(buffer: str, stage: str) -> None:
    assert stage_name(buffer) == stage
