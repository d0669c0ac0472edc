"""Layouts, windows, diagonals and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import topi
from te_sched.errors import DeclarationError
from tests.topi.inputs import CUBE, IMAGES, T, X
from tests.topi.running import Case, case, check, floats

ROWS = floats(3, 5, 2)


def reversed_rows(x: Any, n: Any) -> Any:
    out = x.copy()
    for b, count in enumerate(n):
        out[b, :count] = x[b, :count][::-1]
    return out


def with_diagonal(x: Any, d: Any) -> Any:
    out = x.copy()
    for i in range(3):
        out[..., i, i + 1] = d[..., i]
    return out


CASES = [
    case(
        "layout-block",
        lambda x: topi.layout_transform(x, "NCHW", "NCHW2c"),
        lambda x: x.reshape(2, 2, 2, 6, 6).transpose(0, 1, 3, 4, 2),
        IMAGES,
    ),
    case(
        "layout-unblock",
        lambda x: topi.layout_transform(x, "NCHW2c", "NHWC"),
        lambda x: x.transpose(0, 2, 3, 1, 4).reshape(2, 6, 6, 4),
        floats(2, 2, 6, 6, 2),
    ),
    case(
        "layout-reblock",
        lambda x: topi.layout_transform(x, "NC4c", "CN2c"),
        lambda x: x.reshape(2, 6, 2).transpose(1, 0, 2),
        floats(2, 3, 4),
    ),
    case(
        "layout-nested",
        lambda x: topi.layout_transform(x, "OI", "OI2i4o2i"),
        lambda x: x.reshape(2, 4, 2, 2, 2).transpose(0, 2, 3, 1, 4),
        floats(8, 8),
    ),
    case(
        "sliding_window",
        lambda x: topi.sliding_window(x, 1, (2, 2), (1, 2)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 2))[:, :, ::2],
        CUBE,
    ),
    case(
        "reverse_sequence",
        topi.reverse_sequence,
        reversed_rows,
        ROWS,
        np.array([2, 5, 0], "int32"),
    ),
    *[
        case(
            f"strided_set-{step}",
            lambda x, v, s=(begin, end, step): topi.strided_set(x, v, *s),
            lambda x, v, s=(begin, end, step): _assigned(x, v, s),
            X,
            floats(*X[tuple(map(slice, begin, end, step))].shape, seed=3),
        )
        for begin, end, step in (
            ((1, 0), (3, 5), (1, 2)),
            ((3, -1), (0, 1), (-2, -1)),
            ((0, 2), (4, 99), (3, 2)),
        )
    ],
    case(
        "matrix_set_diag",
        lambda x, d: topi.matrix_set_diag(x, d, 1),
        with_diagonal,
        floats(2, 3, 4),
        floats(2, 3, seed=1),
    ),
    case(
        "matrix_set_diag-several",
        lambda x, d: topi.matrix_set_diag(x, d, (-1, 1)),
        lambda x, d: np.where(
            [[1, 1, 0], [1, 1, 1], [0, 1, 1]],
            [[d[1, 0], d[0, 1], 0], [d[2, 0], d[1, 1], d[0, 2]], [0, d[2, 1], d[1, 2]]],
            x,
        ).astype("float32"),
        floats(3, 3),
        floats(3, 3, seed=1),
    ),
    case(
        "collapse_sum",
        lambda x: topi.collapse_sum(x, (3, 1)),
        lambda x: x.sum((0, 2))[:, None],
        CUBE,
    ),
    case(
        "space_to_batch",
        lambda x: topi.nn.space_to_batch_nd(x, [2, 3], [1, 0], [1, 0], 1.5),
        lambda x: (
            np.pad(x, [(0, 0), (1, 1), (0, 0), (0, 0)], constant_values=1.5)
            .reshape(2, 3, 2, 2, 3, 3)
            .transpose(2, 4, 0, 1, 3, 5)
            .reshape(12, 3, 2, 3)
        ),
        floats(2, 4, 6, 3),
    ),
    case(
        "batch_to_space",
        lambda x: topi.nn.batch_to_space_nd(x, [2, 2], [1, 0], [0, 2]),
        lambda x: (
            x.reshape(2, 2, 1, 3, 2, 5).transpose(2, 3, 0, 4, 1, 5).reshape(1, 6, 4, 5)[:, 1:, :2]
        ),
        floats(4, 3, 2, 5),
    ),
]


def _assigned(x: Any, v: Any, bounds: Any) -> Any:
    out = x.copy()
    out[tuple(map(slice, *bounds))] = v
    return out


REFUSED = {
    "layout": (
        lambda: topi.layout_transform(T, "NC", "NC4c"),
        "block 4 does not divide 6, the extent of C",
    ),
    "letters": (lambda: topi.layout_transform(T, "NC", "NH"), "name different dimensions"),
    "layout text": (lambda: topi.layout_transform(T, "NC", "N4C"), "is one capital letter"),
    "layout rank": (lambda: topi.layout_transform(T, "NCH", "NHC"), "rank of NCH is 3, expected 2"),
    "align": (lambda: topi.matrix_set_diag(T, T, 0, "UP"), "unknown align 'UP'"),
    "collapse": (lambda: topi.collapse_sum(T, (3,)), "does not broadcast"),
    "set": (lambda: topi.strided_set(T, T, (0, 0), (2, 2)), "extent of v is 4, expected 2"),
}


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)


@pytest.mark.parametrize("name", REFUSED)
def test_rejects(name: str) -> None:
    action, message = REFUSED[name]
    with pytest.raises(DeclarationError, match=message):
        action()
