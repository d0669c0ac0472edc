"""Layers that move elements."""

from __future__ import annotations

import pytest

from te_sched import topi
from te_sched.topi import nn
from tests.topi.layers import IMAGE
from tests.topi.running import Case, case, check, floats

OTHERS = [
    case(
        "upsampling",
        lambda x: nn.upsampling(x, 2, 3),
        lambda x: x.repeat(2, 2).repeat(3, 3),
        IMAGE,
    ),
    case(
        "depth_to_space",
        lambda x: nn.depth_to_space(x, 2),
        lambda x: x.reshape(2, 2, 2, 1, 7, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 14, 12),
        IMAGE,
    ),
    case(
        "space_to_depth",
        lambda x: nn.space_to_depth(nn.depth_to_space(x, 2), 2),
        lambda x: x,
        IMAGE,
    ),
]


LAYERS = [
    case(
        "upsampling3d",
        lambda x: topi.nn.upsampling3d(x, 1, 2, 3),
        lambda x: x.repeat(2, 3).repeat(3, 4),
        floats(1, 2, 2, 3, 2),
    )
]


@pytest.mark.parametrize("one", [*OTHERS, *LAYERS], ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
