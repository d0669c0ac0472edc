"""Blocks among their loops and in their functions."""

from te_sched import te, tir
from te_sched.tensorir.facts import nests
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL


def schedule():
    """A product of matrices and what is computed from it."""
    A, B = (te.placeholder((8, 8), name=name) for name in "AB")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((8, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((8, 8), lambda i, j: C[i, j] + 1.0, name="D")
    return tir.Schedule(te.create_prim_func([A, B, D]))


def keys(sch, *names):
    return [sch.get_block(name).key for name in names]


def loops(sch, name):
    return [loop.key for loop in sch.get_loops(name)]


def test_roots_and_results():
    sch = schedule()
    root, product, added = keys(sch, "root", "C", "D")
    assert [nests.is_root(sch, one) for one in (root, product)] == [True, False]
    assert [nests.is_output(sch, one) for one in (product, added)] == [False, True]
    assert [one.name for one in nests.blocks_inside(sch, root)] == ["root", "C", "D"]
    assert not nests.is_spatial_function(sch, product)


def test_kinds_of_loops():
    sch = schedule()
    (product,) = keys(sch, "C")
    i, j, k = loops(sch, "C")
    assert [nests.kind_of_loop(sch, product, one) for one in (i, j, k)] == [
        *(SPATIAL, SPATIAL, REDUCTION)
    ]
    assert nests.loops_of_kind(sch, product, SPATIAL) == [i, j]
    assert [nests.is_data_parallel(sch, one) for one in (i, k)] == [True, False]
    fused = sch.fuse(*sch.get_loops("C")).key
    assert nests.loop_kinds(sch, product, fused) == {SPATIAL, REDUCTION}
    assert nests.kind_of_loop(sch, product, fused) == ""


def test_loops_that_are_the_iterators():
    sch = schedule()
    (product,) = keys(sch, "C")
    assert nests.is_trivially_bound(sch, product)
    outer, inner = sch.split(sch.get_loops("C")[0], [2, None])
    assert not nests.is_trivially_bound(sch, product)
    assert (nests.loop_extent(sch, outer.key), nests.loop_extent(sch, inner.key)) == (2, 4)


def test_numbers_of_iterations():
    sch = schedule()
    product, added = keys(sch, "C", "D")
    assert nests.lengths(sch, product) == (64, 8)
    assert nests.lengths(sch, added) == (64, 1)
    sch.fuse(*sch.get_loops("C"))
    assert nests.lengths(sch, product) is None


def test_loops_around_several_statements():
    sch = schedule()
    sch.compute_at(sch.get_block("C"), sch.get_loops("D")[0])
    outer, inner = sch.get_loops("D")
    assert nests.has_several_statements(sch.get(outer))
    assert not nests.has_several_statements(sch.get(inner))
