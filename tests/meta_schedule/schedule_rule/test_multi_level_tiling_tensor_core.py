"""Tiles for tensor cores."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.schedule_rule.multi_level_tiling_tensor_core import IntrinGroup
from te_sched.tensorir.tensor_intrin.cuda import get_wmma_intrin_group
from tests.meta_schedule.schedule_rule.spaces import (
    GPU,
    product,
    space,
    steps,
)

SHARED = {"req": "must", "levels": [4], "scope": "shared"}


RESULT = {"req": "must", "levels": [2], "scope": "shared"}


def _tensor_core(**options: Any) -> rules.MultiLevelTilingTensorCore:
    given: dict[str, Any] = {
        "intrin_groups": [
            get_wmma_intrin_group("shared", "shared", "float16", "float32", is_trans)
            for is_trans in (False, True)
        ],
        "structure": "SSSRRSRS",
        "tile_binds": ["blockIdx.y", "blockIdx.x", "threadIdx.y"],
        "max_innermost_factor": 4,
        "vector_load_lens": [1, 2, 3, 4, 8, 16],
        "reuse_read": SHARED,
        "reuse_write": RESULT,
    }
    return rules.MultiLevelTilingTensorCore(**(given | options))


def _half_product(n: Any = 64, element: Any = lambda B, i, j, k: B[k, j]) -> tir.PrimFunc:
    A, B = te.placeholder((n, 64), "float16", "A"), te.placeholder((64, 64), "float16", "B")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute(
        (n, 64),
        lambda i, j: te.sum(
            A[i, k].astype("float32") * element(B, i, j, k).astype("float32"), axis=k
        ),
        name="C",
    )
    return te.create_prim_func([A, B, C])


@pytest.mark.parametrize("n", [64, 60])
def test_tensor_core_makes_fragments(n: int) -> None:
    spaces = space(_half_product(n), _tensor_core(), target=GPU)
    assert len(spaces) == 2
    for sch, trans in zip(spaces, ("", "_trans"), strict=True):
        names = [
            entry.arguments["ann_val"]
            for entry in sch.trace.entries
            if entry.arguments.get("ann_key") == "meta_schedule.auto_tensorize"
        ]
        assert names == [
            f"wmma_sync_16x16x16_f16f16f32{trans}",
            "wmma_store_16x16x16_f32_shared",
            "wmma_load_16x16x16_f16_a_shared",
            f"wmma_load_16x16x16_f16_b{trans}_shared",
        ]


def test_tensor_core_annotates_a_pipeline() -> None:
    rule = _tensor_core(use_software_pipeline=True)
    sch, _ = space(_half_product(), rule, target=GPU)
    last = [entry for entry in sch.trace.entries if entry.method == "annotate"][-1]
    assert last.arguments["ann_key"] == "software_pipeline_order"


@pytest.mark.parametrize(
    "func",
    [
        product(64, 64, 64),
        _half_product(te.var("n")),
        _half_product(element=lambda B, i, j, k: B[i, j]),
        _half_product(element=lambda B, i, j, k: B[k, j] + tir.const(1.0, "float16")),
    ],
)
def test_tensor_core_leaves_other_blocks(func: Any) -> None:
    (sch,) = space(func, _tensor_core(), target=GPU)
    assert steps(sch) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"reuse_write": None}, "reuse_write of MultiLevelTilingTensorCore is None"),
        ({"intrin_groups": [{"init": "f"}]}, "is not a group of intrinsics"),
        ({"intrin_groups": [dict.fromkeys(IntrinGroup._fields, "f")]}, "there is no intrinsic"),
    ],
)
def test_tensor_core_rejects(options: Any, match: str) -> None:
    with pytest.raises(DeclarationError, match=match):
        _tensor_core(**options)


def test_groups_of_wmma_intrinsics_are_of_known_types() -> None:
    with pytest.raises(DeclarationError, match="in_dtype of a group of wmma intrinsics is 'f'"):
        get_wmma_intrin_group("shared", "shared", "f", "float32", False)
