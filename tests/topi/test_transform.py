"""Operators that move elements do what numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.running import Case, case, check, floats, integers

X, CUBE, FLAT = floats(4, 6), floats(2, 3, 4), floats(1, 4, 1, 6)
INDICES = np.array([0, 3, 1], "int32")
OUTSIDE = np.array([-2, 3, 9], "int32")


def one_hot(i: Any) -> Any:
    return (i[:, None] == np.arange(5)).astype("float32")


def sliced(begin: Any, end: Any, strides: Any = None, **more: Any) -> Case:
    slices = tuple(
        slice(*triple) for triple in zip(begin, end, strides or [1] * len(begin), strict=True)
    )
    return case(
        f"slice-{begin}-{end}-{strides}",
        lambda x: topi.strided_slice(x, begin, end, strides, **more),
        lambda x: x[slices],
        X,
    )


CASES = [
    case("transpose", topi.transpose, np.transpose, CUBE),
    case("axes", lambda x: topi.transpose(x, (2, 0, -2)), lambda x: x.transpose(2, 0, 1), CUBE),
    case("reshape", lambda x: topi.reshape(x, (3, 8)), lambda x: x.reshape(3, 8), X),
    case("reshape_1", lambda x: topi.reshape(x, (2, -1)), lambda x: x.reshape(2, -1), X),
    case("reshape_flat", lambda x: topi.reshape(x, 24), lambda x: x.reshape(24), CUBE),
    case("expand", lambda x: topi.expand_dims(x, 1, 2), lambda x: x[:, None, None], X),
    case("expand_last", lambda x: topi.expand_dims(x, -1), lambda x: x[..., None], X),
    case("squeeze", topi.squeeze, np.squeeze, FLAT),
    case("squeeze_axis", lambda x: topi.squeeze(x, 2), lambda x: x[:, :, 0], FLAT),
    case("squeeze_axes", lambda x: topi.squeeze(x, (0, -2)), np.squeeze, FLAT),
    case(
        "concat", lambda *x: topi.concatenate(x), lambda *x: np.concatenate(x), X, X, floats(2, 6)
    ),
    case(
        "concat_last",
        lambda *x: topi.concatenate(x, -1),
        lambda *x: np.concatenate(x, -1),
        X,
        floats(4, 1),
        floats(4, 3),
    ),
    *[
        case(
            f"stack-{at}",
            lambda *x, at=at: topi.stack(x, at),
            lambda *x, at=at: np.stack(x, at),
            X,
            floats(4, 6, seed=1),
            floats(4, 6, seed=2),
        )
        for at in (0, 1, -1)
    ],
    case("split", lambda x: topi.split(x, 3, 1), lambda x: np.split(x, 3, 1), X),
    case("split_none", lambda x: topi.split(x, 2, 0), lambda x: np.split(x, 2, 0), X[:0]),
    case("split_at", lambda x: topi.split(x, [1, 3], 1), lambda x: np.split(x, [1, 3], 1), X),
    sliced([0, 1], [4, 5]),
    sliced([0, 1], [4, 6], [1, 2]),
    sliced([3, 5], [0, 0], [-1, -2]),
    sliced([0, -3], [100, 100]),
    sliced([1], [-1]),
    case(
        "slice_axes",
        lambda x: topi.strided_slice(x, [1], [3], axes=[1]),
        lambda x: x[:, 1:3],
        X,
    ),
    case(
        "slice_size",
        lambda x: topi.strided_slice(x, [1, 2], [2, -1], slice_mode="size"),
        lambda x: x[1:3, 2:],
        X,
    ),
    *[
        case(
            f"take-{mode}",
            lambda x, i, mode=mode: topi.take(x, i, 0, mode=mode),
            lambda x, i, mode=mode: np.take(x, i, 0, mode=mode),
            X,
            OUTSIDE,
        )
        for mode in ("clip", "wrap")
    ],
    case("take", topi.take, np.take, X, INDICES),
    case(
        "take_fast",
        lambda x, i: topi.take(x, i, 1, mode="fast"),
        lambda x, i: x[:, i],
        X,
        integers(2, 3, low=0, high=6),
    ),
    case(
        "take_batch",
        lambda x, i: topi.take(x, i, 1, 1),
        lambda x, i: np.stack([x[b][i[b]] for b in range(2)]),
        CUBE,
        integers(2, 5, low=0, high=3),
    ),
    case(
        "gather",
        lambda x, i: topi.gather(x, 1, i),
        lambda x, i: np.take_along_axis(x, i, 1),
        X,
        integers(4, 3, low=0, high=6),
    ),
    case(
        "gather_nd",
        topi.gather_nd,
        lambda x, i: x[i[0], i[1]],
        CUBE,
        integers(2, 5, low=0, high=2),
    ),
    case(
        "adv_index",
        lambda x, i, j: topi.adv_index(x, [i, j]),
        lambda x, i, j: x[i, j],
        CUBE,
        integers(3, 1, low=0, high=2),
        integers(4, low=0, high=3),
    ),
    *[
        case(f"flip-{a}", lambda x, a=a: topi.flip(x, a), lambda x, a=a: np.flip(x, a), X)
        for a in (0, -1)
    ],
    case("repeat", lambda x: topi.repeat(x, 2, 0), lambda x: np.repeat(x, 2, 0), X),
    case("tile", lambda x: topi.tile(x, (2, 1, 3)), lambda x: np.tile(x, (2, 1, 3)), X),
    case("tile_short", lambda x: topi.tile(x, 2), lambda x: np.tile(x, 2), X),
    case("arange", lambda: topi.arange(5), lambda: np.arange(5.0)),
    case("arange_by_2", lambda: topi.arange(1, 10, 2, "int32"), lambda: np.arange(1, 10, 2)),
    case("arange_down", lambda: topi.arange(9, 0, -2, "int32"), lambda: np.arange(9, 0, -2)),
    case("arange_float", lambda: topi.arange(0, 1, 0.3), lambda: np.arange(0, 1, 0.3)),
    *[
        case(
            f"meshgrid-{mode}",
            lambda *x, mode=mode: topi.meshgrid(x, mode),
            lambda *x, mode=mode: list(np.meshgrid(*x, indexing=mode)),
            floats(3),
            floats(4),
        )
        for mode in ("ij", "xy")
    ],
    case("one_hot", lambda i: topi.one_hot(i, 1, 0, 5, -1, "float32"), one_hot, INDICES),
    case(
        "one_hot_0",
        lambda i: topi.one_hot(i, 1, 0, 5, 0, "float32"),
        lambda i: one_hot(i).T,
        INDICES,
    ),
    case("eye", lambda: topi.eye(3, 4, 1), lambda: np.eye(3, 4, 1)),
    case("triu", lambda x: topi.trilu(x, 1, True), lambda x: np.triu(x, 1), X),
    case("tril", lambda x: topi.trilu(x, -1, False), lambda x: np.tril(x, -1), X),
    case("shape", topi.shape, lambda x: np.array(x.shape), CUBE),
    case("ndarray_size", topi.ndarray_size, np.size, CUBE),
    case(
        "sequence_mask",
        topi.sequence_mask,
        lambda x, n: np.where(np.arange(4)[:, None] < n, x, 0),
        X,
        integers(6, low=0, high=5),
    ),
    case(
        "expand_like",
        lambda x, y: topi.expand_like(x, y, [1]),
        lambda x, y: x[:, None] + np.zeros((4, 6)),
        floats(4),
        X,
    ),
    case("flatten", topi.nn.flatten, lambda x: x.reshape(2, 12), CUBE),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_transform_does_what_numpy_does(one: Case) -> None:
    check(one)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda x: topi.reshape(x, (5, 5)), "changes the number of elements"),
        (
            lambda x: topi.transpose(x, (0, 0)),
            r"topi\.transpose axes \(0, 0\) are not a permutation of the axes of ",
        ),
        (lambda x: topi.split(x, 5, 1), "do not divide"),
        (lambda x: topi.concatenate([x, te.placeholder((5, 5))], 0), "their shapes are"),
        (lambda x: topi.squeeze(x, 0), "extent of axis 0 of X is 4, expected 1"),
        (lambda x: topi.take(x, x, mode="raise"), "take: unknown mode 'raise'"),
        (lambda x: topi.strided_slice(x, [0], [4], [0]), "strides must not be 0"),
        (
            lambda x: topi.strided_slice(x, [te.var("n")], [2], slice_mode="size"),
            "begin, end and strides must be constant",
        ),
        (lambda x: topi.concatenate([]), "needs at least one tensor"),
        (lambda x: topi.expand_dims(x, 4), "use an axis from -3 to 2"),
    ],
)
def test_transform_rejects(declare: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        declare(te.placeholder((4, 6), name="X"))
