"""Pools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.topi import nn
from tests.topi import reference
from tests.topi.layers import IMAGE, SIGNAL, nchw, nhwc
from tests.topi.running import Case, case, check, floats


def pool(*given: Any, **more: Any) -> Case:
    window, stride, dilation, padding, kind = given
    return case(
        f"pool2d-{given}-{more}",
        lambda x: nn.pool2d(x, *given, **more),
        lambda x: reference.pooling(x, window, stride, dilation, padding, kind, **more),
        IMAGE,
    )


CASES = [
    pool((2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max"),
    pool((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max"),
    pool((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg"),
    pool((3, 2), (1, 2), (1, 1), (1, 0, 2, 1), "avg", count_include_pad=False),
    pool((3, 3), (2, 2), (1, 1), (0, 0, 0, 0), "avg", ceil_mode=True),
    pool((3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg", ceil_mode=True, count_include_pad=False),
    pool((2, 2), (1, 1), (2, 3), (1, 1, 1, 1), "avg", count_include_pad=False),
    pool((2, 2), (2, 2), (2, 2), (0, 1, 2, 0), "max"),
    case(
        "pool2d_nhwc",
        lambda x: nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1), "max", layout="NHWC"),
        lambda x: nhwc(reference.pooling(nchw(x), (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max")),
        nhwc(IMAGE),
    ),
    case(
        "pool2d_nchw4c",
        lambda x: nn.pool2d(x, 3, 2, 1, 1, "avg", layout="NCHW4c"),
        lambda x: np.stack(
            [
                reference.pooling(x[..., c], (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg")
                for c in range(4)
            ],
            -1,
        ),
        floats(2, 3, 6, 5, 4),
    ),
    case(
        "adaptive_nchw4c",
        lambda x: nn.adaptive_pool(x, (3, 2), "avg", "NCHW4c"),
        lambda x: np.stack([reference.adaptive(x[..., c], (3, 2), "avg") for c in range(4)], -1),
        floats(2, 3, 6, 5, 4),
    ),
    case(
        "pool1d",
        lambda x: nn.pool1d(x, 3, 2, 1, (1, 1), "avg"),
        lambda x: reference.pooling(x, (3,), (2,), (1,), (1, 1), "avg"),
        SIGNAL,
    ),
    case(
        "pool3d",
        lambda x: nn.pool3d(x, (2, 2, 2), (2, 1, 2), (1, 1, 1), (0, 0, 0, 1, 0, 1), "max"),
        lambda x: reference.pooling(x, (2, 2, 2), (2, 1, 2), (1, 1, 1), (0, 0, 0, 1, 0, 1), "max"),
        floats(1, 2, 5, 4, 3),
    ),
    *[
        case(
            f"adaptive-{size}-{kind}",
            lambda x, size=size, kind=kind: nn.adaptive_pool(x, size, kind),
            lambda x, size=size, kind=kind: reference.adaptive(x, size, kind),
            IMAGE,
        )
        for size in ((1, 1), (3, 2), (4, 6))
        for kind in ("max", "avg")
    ],
    case(
        "adaptive_1d",
        lambda x: nn.adaptive_pool1d(x, 3, "avg"),
        lambda x: reference.adaptive(x, (3,), "avg"),
        SIGNAL,
    ),
    case(
        "global_avg",
        lambda x: nn.global_pool(x, "avg"),
        lambda x: x.mean((2, 3), keepdims=True),
        IMAGE,
    ),
    case(
        "global_max_nhwc",
        lambda x: nn.global_pool(x, "max", "NHWC"),
        lambda x: x.max((1, 2), keepdims=True),
        nhwc(IMAGE),
    ),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
