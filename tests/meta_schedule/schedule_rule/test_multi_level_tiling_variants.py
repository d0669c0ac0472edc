"""Tiles for intrinsics and wide vectors."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    bytes_product,
    check_product,
    product,
    space,
    steps,
)


def test_multi_level_tiling_with_intrin_makes_a_block_of_its_tile() -> None:
    (sch,) = space(bytes_product(), rules.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SRS"))
    (block,) = [one for one in sch.get_child_blocks("root") if one.name == "C_o"]
    marks = sch.get(block).annotations
    assert marks["meta_schedule.auto_tensorize"] == "dot_16x4_vnni"
    outer = sch.get_loops(block)[0]
    sch.decompose_reduction(block, outer)
    (update,) = [b for b in sch.get_child_blocks("root") if b.name == "C_o_update"]
    sch.tensorize(update, "dot_16x4_vnni")


@pytest.mark.parametrize("func", [bytes_product("int8"), bytes_product(n=8), product()])
def test_multi_level_tiling_with_intrin_leaves_other_blocks(func: Any) -> None:
    (sch,) = space(func, rules.MultiLevelTilingWithIntrin("dot_16x4_vnni", "SRS"))
    assert steps(sch) == []


def test_multi_level_tiling_with_intrin_rejects_a_name() -> None:
    with pytest.raises(DeclarationError, match="there is no intrinsic 'absent'"):
        rules.MultiLevelTilingWithIntrin("absent", "SRS")


@pytest.mark.parametrize(("bits", "lanes"), [(128, 4), (1024, 16)])
def test_multi_level_tiling_wide_vector(bits: int, lanes: int) -> None:
    (sch,) = space(product(), rules.MultiLevelTilingWideVector("SSRS", bits))
    inner = [sch.get(loop) for loop in sch.get_loops("C") if loop.name.startswith("j")]
    assert inner[-1].extent == lanes
    check_product(sch)


def test_multi_level_tiling_wide_vector_rejects_a_size() -> None:
    with pytest.raises(DeclarationError, match="a vector has 0 bits"):
        rules.MultiLevelTilingWideVector("SRS", 0)
