"""Convolutions and dense layers in blocked layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import topi
from te_sched.topi.testing import convolution
from tests.topi.inputs import IMAGES, X
from tests.topi.running import Case, case, check, floats


def blocked(x: Any, block: int) -> Any:
    n, c, h, w = x.shape
    return np.ascontiguousarray(x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def whole(x: Any) -> Any:
    n, c, h, w, b = x.shape
    return x.transpose(0, 1, 4, 2, 3).reshape(n, c * b, h, w)


def kernel_of(blocks: Any) -> Any:
    o, i, h, w, ib, ob = blocks.shape
    return blocks.transpose(0, 5, 1, 4, 2, 3).reshape(o * ob, i * ib, h, w)


def conv_blocked(stride: int, groups: int) -> Any:
    def reference(x: Any, k: Any) -> Any:
        pads, steps = (1, 1), (stride, stride)
        out = convolution(whole(x), kernel_of(k), steps, pads, pads, (1, 1), groups)
        return blocked(out, k.shape[5]).astype("float32")

    return reference


CASES = [
    *[
        case(
            f"conv2d_NCHWc-{stride}-{groups}",
            lambda x, k, s=stride: topi.nn.conv2d_NCHWc(x, k, s, 1, 1, "NCHW2c", "NCHW3c"),
            conv_blocked(stride, groups),
            blocked(IMAGES, 2),
            floats(2, 2 // groups, 3, 3, 2, 3),
        )
        for stride in (1, 2)
        for groups in (1, 2)
    ],
    case(
        "depthwise_conv2d_NCHWc",
        lambda x, k: topi.nn.depthwise_conv2d_NCHWc(x, k, 1, 1, 1, "NCHW2c", "NCHW4c"),
        lambda x, k: blocked(
            convolution(whole(x), kernel_of(k), (1, 1), (1, 1), (1, 1), (1, 1), 4), 4
        ).astype("float32"),
        blocked(IMAGES, 2),
        floats(2, 1, 3, 3, 1, 4),
    ),
    case(
        "unpack_NCHWc",
        lambda x: topi.nn.unpack_NCHWc_to_nchw(x, "float32"),
        whole,
        floats(2, 2, 3, 3, 4),
    ),
    case(
        "dense_pack",
        topi.nn.dense_pack,
        lambda x, w, b: x @ w.transpose(1, 0, 2).reshape(6, 4) + b,
        X,
        floats(2, 6, 2),
        floats(4),
    ),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
