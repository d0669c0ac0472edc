"""Blocks that fit a multiprocessor, as NVIDIA's calculator of occupancy has them."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.codegen.checker.occupancy import estimate

CASES = [  # threads, shared bytes, registers, architecture: blocks, occupancy, limit
    ((1024, 0, None, "sm_80"), (2, 1.0, "threads")),
    ((1024, 0, None, "sm_75"), (1, 1.0, "threads")),
    ((32, 0, None, "sm_80"), (32, 0.5, "blocks")),
    ((33, 0, None, "sm_80"), (32, 1.0, "blocks")),  # two warps
    ((256, 0, 255, "sm_90"), (1, 0.125, "registers")),
    ((256, 0, 32, "sm_80"), (8, 1.0, "threads")),
    ((128, 49152, None, "sm_80"), (3, 0.1875, "shared memory")),  # and 1 KiB of the system each
    ((128, 83968, None, "sm_80"), (1, 0.0625, "shared memory")),
    ((128, 32768, None, "sm_75"), (2, 0.25, "shared memory")),
    ((128, 1 << 20, None, "sm_90"), (0, 0.0, "shared memory")),
]


@pytest.mark.parametrize(("block", "expected"), CASES)
def test_estimate(block: Any, expected: tuple[int, float, str]) -> None:
    threads, shared, registers, arch = block
    facts = estimate(threads, shared, registers)[arch]
    assert (facts["blocks"], facts["occupancy"], facts["limited_by"]) == expected
    assert facts["warps"] == facts["blocks"] * -(-threads // 32)
