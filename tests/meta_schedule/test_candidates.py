"""From a trace to a candidate."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.candidates import completed, decisions_of, replayed
from te_sched.meta_schedule.postproc import PyPostproc
from te_sched.tir.schedule import Trace
from tests.meta_schedule.programs import MODULE, Reject, tiled, wrong


class Annotate(PyPostproc):
    """Annotates the block with a number, which it must not have yet."""

    def apply(self, sch: tir.Schedule) -> bool:
        if sch.get(sch.get_block("C")).annotations:
            raise ScheduleError("annotated")
        sch.annotate("C", "note", sch.sample_categorical([1, 2], [0.5, 0.5]))
        return True


def drawn(seed: int = 3) -> tir.Schedule:
    sch = tir.Schedule(MODULE, seed=seed)
    tiled(sch)
    return sch


def test_replays_keep_decisions_and_draw_the_others() -> None:
    trace = drawn().trace
    assert replayed(MODULE, trace, 8).mod.script() == drawn().mod.script()
    free = Trace(trace.insts, {})
    texts = [replayed(MODULE, free, seed).mod.script() for seed in (3, 3, 8)]
    assert texts[0] == texts[1] != texts[2]


def test_replays_end_before_postprocessors() -> None:
    sch = completed(drawn(), [Annotate()])
    assert "note" in sch.mod.script()
    assert "note" not in replayed(MODULE, sch.trace, 1).mod.script()


def test_replays_of_traces_that_do_not_fit_are_none() -> None:
    assert replayed(IRModule({"main": wrong}), drawn().trace, 1) is None


@pytest.mark.parametrize(
    ("postprocs", "is_valid"),
    [([], True), ([Annotate()], True), ([Annotate()] * 2, False), ([Reject()], False)],
)
def test_postprocessors_accept_reject_or_raise(postprocs: list[PyPostproc], is_valid: bool) -> None:
    assert (completed(drawn(), postprocs) is not None) == is_valid


def test_decisions_are_those_before_postprocessors() -> None:
    first, other = drawn(3), drawn(8)
    assert first.mod.script() != other.mod.script()
    key = decisions_of(first.trace.as_json())
    assert key == decisions_of(drawn(3).trace.as_json())
    assert key != decisions_of(other.trace.as_json())
    assert key == decisions_of(completed(first, [Annotate()]).trace.as_json())
