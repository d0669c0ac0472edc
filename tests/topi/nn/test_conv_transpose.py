"""Transposed convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import topi
from te_sched.topi import nn
from te_sched.topi.nn.conv_transpose import conv_transpose_in_phases
from tests.topi import reference
from tests.topi.layers import SIGNAL
from tests.topi.reference import transposed
from tests.topi.running import Case, case, check, floats

CONVOLUTIONS = [
    *[
        case(
            f"transposed-{stride}-{padding}-{extra}",
            lambda x, k, a=(stride, padding, extra): nn.conv2d_transpose_nchw(
                x, k, (a[0], a[0]), (a[1], a[1]), "float32", (a[2], a[2])
            ),
            lambda x, k, a=(stride, padding, extra): reference.transposed(x, k, *a),
            floats(1, 4, 5, 3),
            floats(4, 3, 3, 3),
        )
        for stride, padding, extra in ((1, 0, 0), (2, 1, 0), (2, 1, 1))
    ],
    case(
        "transposed_1d",
        lambda x, k: nn.conv1d_transpose_ncw(x, k, (2,), (1,), "float32", (0,)),
        lambda x, k: reference.transposed(x, k, 2, 1, 0),
        SIGNAL,
        floats(3, 2, 3),
    ),
]


def grouped_transposed(x: Any, k: Any) -> Any:
    parts = zip(np.split(x, 2, 1), np.split(k, 2, 0), strict=True)
    return np.concatenate([transposed(a, b, 2, 1, 1) for a, b in parts], 1).astype("float32")


IN_PHASES = [
    case(
        f"in_phases-{kernel}-{stride}-{padding}-{extra}",
        lambda x, k, a=(stride, padding, extra): conv_transpose_in_phases(
            x, k, a[0], a[1], "float32", a[2], 2
        ),
        lambda x, k, a=(stride, padding, extra): reference.transposed(x, k, *a).astype("float32"),
        floats(2, 4, 5, 3),
        floats(4, 3, kernel, kernel),
    )
    for kernel, stride, padding, extra in [
        *((2, 2, 0, 0), (3, 2, 1, 1), (3, 2, 0, 0), (4, 2, 1, 0)),
        *((1, 3, 0, 2), (5, 3, 2, 1), (2, 3, 0, 0), (7, 4, 3, 3), (3, 1, 1, 0)),
    ]
]

LAYERS = [
    *IN_PHASES,
    case(
        "in_phases-groups",
        lambda x, k: conv_transpose_in_phases(x, k, 2, 1, "float32", 1, 2, 2),
        grouped_transposed,
        floats(1, 4, 4, 4),
        floats(4, 3, 3, 3),
    ),
    case(
        "conv3d_transpose",
        lambda x, k: topi.nn.conv3d_transpose_ncdhw(x, k, 2, 1, "float32", 1),
        lambda x, k: transposed(x, k, 2, 1, 1).astype("float32"),
        floats(1, 2, 3, 3, 3),
        floats(2, 3, 3, 3, 3),
    ),
    case(
        "group_conv2d_transpose",
        lambda x, k: topi.nn.group_conv2d_transpose_nchw(x, k, 2, 1, "float32", 1, 2),
        grouped_transposed,
        floats(1, 4, 4, 4),
        floats(4, 3, 3, 3),
    ),
    case(
        "group_conv1d_transpose",
        lambda x, k: topi.nn.group_conv1d_transpose_ncw(x, k, 2, 1, "float32", 1, 2),
        grouped_transposed,
        floats(1, 4, 5),
        floats(4, 3, 3),
    ),
]


@pytest.mark.parametrize("one", [*CONVOLUTIONS, *LAYERS], ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
