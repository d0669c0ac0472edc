"""Variables, steps and findings of a running kernel."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.codegen.checker.machine import Site, Stopped, first_of, value_at
from te_sched.codegen.checker.report import ViolationKind
from te_sched.ir.expr import Var
from tests.codegen.checker import kernels as k

OUT = ViolationKind.OUT_OF_BOUNDS


def test_versions_are_equal_for_equal_values_alone() -> None:
    machine, i = k.state(), Var("i")
    slot = machine.slot(i)
    assert machine.slot(i) == slot != machine.slot(Var("i"))
    seen = []
    for value, version in ((3, None), (4, None), (3, None), *[(np.ones(1), None)] * 2, (5.0, "v")):
        machine.assign(slot, value, version)
        assert machine.values[slot] is value
        seen.append(machine.versions[slot])
    assert seen[0] == seen[2] != seen[1]
    assert seen[3] != seen[4]  # arrays are not compared
    assert seen[5] == "v"


def test_steps_end_at_their_limit() -> None:
    machine, i = k.state(), Var("i")
    machine.assign(machine.slot(i), 7)
    machine.loops.append(machine.slot(i))
    machine.take_steps(machine.max_steps)
    with pytest.raises(Stopped):
        machine.take_steps(1)
    (finding,) = machine.report.findings
    assert (finding.kind, finding.loops) == (ViolationKind.STEP_LIMIT, {"i": 7})
    assert "stopped after 1000 steps" in finding.detail


def test_findings_of_one_access_are_counted() -> None:
    machine = k.state((4, 1, 1), 2)
    site = Site(0, "A_shared", "A_shared[tx]", "read", "A.shared")
    bad = np.zeros((1, 1, 4, 2), bool)
    bad[0, 0, 2, 1] = bad[0, 0, 3] = True
    machine.find(OUT, site, bad, np.arange(8).reshape(1, 1, 4, 2), "why")
    machine.find(OUT, site, bad[..., :1], 0)
    machine.find(OUT, Site(1, "B", "B[0]", "read"), bad, 0)
    first, second = machine.report.findings
    assert (first.stage, first.index, first.count, first.detail) == ("A", 5, 4, "why")
    assert first.thread == machine.space.thread_at((0, 0, 2, 1))
    assert (second.buffer, second.count) == ("B", 3)


def test_threads_that_a_check_has_found_are_not_found_again() -> None:
    machine, bad = k.state((4, 1, 1)), np.ones((1, 1, 4, 1), bool)
    machine.outside["A"] = np.arange(4).reshape(1, 1, 4, 1) < 3
    machine.find(OUT, Site(0, "A", "A[0]", "read"), bad, 0)
    assert [(one.count, one.thread.thread) for one in machine.report.findings] == [(1, (3, 0, 0))]
    machine.outside["A"] = bad
    machine.find(OUT, Site(1, "A", "A[1]", "read"), bad, 0)
    assert len(machine.report.findings) == 1


def test_places() -> None:
    assert first_of(np.array([[False, False], [False, True]])) == (0, 0, 1, 1)
    shared = np.arange(6).reshape(1, 1, 3, 2)[..., :1]  # the same for all blocks
    assert value_at(shared, (0, 0, 2, 1)) == 4
    assert value_at(np.arange(3), (0, 0, 0, 2)) == 2
    assert value_at(5, (0, 0, 2, 1)) == 5
    machine = k.state()
    machine.mask = np.arange(32).reshape(1, 1, 32, 1) > 4
    assert machine.first_active() == (0, 0, 5, 0)
