"""Reductions across threads."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import ScheduleError
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import GPU, product, row_sums, space, steps, uniform


def normalized() -> tir.PrimFunc:
    """Rows are divided by their sums."""
    A, k = te.placeholder((16, 64), name="A"), te.reduce_axis((0, 64), "k")
    S = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="S")
    return te.create_prim_func([A, te.compute((16, 64), lambda i, j: A[i, j] / S[i], name="D")])


def threads(sch: tir.Schedule, block: str) -> list[int]:
    """The numbers of threads of the loops of a block."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return [int(loop.extent) for loop in loops if loop.kind == "thread_binding"]


def test_cross_thread_reduction_is_computed_beside_its_consumer() -> None:
    found, plain = space(normalized(), rules.CrossThreadReduction([4, 8]), target=GPU)[::-1]
    assert steps(plain) == []
    assert steps(found) == ["split", "bind", "compute_at", "set_scope", "split", "bind"]
    assert threads(found, "S") == threads(found, "D")


def test_a_reduction_without_a_consumer_has_its_own_threads() -> None:
    found = space(row_sums(), rules.CrossThreadReduction([8]), target=GPU)[-1]
    assert steps(found) == ["split", "bind"]
    assert threads(found, "C") == [8]
    found.bind(found.get_loops("C")[0], "blockIdx.x")
    a, device = uniform(4, 64), te_sched.emulated_cuda(0)
    out = te_sched.nd.empty((4,), device=device)
    te_sched.build(found.mod, target="cuda")(te_sched.nd.array(a, device), out)
    np.testing.assert_allclose(out.numpy(), a.sum(1), rtol=1e-4)


def test_the_threads_of_the_consumer_reduce() -> None:
    sch = tir.Schedule(normalized())
    _, inner = sch.split(sch.get_loops("D")[1], [None, 16])
    sch.bind(inner, "threadIdx.x")
    before = len(steps(sch))
    rule = rules.CrossThreadReduction([4, 8])
    rule._most = 1024
    found, plain = rule.apply(sch, sch.get_block("S"))
    assert plain is sch
    assert steps(found)[before:] == ["compute_at", "set_scope", "split", "bind"]
    assert threads(found, "S") == [16]


@pytest.mark.parametrize("func", [product(64, 64, 16), row_sums(4, 1)])
def test_other_blocks_stay(func: tir.PrimFunc) -> None:
    (sch,) = space(func, rules.CrossThreadReduction([4, 8]), target=GPU)
    assert steps(sch) == []


def test_refused_reductions_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise ScheduleError("for the test")

    monkeypatch.setattr(rules.CrossThreadReduction, "_spread", refuse)
    (sch,) = space(row_sums(), rules.CrossThreadReduction([8]), target=GPU)
    assert steps(sch) == []
