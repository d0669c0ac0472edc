"""Operators and the names of their schedules."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched as tvm
from te_sched import topi
from te_sched.analysis.schedules.legality import check_legality
from te_sched.topi import nn
from tests.topi.running import Case, case, compute, declared, floats

IMAGE, KERNEL, A = floats(2, 4, 8, 16), floats(8, 4, 3, 3), floats(12, 32)


WEIGHTS = floats(20, 32)


def conv_relu(x: Any, k: Any) -> Any:
    return nn.relu(nn.conv2d_nchw(x, k, 1, 1, 1))


def layer(x: Any, w: Any, b: Any) -> Any:
    return topi.tanh(nn.dense(topi.exp(x), w, b))


def plain(name: str, declare: Any, *arrays: Any) -> Case:
    """A case compared with its own plain loops, which other tests compare with numpy."""
    reference = case(name, declare, None, *arrays)
    return case(name, declare, lambda *_: compute(reference), *arrays)


# The case, and the name of the schedule for it.
CASES = [
    (plain("injective", lambda x: nn.relu(topi.exp(x)), A), "injective"),
    (plain("vector", topi.exp, floats(7)), "elemwise"),
    (plain("broadcast", topi.add, A, floats(32)), "broadcast"),
    (plain("concatenate", lambda x, y: topi.concatenate([x, y], 1), A, floats(12, 7)), "injective"),
    (plain("transpose", topi.transpose, A), "injective"),
    (plain("split", lambda x: topi.split(x, 2, 1), A), "injective"),
    (plain("no_dimensions", lambda x: topi.exp(topi.sum(x)), A), "reduce"),
    (plain("sum_rows", lambda x: topi.sum(x, 1), A), "reduce"),
    (plain("sum_columns", lambda x: topi.exp(topi.sum(topi.exp(x), 0)), A), "reduce"),
    (plain("sum_all", topi.sum, floats(64, 32)), "reduce"),
    (plain("sum_keepdims", lambda x: topi.sum(x, 1, True), IMAGE), "reduce"),
    (plain("mean_subtracted", lambda x: x - topi.sum(x, 1, True) / 32, A), "reduce"),
    (plain("argmax", lambda x: topi.argmax(x, 1), A), "reduce"),
    (plain("argmin_columns", lambda x: topi.argmin(x, 0), A), "reduce"),
    (plain("softmax", nn.softmax, A), "softmax"),
    (plain("softmax_columns", lambda x: nn.softmax(x, 0), A), "softmax"),
    (plain("softmax_channels", lambda x: nn.softmax(x, 1), IMAGE), "softmax"),
    (plain("softmax_vector", nn.softmax, floats(33)), "softmax"),
    (plain("log_softmax", lambda x: nn.relu(nn.log_softmax(x)), A), "softmax"),
    (plain("dense", nn.dense, A, WEIGHTS), "dense"),
    (plain("dense_layer", layer, A, WEIGHTS, floats(20)), "dense"),
    (plain("dense_of_primes", nn.dense, floats(7, 5), floats(13, 5)), "dense"),
    (plain("matmul", topi.matmul, A, floats(32, 17)), "matmul"),
    (plain("batch_matmul", nn.batch_matmul, floats(2, 8, 6), floats(2, 10, 6)), "batch_matmul"),
    (
        plain("conv1d", lambda x, k: nn.conv1d_ncw(x, k, 1, 1), floats(1, 3, 16), floats(5, 3, 3)),
        "conv1d_ncw",
    ),
    (plain("conv2d", lambda x, k: nn.conv2d_nchw(x, k, 2, 1, 1), IMAGE, KERNEL), "conv2d_nchw"),
    (
        plain("conv2d_valid", lambda x, k: nn.conv2d_nchw(x, k, 1, 0, 1), IMAGE, KERNEL),
        "conv2d_nchw",
    ),
    (plain("conv2d_relu", conv_relu, IMAGE, KERNEL), "conv2d_nchw"),
    (
        plain(
            "conv2d_nhwc",
            lambda x, k: nn.conv2d_nhwc(x, k, 1, "SAME", 1),
            floats(1, 8, 8, 4),
            floats(3, 3, 4, 16),
        ),
        "conv2d_nhwc",
    ),
    (
        plain(
            "conv2d_groups",
            lambda x, k: nn.group_conv2d_nchw(x, k, 1, 1, 1, 2),
            IMAGE,
            floats(6, 2, 3, 3),
        ),
        "group_conv2d_nchw",
    ),
    (
        plain(
            "depthwise",
            lambda x, k: nn.depthwise_conv2d_nchw(x, k, 1, 1),
            IMAGE,
            floats(4, 2, 3, 3),
        ),
        "depthwise_conv2d_nchw",
    ),
    (
        plain(
            "transposed",
            lambda x, k: nn.conv2d_transpose_nchw(x, k, (2, 2), (1, 1), "float32", (0, 0)),
            floats(1, 4, 4, 4),
            floats(4, 3, 3, 3),
        ),
        "conv2d_transpose_nchw",
    ),
    (plain("pool_max", lambda x: nn.pool2d(x, 3, 2, 1, (1, 1, 1, 1), "max"), IMAGE), "pool"),
    (plain("pool_avg", lambda x: nn.pool2d(x, 3, 2, 1, (1, 1, 1, 1), "avg"), IMAGE), "pool"),
    (plain("global_pool", lambda x: nn.global_pool(x, "avg"), IMAGE), "adaptive_pool"),
    (plain("adaptive_pool", lambda x: nn.adaptive_pool(x, (3, 5), "avg"), IMAGE), "adaptive_pool"),
    (
        plain("layer_norm", lambda x, g, b: nn.layer_norm(x, g, b, 1), A, floats(32), floats(32)),
        "injective",
    ),
    (plain("lrn", lambda x: nn.lrn(x, 3), IMAGE), "lrn"),
    (
        plain(
            "network",
            lambda x, k, w: nn.softmax(
                nn.dense(nn.flatten(nn.global_pool(conv_relu(x, k), "max")), w)
            ),
            IMAGE,
            KERNEL,
            floats(10, 8),
        ),
        "softmax",
    ),
]


ALL = pytest.mark.parametrize(("one", "name"), CASES, ids=lambda value: str(value))


def lowered(one: Case, target: Any, name: str) -> Any:
    """The lowered program of a legal schedule."""
    inputs, outputs = declared(one)
    s = getattr(target, f"schedule_{name}")(outputs)
    check_legality(s)
    return tvm.lower(s, [*inputs, *outputs])["main"].body
