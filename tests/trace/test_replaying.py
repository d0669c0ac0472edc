"""Traces are replayed on other schedules."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.ir.structural import structural_equal
from te_sched.schedule import Schedule
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.trace import Trace
from tests.golden.corpus import Program, programs, text_of
from tests.schedule.programs import chain, product
from tests.tensorir.programs import MATMUL, program


def assert_equal(a: Schedule, b: Schedule) -> None:
    """Both schedules have the same stages, up to the identity of what they made."""
    assert repr(a) == repr(b)
    for one, other in zip((*a.stages, *a.groups), (*b.stages, *b.groups), strict=True):
        assert one.attach_type == other.attach_type
        assert (one.group is None) == (other.group is None)
        if one.is_group:
            continue
        assert [type(r) for r in one.relations] == [type(r) for r in other.relations]
        assert structural_equal(_content(one), _content(other), map_free_vars=True)


def _content(stage: Any) -> Any:
    attrs = [(a.iter_type, a.pragma_keys, a.pragma_values) for a in stage.iter_var_attrs.values()]
    return attrs, stage.all_iter_vars, stage.store_predicate, stage.scope


@pytest.mark.parametrize(
    "program", programs("primitives", "gemm_gpu", "programs"), ids=lambda program: program.name
)
def test_trace_of_a_corpus_program_replays(program: Program) -> None:
    steps = program.steps(te_sched)
    for (schedule, args), golden in zip(steps, program.golden("script"), strict=True):
        copy = te.create_schedule(schedule.outputs)
        assert_equal(schedule.trace.replay(copy), schedule)
        other = te.create_schedule(schedule.outputs)
        saved = json.loads(json.dumps(schedule.trace.as_json()))
        Trace.apply_json_to_schedule(saved, other, schedule.trace.names())
        assert_equal(other, schedule)
        assert str(other.trace) == str(schedule.trace)
        names = schedule.trace.names()
        exec(str(schedule.trace), names)
        again = names["s"]
        assert_equal(again, schedule)
        assert str(again.trace) == str(schedule.trace)
        assert text_of(te_sched.lower(again, args, simple_mode=True), "script") == golden


def test_trace_replays_on_the_same_declarations_made_again() -> None:
    def scheduled(declare: Callable[[], SimpleNamespace]) -> SimpleNamespace:
        p = declare()
        _, inner = p.s[p.C].split(p.k, factor=4)
        p.s[p.s.rfactor(p.C, inner)].compute_at(p.s[p.C], p.s[p.C].op.axis[0])
        return p

    first, second = scheduled(product), product()
    assert_equal(first.s.trace.replay(second.s), first.s)


def test_replay_rejects_schedules_of_another_kind() -> None:
    s, blocks = chain().s, BlockSchedule(program(MATMUL))
    with pytest.raises(ScheduleError, match="replay a trace of A, B, C, D on a schedule of blocks"):
        s.trace.replay(blocks)
    with pytest.raises(ScheduleError, match="replay a trace of blocks on a schedule of A, B, C, D"):
        blocks.trace.replay(s)
    with pytest.raises(ScheduleError, match="replay a trace of A, B, C, D on a schedule of blocks"):
        Trace.apply_json_to_schedule(s.trace.as_json(), blocks)
    blocks.get_block("C")
    with pytest.raises(ScheduleError, match="replay a trace of blocks on a schedule of A, B, C, D"):
        Trace.apply_json_to_schedule(blocks.trace.as_json(), s)
