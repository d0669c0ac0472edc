"""Which passes run, in which order, and that the program is verified after each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from te_sched import config
from te_sched.errors import InternalError, LoweringError
from te_sched.ir.stmt import BufferRealize, For, IRModule, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.lowering.pipeline import lower, pass_names, scheduled_loops
from tests.schedule.programs import chain

PHASES = range(4)


def lowering(**choices: Any) -> Any:
    return config.scoped(lowering=replace(config.current().lowering, **choices))


def test_names_of_passes_are_told_once_each() -> None:
    found = pass_names()
    assert found[0] == "schedule_ops"
    assert found[-1] == "eliminate_common_subexpressions"
    assert len(found) == len(set(found))


def test_added_passes_come_at_the_end_of_their_phase() -> None:
    seen: list[tuple[bool, bool]] = []

    def look(func: PrimFunc) -> PrimFunc:
        parts = list(statements(func.body))
        unrolled = any(type(one) is For and one.kind == "unrolled" for one in parts)
        seen.append((any(type(one) is BufferRealize for one in parts), unrolled))
        return func

    p = chain()
    p.s[p.C].unroll(p.C.op.axis[1])
    with lowering(added_passes=tuple((phase, look) for phase in PHASES)):
        lower(p.s, [p.A, p.D])
    assert seen == [(True, True), (False, True), (False, False), (False, False)]


def test_passes_can_be_left_out() -> None:
    p = chain()
    p.s[p.C].unroll(p.C.op.axis[1])
    assert "T.unroll" not in str(lower(p.s, [p.A, p.D]))
    with lowering(disabled_passes=frozenset(["unroll_loops"])):
        assert "T.unroll" in str(lower(p.s, [p.A, p.D]))


@pytest.mark.parametrize("phase", PHASES)
def test_a_pass_that_breaks_the_program_is_found(phase: int) -> None:
    def broken(func: PrimFunc) -> PrimFunc:
        """Without the loops round the first store."""
        body: Any = next(one for one in statements(func.body) if type(one) is For).body
        return func.with_body(body)

    p = chain()
    with lowering(added_passes=((phase, broken),)), pytest.raises(InternalError, match="variable"):
        lower(p.s, [p.A, p.D])
    with config.scoped(verify_passes=False):
        assert str(lower(p.s, [p.A, p.D]))


def test_stopping_and_going_on_is_the_whole_road() -> None:
    p = chain()
    p.s[p.C].split(p.C.op.axis[1], 3)
    loops = scheduled_loops(p.s, [p.A, p.D])
    assert str(loops) == str(lower(p.s, [p.A, p.D], stop_after="schedule_ops")["main"])
    for is_simple in (False, True):
        whole = lower(p.s, [p.A, p.D], simple_mode=is_simple)
        assert str(lower(IRModule({"main": loops}), simple_mode=is_simple)) == str(whole)


def test_stop_after_rejects_passes_that_do_not_run() -> None:
    p = chain()
    with pytest.raises(LoweringError, match="did you mean 'unroll_loops'"):
        lower(p.s, [p.A, p.D], stop_after="unrol_loops")
    switched_off = lowering(disabled_passes=frozenset(["unroll_loops"]))
    with switched_off, pytest.raises(LoweringError, match="of stop_after is disabled"):
        lower(p.s, [p.A, p.D], stop_after="unroll_loops")


def test_functions_are_lowered_from_where_they_stand() -> None:
    p = chain()
    loops = lower(p.s, [p.A, p.D], stop_after="flatten_storage")
    assert list(lower(loops).functions) == ["main"]
    named = lower(loops["main"], name="other")
    assert named["other"].attrs["global_symbol"] == "other"
