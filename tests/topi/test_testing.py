"""The operators of numpy agree with those of topi, and schedules are found by their targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, topi
from te_sched.topi import nn, testing
from tests.topi.running import Case, case, check, floats

IMAGE, KERNEL = floats(2, 4, 7, 6), floats(6, 4, 3, 3)
X = floats(3, 5, 4)


def nhwc(x: Any) -> Any:
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1))


CASES = [
    case(
        "conv2d_nchw",
        lambda x, k: nn.conv2d_nchw(x, k, (2, 1), 1, 1),
        lambda x, k: testing.conv2d_nchw_python(x, k, (2, 1), 1),
        IMAGE,
        KERNEL,
    ),
    case(
        "conv2d_nhwc",
        lambda x, k: nn.conv2d_nhwc(x, k, 1, "SAME", 1),
        lambda x, k: testing.conv2d_nhwc_python(x, k, 1, "SAME"),
        floats(2, 5, 6, 4),
        floats(3, 3, 4, 6),
    ),
    case(
        "conv2d_hwcn",
        lambda x, k: nn.conv2d_hwcn(x, k, 1, 1, 1),
        lambda x, k: testing.conv2d_hwcn_python(x, k, 1, 1),
        floats(5, 6, 4, 2),
        floats(3, 3, 4, 6),
    ),
    case(
        "depthwise",
        lambda x, k: nn.depthwise_conv2d_nchw(x, k, (1, 1), (1, 1), (1, 1)),
        lambda x, k: testing.depthwise_conv2d_python_nchw(x, k, 1, 1),
        IMAGE,
        floats(4, 2, 3, 3),
    ),
    case(
        "dilate",
        lambda x: nn.dilate(x, (1, 2, 3)),
        lambda x: testing.dilate_python(x, (1, 2, 3)),
        X,
    ),
    case("batch_matmul", nn.batch_matmul, testing.batch_matmul, X, floats(3, 2, 4)),
    case("softmax", lambda x: nn.softmax(x, 1), testing.softmax_python, X),
    case(
        "log_softmax", lambda x: nn.log_softmax(x, 2), lambda x: testing.log_softmax_python(x, 2), X
    ),
    case(
        "layer_norm",
        lambda x, g, b: nn.layer_norm(x, g, b, [2]),
        lambda x, g, b: testing.layer_norm_python(x, g, b, [2]),
        X,
        floats(4),
        floats(4),
    ),
    case(
        "strided_slice",
        lambda x: topi.strided_slice(x, [0, 1], [3, 5], [2, 2]),
        lambda x: testing.strided_slice_python(x, [0, 1], [3, 5], [2, 2]),
        X,
    ),
    case(
        "strided_slice_of_sizes",
        lambda x: topi.strided_slice(x, [1, 2], [2, -1], slice_mode="size"),
        lambda x: testing.strided_slice_python(x, [1, 2], [2, -1], [], "size"),
        X,
    ),
]


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.name)
def test_operators_agree(one: Case) -> None:
    check(one)


def test_one_hot_and_norms() -> None:
    marks = testing.one_hot(np.array([2, 0]), 1, -1, 3, 0, "int32")
    np.testing.assert_array_equal(marks, [[-1, 1], [-1, -1], [1, -1]])
    rows = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(testing.l2_normalize_python(rows, 1e-6, [1])[0], [0.6, 0.8])


@pytest.mark.parametrize("target", ["llvm", "cuda", te_sched.target.Target("llvm")])
def test_schedules_are_found_by_their_targets(target: Any) -> None:
    A = te.placeholder((8, 16), name="A")
    for out, find in (
        (A + A, testing.get_elemwise_schedule),
        (topi.sum(A, 1), testing.get_reduce_schedule),
        (nn.softmax(A, 1), testing.get_softmax_schedule),
    ):
        with te_sched.target.Target(target) if isinstance(target, str) else target:
            assert te_sched.lower(find(target)(out), [A, out]) is not None
    declare, schedule = testing.get_conv2d_nchw_implement(target)
    data, kernel = te.placeholder((1, 4, 6, 6)), te.placeholder((8, 4, 3, 3))
    out = declare(data, kernel, 1, 1, 1)
    assert te_sched.lower(schedule([out]), [data, kernel, out]) is not None
