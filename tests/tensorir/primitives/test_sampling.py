"""Sampled factors, choices and places of blocks, drawn or given as decisions."""

from __future__ import annotations

import re

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from te_sched.tensorir.primitives.sampling import _exponents, _mended
from tests.tensorir.programs import GIVEN, MATMUL, STAGES, function, program
from tests.tensorir.schedules import scheduled


@pytest.mark.parametrize(
    ("decision", "loops", "recorded"),
    [(0, ["i", "ax0"], 0), (1, ["i", "j"], 1), (7, ["i", "j"], 1), (-1, ["i", "j"], -1)],
)
def test_places_are_sampled_or_given(decision: int, loops: list[str], recorded: int) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    place = sch.sample_compute_location("B", decision=decision)
    sch.compute_at("B", place)
    assert [one.name for one in sch.get_loops("B")] == loops
    assert f"sch.sample_compute_location(block=b0, decision={recorded})" in str(sch.trace)


@pytest.mark.parametrize(
    ("loops", "sizes", "recorded"),
    [
        ("i, j, k", (1, 8, 2), [-1, 1, 1, 1]),
        ("i, j, k", (4, 1, 2), [0, 0, 0, 0]),
        ("k, i, j", (4, 8, 2), [0, 0, 0, 0]),
        ("k, i, j", (4, 8, 1), [-1, 1, 2, 2]),
        ("i, k, j", (4, 1, 2), [0, 1, 1, 1]),
        ("i, k, j", (4, 8, 1), [0, 0, 2, 2]),
    ],
)
def test_places_leave_out_loops_of_one_iteration_and_inside_reductions(
    loops: str, sizes: tuple[int, int, int], recorded: list[int]
) -> None:
    extents = dict(zip("ijk", sizes, strict=True))
    source = f"""
@T.prim_func
def main(A: T.Buffer({sizes}, "float32"), C: T.Buffer({sizes[:2]}, "float32")):
    B = T.alloc_buffer({sizes})
    for i, j, k in T.grid{sizes}:
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] + 1.0
    for {loops} in T.grid{tuple(extents[name] for name in loops.split(", "))}:
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[vi, vj, vk]
"""
    for decision, place in enumerate(recorded):
        sch = tir.Schedule(from_source(source))
        sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
        assert f"decision={place})" in str(sch.trace)
    a = np.arange(np.prod(sizes), dtype="float32").reshape(sizes)
    c = np.zeros(sizes[:2], "float32")
    te_sched.build(sch.mod)(a, c)
    np.testing.assert_allclose(c, (a + 1).sum(axis=2))


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ((2, 1, 2, 3, 2), [0, 2]),  # i is parallel, of one iteration: the loops of k0 and k1 count
        ((2, 3, 2, 3, 2), [0]),
        ((2, 1, 2, 1, 2), [0, 2]),
        ((2, 1, 1, 3, 2), [0]),
    ],
)
def test_parallel_loops_of_one_iteration_do_not_end_the_places_in_reductions(
    sizes: tuple[int, ...], places: list[int]
) -> None:
    _, m, _, n, _ = sizes
    source = f"""
@T.prim_func
def main(A: T.Buffer({sizes}, "float32"), C: T.Buffer(({m}, {n}), "float32")):
    B = T.alloc_buffer({sizes})
    for i0, i1, i2, i3, i4 in T.grid{sizes}:
        with T.block("B"):
            v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
            B[v0, v1, v2, v3, v4] = A[v0, v1, v2, v3, v4] + 1.0
    for k0, i, k1, j, k2 in T.grid{sizes}:
        with T.block("C"):
            v0, vi, v1, vj, v2 = T.axis.remap("RSRSR", [k0, i, k1, j, k2])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[v0, vi, v1, vj, v2]
"""
    sch = tir.Schedule(from_source(source), seed=1)
    for _ in range(100):
        sch.sample_compute_location("B")
    found = {int(one) for one in re.findall(r"decision=(-?\d+)", str(sch.trace))}
    assert sorted(found) == [-2, -1, *places]


@pytest.mark.parametrize(
    ("block", "decision", "recorded"),
    [("B", -3, -1), ("B", 0, -1), ("B", 1, 1), ("B", 3, 2), ("C", 0, -1), ("C", -2, -1)],
)
def test_places_that_are_none_mean_those_around_them(
    block: str, decision: int, recorded: int
) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    for place, factors in ((1, [8, 1]), (0, [1, 8])):
        sch.split(sch.get_loops("C")[place], factors)
    sch.sample_compute_location(block, decision=decision)
    assert str(sch.trace).rstrip().endswith(f"decision={recorded})")


@pytest.mark.parametrize(("decision", "recorded"), [(0, -1), (1, 1), (2, 1)])
def test_loops_around_a_block_are_no_places_for_it(decision: int, recorded: int) -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
    assert f"decision={recorded})" in str(sch.trace)
    assert len(sch.get_loops("B")) == 2


