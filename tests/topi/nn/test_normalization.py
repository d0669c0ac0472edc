"""Normalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.topi import nn, testing
from tests.topi import reference
from tests.topi.layers import BETA, GAMMA, IMAGE, A, column, nhwc
from tests.topi.running import Case, case, check, floats

MEAN, VARIANCE = floats(4), floats(4, low=0.5)


def batch_norm(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
    return (x - column(m)) / np.sqrt(column(v) + 1e-5) * column(g) + column(b), m, v


def batch_norm_training(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    return batch_norm(x, g, b, mean, variance)[0], 0.8 * m + 0.2 * mean, 0.8 * v + 0.2 * variance


CASES = [
    *[
        case(
            f"{name}-{axis}",
            lambda x, name=name, axis=axis: getattr(nn, name)(x, axis),
            lambda x, name=name, axis=axis: (np.log if name == "log_softmax" else np.asarray)(
                testing.softmax_python(x, axis)
            ),
            array,
        )
        for name in ("softmax", "log_softmax")
        for array, axis in ((A, -1), (A, 0), (IMAGE, 1))
    ],
    case(
        "batch_norm", nn.batch_norm, batch_norm, IMAGE, MEAN, VARIANCE, floats(4, seed=2), VARIANCE
    ),
    case(
        "batch_norm_training",
        lambda *x: nn.batch_norm(*x, training=True, momentum=0.2),
        batch_norm_training,
        IMAGE,
        MEAN,
        VARIANCE,
        floats(4, seed=2),
        VARIANCE,
    ),
    case(
        "batch_norm_plain",
        lambda *x: nn.batch_norm(*x, axis=-1, epsilon=0.1, center=False, scale=False)[0],
        lambda x, g, b, m, v: (x - m) / np.sqrt(v + 0.1),
        floats(3, 4),
        *[MEAN] * 3,
        VARIANCE,
    ),
    case(
        "scale_shift_nchw",
        nn.scale_shift_nchw,
        lambda x, s, t: x * column(s) + column(t),
        IMAGE,
        MEAN,
        VARIANCE,
    ),
    case(
        "scale_shift_nhwc",
        nn.scale_shift_nhwc,
        lambda x, s, t: x * s + t,
        nhwc(IMAGE),
        MEAN,
        VARIANCE,
    ),
    case(
        "layer_norm",
        lambda x, g, b: nn.layer_norm(x, g, b, [1]),
        lambda x, g, b: reference.normalized(x, (1,)) * g + b,
        A,
        GAMMA,
        BETA,
    ),
    case(
        "layer_norm_of_two",
        lambda x, g, b: nn.layer_norm(x, g, b, [2, 3]),
        lambda x, g, b: reference.normalized(x, (2, 3)) * g + b,
        IMAGE,
        floats(7, 6),
        floats(7, 6, seed=1),
    ),
    case(
        "rms_norm",
        lambda x, g: nn.rms_norm(x, g, [1]),
        lambda x, g: x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5) * g,
        A,
        GAMMA,
    ),
    case(
        "lrn",
        lambda x: nn.lrn(x, 3, 1, 0.1, 0.75, 2),
        lambda x: testing.lrn_python(x, 3, 1, 2, 0.1, 0.75),
        IMAGE,
    ),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)


@pytest.mark.parametrize("count", [65504, 70001])
def test_rows_of_more_elements_than_float16_counts(count: int) -> None:
    data, unit = te.placeholder((2, count), "float16"), te.placeholder((count,), "float16")
    result = nn.layer_norm(data, unit, unit, [1])
    built = te_sched.build(te.create_schedule(result.op), [data, unit, result])
    row, out = np.resize([1, -1], (2, count)).astype("float16"), np.zeros((2, count), "float16")
    built(row, np.ones(count, "float16"), out)
    np.testing.assert_allclose(out, row + 1, atol=1e-3)
