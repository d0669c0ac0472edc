"""Which passes run, in which order, and what the program is checked for after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import te_sched
from te_sched import config, te
from te_sched.errors import InternalError, LoweringError
from te_sched.ir.stmt import PrimFunc
from te_sched.lower import passes, pipeline
from te_sched.lower.passes import Pass
from te_sched.lower.pipeline import (
    AS_OLDER_PASSES,
    PASSES,
    lower,
    pass_names,
    run_passes,
    scheduled_loops,
)
from tests.schedule.programs import chain


def lowering(**choices: Any) -> Any:
    return config.scoped(lowering=replace(config.current().lowering, **choices))


def names(chosen_of: Sequence[Pass] = PASSES, **choices: Any) -> list[str]:
    chosen = replace(config.current().lowering, **choices)
    return [one.name for one in pipeline._chosen_passes(chosen_of, chosen)]


def mark(func: PrimFunc) -> PrimFunc:
    return func.with_attr("marked", True)


def test_names_of_passes_are_told_once_each() -> None:
    found = pass_names()
    assert found[0] == "schedule_ops"
    assert found[-1] == "eliminate_common_subexpressions"
    assert len(found) == len(set(found)) < len(PASSES)


def test_passes_can_be_left_out() -> None:
    assert "unroll_loops" in names()
    assert names(disabled_passes=frozenset(["unroll_loops"])) == [
        name for name in names() if name != "unroll_loops"
    ]


@pytest.mark.parametrize(
    ("phase", "before"),
    [(0, None), (1, "simplify"), (2, "unroll_loops"), (3, "rewrite_unsafe_select")],
)
def test_added_passes_come_at_the_end_of_their_phase(phase: int, before: str | None) -> None:
    found = names(added_passes=((phase, mark),))
    place = found.index("mark")
    assert (found[place - 1] if place else None) == before
    assert [name for name in found if name != "mark"] == names()


def test_the_older_lowering_hoists_later() -> None:
    older = names(AS_OLDER_PASSES)
    assert sorted(older) == sorted(names())
    assert older.index("hoist_conditions") > older.index("unroll_loops")
    assert names().index("hoist_conditions") < names().index("unroll_loops")


def test_each_pass_is_verified_at_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    for module in (passes, pipeline):
        monkeypatch.setattr(module, "verify", lambda func, level: seen.append(level))
    p = chain()
    lower(p.s, [p.A, p.D])
    assert seen == ["buffers", *(one.level for one in PASSES)]
    with config.scoped(verify_passes=False):
        lower(p.s, [p.A, p.D])
    assert len(seen) == len(PASSES) + 1


def test_a_pass_that_breaks_the_program_is_found() -> None:
    def broken(func: PrimFunc) -> PrimFunc:
        return func.with_body(func.body.body)  # without the loop of its variable

    p = chain()
    with lowering(added_passes=((2, broken),)), pytest.raises(InternalError, match="variable"):
        lower(p.s, [p.A, p.D])


def test_stopping_and_going_on_is_the_whole_road() -> None:
    p = chain()
    p.s[p.C].split(p.C.op.axis[1], 3)
    whole = lower(p.s, [p.A, p.D])
    loops = scheduled_loops(p.s, [p.A, p.D])
    assert str(loops) == str(lower(p.s, [p.A, p.D], stop_after="schedule_ops")["main"])
    assert str(run_passes(loops, config.current())) == str(whole["main"])
    assert str(run_passes(loops, config.current(), simple_mode=True)) == str(
        lower(p.s, [p.A, p.D], simple_mode=True)["main"]
    )


def test_stop_after_rejects_passes_that_do_not_run() -> None:
    p = chain()
    with pytest.raises(LoweringError, match="did you mean 'unroll_loops'"):
        lower(p.s, [p.A, p.D], stop_after="unrol_loops")
    switched_off = lowering(disabled_passes=frozenset(["unroll_loops"]))
    with switched_off, pytest.raises(LoweringError, match="switched off"):
        lower(p.s, [p.A, p.D], stop_after="unroll_loops")


def test_functions_and_modules_are_lowered_from_where_they_stand() -> None:
    p = chain()
    loops = lower(p.s, [p.A, p.D], stop_after="flatten_storage")
    from_module = lower(loops)
    from_function = lower(loops["main"], name="other")
    assert list(from_module.functions) == ["main"]
    assert from_function["other"].attrs["global_symbol"] == "other"
    assert str(te_sched.lower(te.create_schedule(p.A.op), [p.A])).count("def main") == 1
