"""Who reads whom, and what a schedule says of its operations."""

from __future__ import annotations

from te_sched import te
from te_sched.ir.expr import Var
from tests.schedule.programs import chain, pair, product, scan, stages


def test_readers_are_those_that_read_directly() -> None:
    p = chain()
    assert p.s.readers_of(p.B.op) == [p.s[p.C]]
    assert p.s.readers_of(p.D.op) == []
    both = pair()
    assert both.s.readers_of(both.B0.op) == [both.s[both.C]]


def test_reading_goes_through_others() -> None:
    p = chain()
    assert p.s.reads(p.s[p.D], p.s[p.A])
    assert not p.s.reads(p.s[p.A], p.s[p.D])
    assert not p.s.reads(p.s[p.B], p.s[p.B])


def test_members_of_groups_in_groups() -> None:
    p = chain()
    outer = p.s.create_group(outputs=p.C, inputs=p.A)
    inner = p.s.create_group(outputs=p.B, inputs=p.A)
    assert p.s.members_of(outer) == [p.s[p.B], p.s[p.C]]
    assert p.s.members_of(inner) == [p.s[p.B]]
    assert p.s.members_of(p.s[p.D]) == [p.s[p.D]]


def test_rewired_operations_change_nothing_by_themselves() -> None:
    p = product()
    other = te.placeholder((16, 32), name="other")
    changed = p.s.rewired({p.A: other})
    assert [stage.op.name for stage in changed] == ["C", "D"]
    assert changed[p.s[p.C]].input_tensors[0] is other
    assert p.s[p.C].op is p.C.op


def test_an_operation_that_was_rewritten_means_its_stage() -> None:
    p = product()
    old = p.s[p.C].op
    p.s.cache_read(p.A, "shared", [p.C])
    assert p.s[p.C].op is not old
    assert p.s.stage_of(old) is p.s.stage_of(p.s[p.C].op) is p.s[p.C]
    assert p.s.stage_of(te.placeholder((3,)).op) is None


def test_what_was_declared_stays() -> None:
    p = product()
    p.s.cache_write(p.C, "local")
    assert [op.name for op in p.s.declared] == ["A", "B", "C", "D"]
    assert stages(p.s) == "A, B, C.local, C, D"
    assert all(isinstance(axis.var, Var) for axis in scan().s.stages[0].all_iter_vars)
