"""Random decisions: those that TVM 0.19 made with the same seeds."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.script import from_source
from te_sched.tensorir.random_numbers import RandomNumbers
from tests.tensorir.programs import GIVEN, MATMUL, function


def _copy(extent: int) -> tir.Schedule:
    body = f"""
for i in range({extent}):
    with T.block("B"):
        vi = T.axis.spatial({extent}, i)
        B[vi] = A[vi]
"""
    text = function(f"A:{extent} B:{extent}", body)
    return tir.Schedule(from_source(GIVEN + text), seed=99991)


@pytest.mark.parametrize(
    ("extent", "count", "recorded"),
    [
        (64, 3, [2, 4, 8]),
        (30, 3, [2, 3, 5]),
        (60, 4, [6, 1, 2, 5]),
        (36, 4, [2, 3, 6, 1]),
        (24, 3, [2, 1, 12]),
    ],
)
def test_tiles_are_those_of_tvm(extent: int, count: int, recorded: list[int]) -> None:
    sch = _copy(extent)
    factors = sch.sample_perfect_tile(sch.get_loops("B")[0], count, max_innermost_factor=1000)
    assert [sch.get(one) for one in factors] == recorded


def test_partitioned_tiles_are_those_of_tvm() -> None:
    sch = _copy(60)
    factors = sch.sample_partitioned_tile(sch.get_loops("B")[0], 4, 2, 12)
    assert [sch.get(one) for one in factors] == [1, 5, 6, 2]


def test_a_partition_that_does_not_exist_is_inferred() -> None:
    sch = _copy(60)
    factors = sch.sample_partitioned_tile(sch.get_loops("B")[0], 2, 2, 4)
    assert [sch.get(one) for one in factors] == [-1, 1]


def test_choices_are_those_of_tvm() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL), seed=42)
    drawn = [sch.get(sch.sample_categorical([*range(10)], [0.1] * 10)) for _ in range(8)]
    assert drawn == [5, 4, 9, 7, 2, 5, 0, 4]


def test_forked_seeds_are_those_of_tvm() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL), seed=1)
    assert [sch.fork_seed() for _ in range(2)] == [1581695857, 1444132755]
    assert tir.Schedule(from_source(GIVEN + MATMUL), seed=77).copy().fork_seed() == 1850172346


def test_luck_has_a_limit() -> None:
    sch = _copy(1024)
    sch.random = RandomNumbers(99991)
    factors = sch.sample_partitioned_tile(sch.get_loops("B")[0], 64, 63, 1024)
    assert [sch.get(one) for one in factors] == [1] * 63 + [1024]


def test_large_primes_are_found_soon() -> None:
    sch = _copy(2**31 - 1)
    factors = sch.sample_perfect_tile(sch.get_loops("B")[0], 2)
    assert [sch.get(one) for one in factors] == [2**31 - 1, 1]


def test_tiles_of_dynamic_loops_are_inferred() -> None:
    text = """
@T.prim_func
def main(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            A[vi] = 1.0
"""
    sch = tir.Schedule(from_source(GIVEN + text))
    (loop,) = sch.get_loops("B")
    factors = sch.sample_perfect_tile(loop, n=3)
    assert factors[0] is None
    assert [sch.get(one) for one in factors[1:]] == [1, 1]
    sch.split(loop, factors)
    lines = sch.trace.as_python()
    assert lines[2].startswith("_, v3, v4 = sch.sample_perfect_tile(loop=l1, n=3")
    assert lines[3].startswith("l5, l6, l7 = sch.split(loop=l1, factors=[None, v3, v4]")
    assert sch.trace.as_json()[0][2][3] == ["_", "v3", "v4"]
    again = tir.Schedule(from_source(GIVEN + text))
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert (again.mod.script(), str(again.trace)) == (sch.mod.script(), str(sch.trace))
