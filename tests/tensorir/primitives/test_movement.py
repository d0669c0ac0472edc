"""Blocks that are computed in loops of their consumers and producers."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, STAGES, function, program
from tests.tensorir.schedules import check_same, scheduled

COPY = """
@T.prim_func
def main(x: T.handle, y: T.handle, n: T.int32):
    X = T.match_buffer(x, (n * 32,))
    Y = T.match_buffer(y, (n * 32,))
    for k in range(n * 32):
        with T.block("Y"):
            vk = T.axis.spatial(n * 32, k)
            Y[vk] = X[vk] + 1.0
"""


ROWS = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n))
    C = T.match_buffer(b, (4, n))
    B = T.alloc_buffer((4, n))
    for f in range(n * 4):
        with T.block("B"):
            v0 = T.axis.spatial(4, f // n)
            v1 = T.axis.spatial(n, f % n)
            B[v0, v1] = A[v0, v1] * 2.0
    for f in range(n * 4):
        with T.block("C"):
            v0 = T.axis.spatial(4, f // n)
            v1 = T.axis.spatial(n, f % n)
            C[v0, v1] = B[v0, v1] + 1.0
"""


def test_a_cache_is_moved_below_a_loop_of_symbolic_extent() -> None:
    sch = tir.Schedule(from_source(GIVEN + COPY))
    outer, _ = sch.split(sch.get_loops("Y")[0], [None, 32])
    sch.compute_at(sch.cache_read("Y", 0, "global"), outer)
    assert "T.where" not in sch.mod.script()
    x = np.arange(64, dtype="float32")
    y = np.zeros(64, "float32")
    te_sched.build(sch.mod, target="llvm")(x, y, 2)
    np.testing.assert_array_equal(y, x + 1)


def test_parts_of_a_fused_loop_of_symbolic_extent_are_in_their_domains() -> None:
    sch = tir.Schedule(from_source(GIVEN + ROWS))
    sch.reverse_compute_at("C", sch.get_loops("B")[0], preserve_unit_loops=True)
    text = sch.mod.script()
    assert "v0 = T.axis.spatial(4, f // n + ax0)" in text
    assert "T.where" not in text  # an iteration of f has n > 0
    a = np.random.default_rng(0).random((4, 5), dtype="float32")
    c = np.zeros((4, 5), "float32")
    te_sched.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_allclose(c, a * 2 + 1)


def test_compute_at_keeps_within_the_iterators_where_outer_loops_have_one_iteration() -> None:
    sch = tir.Schedule(program(STAGES.replace("8", "1")))
    i, _ = sch.get_loops("C")
    outer, _ = sch.split(i, [None, 4])
    sch.compute_at("B", outer, preserve_unit_loops=True)
    assert [sch.get(loop).extent for loop in sch.get_loops("B")] == [1, 1, 1]


def test_a_producer_computes_what_its_consumers_need() -> None:
    text = STAGES.replace("B[vi, vj] + 1.0", "B[vi, vj] + B[vi, 7 - vj]")
    sch = scheduled(text)
    sch.compute_at("B", sch.get_loops("C")[0])
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("B")] == [8, 8]
    check_same(sch, text)


def test_a_consumer_follows_its_producer() -> None:
    sch = scheduled(MATMUL)
    sch.reverse_compute_at("D", sch.get_loops("C")[0])
    assert [loop.name for loop in sch.get_loops("D")] == ["i", "ax0"]
    check_same(sch, MATMUL)


@pytest.mark.parametrize(("index", "names"), [(-1, "ABC"), (-2, "BAC"), (0, "BAC"), (1, "ABC")])
def test_places_among_statements(index: int, names: str) -> None:
    text = function(
        "X:8 C:8",
        "A = T.alloc_buffer((8,))\nB = T.alloc_buffer((8,))\n"
        + "".join(
            f"for i in range(8):\n    with T.block('{name}'):\n"
            f"        vi = T.axis.spatial(8, i)\n        {name}[vi] = {value}\n"
            for name, value in (("A", "X[vi]"), ("B", "X[vi] + 1.0"), ("C", "A[vi] * B[vi]"))
        ),
    )
    sch = scheduled(text)
    loop = sch.get_loops("C")[0]
    sch.compute_at("A", loop)
    sch.compute_at("B", loop, index=index)
    assert "".join(block.name for block in sch.get_child_blocks(loop)) == names
    check_same(sch, text)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sch.compute_at('C', sch.get_loops('C')[0])", "i is an ancestor of block C already"),
        ("sch.compute_at('D', sch.get_loops('C')[0])", "it is an output block"),
        ("sch.reverse_compute_at('D', sch.get_loops('D')[0])", "i is an ancestor of block D"),
        (
            "sch.compute_at('C', sch.get_loops('D')[0], index=5)",
            "index 5 is not after its producers",
        ),
        ("sch.compute_at('root', sch.get_loops('D')[0])", "cannot move the root block"),
    ],
)
def test_movements_reject(code: str, message: str) -> None:
    sch = scheduled(MATMUL)
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": sch})
    assert sch.mod.script() == before


def test_a_place_that_is_sampled_may_be_inline() -> None:
    for action, name, left in (("compute_at", "B", "C"), ("reverse_compute_at", "C", "B")):
        sch = scheduled(STAGES)
        place = sch.sample_compute_location("B", decision=-2)
        getattr(sch, action)(name, place)
        assert [block.name for block in sch.get_child_blocks("root")] == [left]
        assert str(sch.get(sch.get_block(left)).writes[0].buffer.name) == "C"
