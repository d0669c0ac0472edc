"""Kinds and extents of iterators and loops."""

import pytest

from te_sched import te, tir
from te_sched.tensorir.facts import axes
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from tests.meta_schedule.programs import MODULE


def product():
    """The iterators of a product of 64 x 64 matrices, and a schedule of it."""
    sch = tir.Schedule(MODULE)
    return sch, sch.get(sch.get_block("C")).iter_vars


def test_extents_of_iterators_loops_and_axes():
    sch, iterators = product()
    assert [axes.extent_of(one) for one in iterators] == [64, 64, 64]
    assert axes.extent_of(sch.get(sch.get_loops("C")[0])) == 64
    assert axes.extent_of(te.reduce_axis((0, te.var("n")))) is None
    assert axes.extent_of(te.thread_axis("threadIdx.x")) is None


def test_sizes_are_products_with_a_guess_for_unknown_extents():
    columns, rows = te.reduce_axis((0, 8)), te.reduce_axis((0, te.var("n")))
    assert axes.size_of([]) == 1
    assert axes.size_of([columns, rows]) == 8
    assert axes.size_of([columns, rows], unknown=3) == 24
    assert axes.assumed_size([columns, rows]) == 8 * 64


@pytest.mark.parametrize(
    ("extent", "most", "factor"), [(12, 5, 4), (7, 6, 1), (7, 9, 7), (0, 4, 1), (None, 4, 1)]
)
def test_the_largest_divisor_up_to_a_limit(extent, most, factor):
    assert axes.largest_divisor(extent, most) == factor


def test_kinds_of_iterators():
    _, iterators = product()
    assert [one.kind for one in iterators] == [SPATIAL, SPATIAL, REDUCTION]
    assert [axes.letter_of(one) for one in (SPATIAL, REDUCTION, "Opaque")] == ["S", "R", "O"]
    assert axes.are_spatial(iterators[:2])
    assert not axes.are_spatial(iterators)


def test_iterators_that_depend_on_a_loop():
    sch, (row, _, depth) = product()
    i, _, k = sch.get_loops("C")
    fused = sch.fuse(*sch.get_loops("C")[:2])
    realize = sch.realize(sch.get_block("C").key)
    assert len(axes.bound_axes(realize, fused.key)) == 2
    assert axes.bound_axes(realize, k.key)[0].var is depth.var
    assert axes.bound_axes(realize, i.key) == []
    assert row.kind == SPATIAL


def test_variables_in_the_values_of_iterators_of_a_kind():
    sch, _ = product()
    i, j, k = [loop.key for loop in sch.get_loops("C")]
    realize = sch.realize(sch.get_block("C").key)
    assert axes.values_of_kind(realize, SPATIAL) == {i, j}
    assert axes.values_of_kind(realize, REDUCTION) == {k}