def test_blocks_that_begin_or_continue_others_stay() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    for name in ("C_init", "C_update"):
        sch.sample_compute_location(name, decision=0)
        assert str(sch.trace).rstrip().endswith("decision=-1)")


@pytest.mark.parametrize("decision", [None, -2, -1, 0, 1])
def test_results_that_others_read_stay(decision: int | None) -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] + 1, name="C")
    for seed in range(1, 2**31, 2**28):
        sch = tir.Schedule(te.create_prim_func([A, B, C]), seed=seed)
        sch.compute_at("B", sch.sample_compute_location("B", decision=decision))
        assert "decision=-1)" in str(sch.trace)  # as TVM


def test_a_sampled_place_may_be_inline() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.compute_at("B", sch.sample_compute_location("B", decision=-2))
    assert [sch.get(one).name_hint for one in sch.get_child_blocks("root")] == ["C"]
    assert "compute_inline" not in str(sch.trace)
    again = tir.Schedule(from_source(GIVEN + STAGES))
    sch.trace.apply_to_schedule(again, False)
    assert again.mod.script() == sch.mod.script()
    drawn = {
        tir.Schedule(from_source(GIVEN + STAGES), seed=seed).sample_compute_location("B").key.name
        for seed in range(1, 2**31, 2**26 + 3)
    }
    assert drawn == {"inline", "root", "i", "j"}


MATMUL_OF_COPY = function(
    "A:8,8 W:8,8 C:8,8",
    """
B = T.alloc_buffer((8, 8), "float32")
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SS", [i, k])
        B[vi, vk] = A[vi, vk] * T.float32(2)
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + B[vi, vk] * W[vk, vj]
""",
)


def test_a_data_parallel_loop_of_one_iteration_ends_the_reduction_loops() -> None:
    sch = tir.Schedule(program(MATMUL_OF_COPY))
    i, j, k = sch.get_loops("C")
    j_0, j_1 = sch.split(j, [8, 1])

    def places() -> set[str]:
        twins = [sch.copy() for _ in range(200)]
        return {twin.sample_compute_location("B").name for twin in twins}

    assert places() == {"inline", "root", "i", "j_0"}
    sch.reorder(i, j_0, k, j_1)
    assert places() == {"inline", "root", "i", "j_0", "k"}


@pytest.mark.parametrize(
    ("decision", "factors"),
    [
        ([2, 4], [2, 4]),
        ([3, 4], [2, 4]),
        ([1, 3], [1, 8]),
        ([1, 4, 2], [1, 4, 2]),
        ([9, 0], [1, 8]),
    ],
)
def test_decisions_that_do_not_divide_an_extent_are_changed(
    decision: list[int], factors: list[int]
) -> None:
    assert _mended(decision, 8) == factors
    sch = scheduled(MATMUL)
    sampled = sch.sample_perfect_tile(sch.get_loops("C")[0], len(decision), decision=decision)
    assert [sch.get(factor) for factor in sampled] == factors


@pytest.mark.parametrize(
    ("number", "exponents"), [(1, {}), (360, {2: 3, 3: 2, 5: 1}), (65537, {65537: 1})]
)
def test_prime_factors(number: int, exponents: dict[int, int]) -> None:
    assert _exponents(number) == exponents


def test_a_factor_is_at_most_a_limit_and_its_part_a_multiple() -> None:
    for seed in range(1, 9):
        sch = tir.Schedule(program(MATMUL), seed=seed)
        loop = sch.get_loops("C")[0]
        outer, inner = [sch.get(one) for one in sch.sample_perfect_tile(loop, 2, 2)]
        assert (outer * inner, inner <= 2) == (8, True)
        parts = [sch.get(one) for one in sch.sample_partitioned_tile(loop, 3, 1, 4)]
        assert (np.prod(parts), parts[1] * parts[2] % 4) == (8, 0)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sch.sample_perfect_tile(i, 1)", "cannot tile loop i into 1 loops"),
        ("sch.sample_perfect_tile(i, 65)", "cannot tile loop i into 65 loops"),
        ("sch.sample_partitioned_tile(i, 2, 3)", "cannot partition 2 factors of loop i"),
        ("sch.sample_partitioned_tile(i, 2, 1, 0)", "cannot partition 2 factors of loop i"),
        ("sch.sample_categorical([1, 2], [0.5])", "2 candidates have 1 probabilities"),
        ("sch.sample_categorical([1], [0.0])", "are not those of a choice"),
        ("sch.sample_categorical([1, 2], [1, -1])", "are not those of a choice"),
        ("sch.sample_categorical([1, 2], [1, 1], 2)", "there is no candidate 2"),
    ],
)
def test_sampling_rejects(code: str, message: str) -> None:
    sch = scheduled(MATMUL)
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": sch, "i": sch.get_loops("C")[0]})
    assert sch.trace.insts[-1].kind.name == "GetLoops"
