"""Tiles of several levels, and their caches."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.schedule_rule import ReuseType
from tests.meta_schedule.schedule_rule.spaces import (
    GPU,
    TILING,
    check_product,
    product,
    row_sums,
    space,
    steps,
)


def test_multi_level_tiling_caches_what_it_writes_or_not() -> None:
    spaces = space(product(), TILING)
    assert [steps(sch)[-2:] for sch in spaces] == [
        ["cache_write", "reverse_compute_at"],
        ["cache_write", "reverse_compute_at"],
        ["split", "reorder"],
    ]
    for sch in spaces:
        check_product(sch)


def test_multi_level_tiling_takes_the_consumer_as_cache() -> None:
    relu = lambda C, i, j: te.max(C[i, j], 0.0)  # noqa: E731
    spaces = space(product(bias=relu), TILING)
    assert [steps(sch)[-1] for sch in spaces] == ["reorder", *["reverse_compute_at"] * 2]
    for sch in spaces:
        check_product(sch, relu=True)


def test_multi_level_tiling_leaves_blocks_without_reuse() -> None:
    assert [steps(sch) for sch in space(row_sums(), TILING)] == [[]]


def test_an_iterator_of_one_iteration_is_no_reuse() -> None:
    A, k = te.placeholder((16, 64), name="A"), te.reduce_axis((0, 64), "k")
    C = te.compute((16, 1), lambda i, j: te.sum(A[i, k], axis=k), name="C")
    assert [steps(sch) for sch in space(te.create_prim_func([A, C]), TILING)] == [[]]


def test_multi_level_tiling_takes_what_a_filter_accepts() -> None:
    rule = rules.MultiLevelTiling("SRS", filter_fn=lambda sch, block: block.name == "C")
    (sch,) = space(row_sums(), rule)
    assert [loop.name for loop in sch.get_loops("C")] == ["i_0", "k", "i_1"]


def test_multi_level_tiling_for_a_gpu_binds_and_fetches() -> None:
    rule = rules.MultiLevelTiling(
        "SSSRRSRS",
        tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
        vector_load_lens=[1, 2],
        reuse_read={"req": "must", "levels": [4], "scope": "shared"},
        reuse_write={"req": "must", "levels": [3], "scope": "local"},
    )
    (sch,) = space(product(), rule, target=GPU)
    marks = dict(sch.get(sch.get_block("C")).annotations)
    assert marks["meta_schedule.thread_extent_low_inclusive"] == 32
    fetched = sch.get(sch.get_block("A_shared")).annotations
    assert fetched["meta_schedule.cooperative_fetch"] in (1, 2)
    assert len(space(product(), rule, target="nvidia/nvidia-a100")) == 3


def test_write_cache_level_states_where_the_cache_is() -> None:
    sch = tir.Schedule(product())
    sch.annotate("C", "meta_schedule.write_cache_level", [2])
    (found,) = space(sch.mod, TILING)
    assert steps(found)[-2:] == ["cache_write", "reverse_compute_at"]


@pytest.mark.parametrize("structure", ["SXR", ""])
def test_multi_level_tiling_rejects_a_structure(structure: Any) -> None:
    with pytest.raises(DeclarationError, match="is not a tiling structure"):
        rules.MultiLevelTiling(structure)


@pytest.mark.parametrize(
    ("reuse", "match"),
    [
        (3, "reuse_read is 3, expected a ReuseType"),
        (ReuseType("may", [1], "shared"), "reuse_read cannot be required as 'may'"),
        (ReuseType("must", [4], "shared"), r"reuse_read has levels \[4\]"),
    ],
)
def test_multi_level_tiling_rejects_a_reuse(reuse: Any, match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        rules.MultiLevelTiling("SRS", reuse_read=reuse)
