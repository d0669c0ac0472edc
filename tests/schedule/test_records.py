"""A record per stage."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.schedule import Schedule
from te_sched.schedule.records import stage_records
from tests.schedule.programs import chain, product, scan


def column(s: Schedule, name: str) -> list[object]:
    return [record[name] for record in stage_records(s.stages)]


def test_stages_are_numbered_in_order() -> None:
    p = product()
    assert column(p.s, "number") == [0, 1, 2, 3]
    assert column(p.s, "stage") == ["A", "B", "C", "D"]
    assert column(p.s, "kind") == ["input", "input", "compute", "compute"]
    assert column(p.s, "is_output") == [False, False, False, True]


def test_places_are_those_of_the_group() -> None:
    p = chain()
    group = p.s.create_group(outputs=p.C, inputs=p.A)
    group.compute_at(p.s[p.D], p.D.op.axis[0])
    assert column(p.s, "computed") == ["root", "at", "at", "root"]
    assert column(p.s, "at_stage") == ["", "D", "D", ""]
    assert column(p.s, "at_axis") == ["", "i", "i", ""]


def test_inlined_stages_are_told_before_and_after_normalize() -> None:
    p = chain()
    p.s[p.B].compute_inline()
    assert column(p.s, "computed")[1] == column(p.s.normalize(), "computed")[1] == "inlined"


def test_updates_of_scans() -> None:
    p = scan()
    kinds = dict(zip(column(p.s, "stage"), column(p.s, "kind"), strict=True))
    places = dict(zip(column(p.s, "stage"), column(p.s, "computed"), strict=True))
    assert (kinds["scan"], places["update"]) == ("scan", "in scan")


@pytest.mark.parametrize(("scope", "told"), [("", "global"), ("shared", "shared")])
def test_scopes(scope: str, told: str) -> None:
    p = chain()
    p.s[p.B].set_scope(scope)
    assert column(p.s, "scope")[1] == told


def test_extents_are_numbers_or_names() -> None:
    n = te.var("n")
    A = te.placeholder((n, 4), name="A")
    assert column(te.create_schedule(A.op), "shape") == [("n", 4)]
