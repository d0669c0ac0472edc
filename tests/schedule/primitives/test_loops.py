"""split, fuse, reorder, tile."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.ir.expr import IntImm, Range
from te_sched.ir.ops import is_const
from te_sched.ir.visitor import walk
from te_sched.schedule.guards import bound_checks
from te_sched.schedule.relations import Fuse, Singleton, Split
from tests.schedule.programs import chain, leaves, product


def test_split_replaces_an_axis_in_place() -> None:
    p = product()
    outer, inner = p.s[p.C].split(p.C.op.axis[1], factor=4)
    assert leaves(p.s[p.C]) == "i, j.outer, j.inner, k"
    assert [axis.var.name for axis in p.s[p.C].all_iter_vars[3:]] == ["j.outer", "j.inner"]
    (relation,) = p.s[p.C].relations
    assert isinstance(relation, Split)
    assert (relation.outer, relation.inner) == (outer, inner)
    assert is_const(relation.factor, 4)
    assert relation.nparts is None


def test_split_takes_expressions_and_keeps_the_kind() -> None:
    p = product()
    outer, inner = p.s[p.C].split(p.k, nparts=te.var("n"))
    assert (outer.kind, inner.kind) == ("CommReduce", "CommReduce")


def test_fuse_names_and_kind() -> None:
    p = product()
    fused = p.s[p.C].fuse(*p.C.op.axis, p.k)
    assert fused.var.name == "i.j.fused.k.fused"
    assert fused.kind == "CommReduce"
    assert leaves(p.s[p.C]) == "i.j.fused.k.fused"


def test_fuse_accepts_neighbors_in_either_order() -> None:
    p = chain()
    i, j = p.C.op.axis
    assert p.s[p.C].fuse(j, i).var.name == "j.i.fused"
    (relation,) = p.s[p.C].relations
    assert isinstance(relation, Fuse)
    assert relation.outer is i


def test_fuse_of_nothing_makes_a_loop_of_one_iteration() -> None:
    p = chain()
    axis = p.s[p.C].fuse()
    assert leaves(p.s[p.C]) == "singleton, i, j"
    assert isinstance(p.s[p.C].relations[0], Singleton)
    assert axis.dom is not None
    assert is_const(axis.dom.extent, 1)


def test_fuse_of_one_axis_is_that_axis() -> None:
    p = chain()
    assert p.s[p.C].fuse(p.C.op.axis[0]) is p.C.op.axis[0]


def test_reorder_fills_the_places_of_the_named_axes() -> None:
    p = product()
    p.s[p.C].reorder(p.k, p.C.op.axis[0])
    assert leaves(p.s[p.C]) == "k, j, i"
    p.s[p.C].reorder()
    assert leaves(p.s[p.C]) == "k, j, i"


def test_tile_order() -> None:
    p = product()
    assert len(p.s[p.C].tile(*p.C.op.axis, 4, 2)) == 4
    assert leaves(p.s[p.C]) == "i.outer, j.outer, i.inner, j.inner, k"


def test_an_axis_of_a_stage_without_dimensions() -> None:
    A = te.placeholder((4,), name="A")
    Z = te.compute((), lambda: A[0] + 1, name="Z")
    s = te.create_schedule(Z)
    s[Z].fuse(*Z.op.axis)
    assert leaves(s[Z]) == "singleton"


def test_split_that_is_promised_to_be_exact_needs_no_guard() -> None:
    p = chain()
    outer, inner = p.s[p.C].split(p.C.op.axis[0], factor=5, disable_predication=True)
    parent, other = p.C.op.axis
    lengths = {parent: 16, other: 8, outer: 4, inner: 5}
    ranges = {axis: Range(IntImm(0), IntImm(length)) for axis, length in lengths.items()}
    values = {parent: inner.var + outer.var * 5, other: other.var}
    assert not bound_checks(p.s[p.C], ranges, values, domains_checked=False)


def test_split_rejects_a_factor_that_reads_data() -> None:
    N = te.placeholder((1,), "int32", name="N")
    B = te.compute((8,), lambda i: i, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(ScheduleError, match=r"factor of axis i reads data: N\[0\]"):
        s[B].split(B.op.axis[0], factor=N[0])


def test_fuse_rejects_names_that_grow_without_end() -> None:
    B = te.compute((1000,), lambda i: i, name="B")
    s = te.create_schedule(B.op)
    axis = B.op.axis[0]
    for _ in range(9):
        axis = s[B].fuse(*s[B].split(axis, factor=3))
    parts = s[B].split(axis, factor=3)
    with pytest.raises(
        ScheduleError, match=r"name of the fused axis would have .* more than 20000"
    ):
        s[B].fuse(*parts)


@pytest.mark.parametrize("lengths", [{"factor": 3}, {"nparts": 3}])
def test_chains_of_split_and_fuse_do_not_double_expressions(lengths: dict[str, int]) -> None:
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: A[i] + 1, name="B")
    C = te.compute((1000,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    axis = C.op.axis[0]
    for _ in range(9):
        axis = s[C].fuse(*s[C].split(axis, **lengths))
    s[B].compute_at(s[C], axis)
    func = te_sched.lower(s, [A, C], stop_after="schedule_ops")["main"]
    assert sum(1 for _ in walk(func.body)) < 700
