"""The table of CUTLASS."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.relax.backend import get_pattern
from te_sched.relax.backend.contrib.cutlass import (
    is_shape_valid_for_cutlass_matmul,
    partition_for_cutlass,
)
from tests.relax.backend.partitioned import A, B, composites_of, module_of


def test_attention() -> None:
    size = ((1, 4, 2, 8), "float16")
    mod = module_of(
        dict.fromkeys("qkv", size), lambda builder, q, k, v: relax.op.nn.attention(q, k, v)
    )
    assert composites_of(partition_for_cutlass(mod)) == ["cutlass.attention"]
    assert str(get_pattern("cutlass.attention_var_len").pattern).count("*") == 7


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((3, 16, 15), (15, 2), True),
        ((3, 2, 1, 16, 15), (1, 1, 3, 2, 1, 15, 2), True),
        ((3, 4, 16, 15), (3, 2, 15, 2), False),
        ((3, A, 16, 15), (3, B, 15, 2), False),
        ((3, A, 16, 15), (3, A, 15, 2), True),
        ((3, A), (A, 5), False),
    ],
)
def test_shapes_of_cutlass(left: Any, right: Any, expected: bool) -> None:
    assert is_shape_valid_for_cutlass_matmul(left, right) is expected
