"""Layouts of convolutions and pools."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax.op import nn
from te_sched.relax.operators.spatial_layouts import (
    check_layout,
    check_rank_of_layout,
    rank_of,
    to_layout,
)
from tests.relax.operator_tables import N, tensor, unknown

CALL = nn.max_pool2d(tensor(1, 3, 8, 8))


@pytest.mark.parametrize(("layout", "rank"), [("NCW", 3), ("NCHW16c", 5), ("OIHW4o16i", 6)])
def test_rank_counts_blocks(layout: str, rank: int) -> None:
    assert rank_of(layout) == rank


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "WHCN", "NCHW16c", "NHWC4c2n"])
def test_layouts_of_the_letters_are_accepted(layout: str) -> None:
    check_layout(CALL, "layout", layout, "NCHW")


@pytest.mark.parametrize(
    "layout", ["NCH", "NCHWD", "NNHW", "OIHW", "NCHWc", "NCHW16x", "N-CHW", "nchw", ""]
)
def test_other_layouts_are_refused(layout: str) -> None:
    with pytest.raises(GraphError, match=f"layout of relax.nn.max_pool2d is '{layout}'"):
        check_layout(CALL, "layout", layout, "NCHW")


def test_a_tensor_has_the_rank_of_its_layout() -> None:
    check_rank_of_layout(CALL, 0, unknown().struct_info, "NCHW")
    check_rank_of_layout(CALL, 0, unknown(5).struct_info, "NCHW4c")
    with pytest.raises(GraphTypeError, match="expected a tensor of the layout NCHW4c"):
        check_rank_of_layout(CALL, 0, unknown(4).struct_info, "NCHW4c")


@pytest.mark.parametrize(
    ("sizes", "source", "target", "expected"),
    [
        ((1, 3, 5, 7), "NCHW", "NHWC", ["1", "5", "7", "3"]),
        ((1, 8, 5, 7), "NCHW", "NCHW4c", ["1", "2", "5", "7", "4"]),
        ((1, 2, 5, 7, 4), "NCHW4c", "NHWC", ["1", "5", "7", "8"]),
        ((1, N, 5), "NCW", "NWC", ["1", "5", "n"]),
        ((1, N, 5), "NCW", "NCW", ["1", "n", "5"]),
    ],
)
def test_sizes_in_another_layout(
    sizes: tuple[object, ...], source: str, target: str, expected: list[str]
) -> None:
    values = relax.ShapeExpr(sizes).values
    new = to_layout(relax.BlockBuilder(), values, source, target)
    assert [str(getattr(size, "value", size)) for size in new] == expected
    assert {size.dtype for size in new} == {"int64"}
