"""Scans, scatters and searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.inputs import CUBE, TIES, I, T, X
from tests.topi.running import Case, case, check, floats, integers

PLACES = np.array([[0, 3, 2], [1, 1, 3]], "int32")


def exclusive(values: Any, axis: int, function: Any, start: float) -> Any:
    moved = np.moveaxis(function(values, axis), axis, -1)
    first = np.full((*moved.shape[:-1], 1), start)
    return np.moveaxis(np.concatenate([first, moved[..., :-1]], -1), -1, axis)


def scattered(function: Any) -> Any:
    def reference(x: Any, i: Any, u: Any) -> Any:
        out = x.copy()
        for at in np.ndindex(i.shape):
            place = (at[0], i[at])
            out[place] = function(out[place], u[at])
        return out

    return reference


def scattered_nd(function: Any) -> Any:
    def reference(x: Any, i: Any, u: Any) -> Any:
        out = x.copy()
        for point in range(i.shape[1]):
            place = tuple(i[:, point])
            out[place] = function(out[place], u[point])
        return out

    return reference


COMBINE = {
    "update": lambda a, b: b,
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


POINTS = np.array([[0, 2, 0], [1, 0, 1]], "int32")


SCANS = [
    case("cumsum", topi.cumsum, np.cumsum, X),
    *[
        case(
            f"cumsum-{axis}",
            lambda x, axis=axis: topi.cumsum(x, axis),
            lambda x, axis=axis: np.cumsum(x, axis),
            CUBE,
        )
        for axis in (0, 1, -1)
    ],
    case("cumprod", lambda x: topi.cumprod(x, 1), lambda x: np.cumprod(x, 1), X),
    case(
        "cumsum-type",
        lambda x: topi.cumsum(x, 0, "int64"),
        lambda x: np.cumsum(x, 0, "int64"),
        TIES,
    ),
    case(
        "cumsum-exclusive",
        lambda x: topi.cumsum(x, 1, exclusive=True),
        lambda x: exclusive(x, 1, np.cumsum, 0).astype("float32"),
        CUBE,
    ),
    case(
        "cumprod-exclusive",
        lambda x: topi.cumprod(x, 0, exclusive=True),
        lambda x: exclusive(x, 0, np.cumprod, 1).astype("float32"),
        CUBE,
    ),
    case("cumsum-empty", lambda x: topi.cumsum(x, 1), lambda x: np.cumsum(x, 1), floats(3, 0)),
]


SCATTERING = [
    *[
        case(
            f"scatter_elements-{mode}",
            lambda x, i, u, mode=mode: topi.scatter_elements(x, i, u, 1, mode),
            scattered(COMBINE[mode]),
            X,
            PLACES,
            floats(2, 3, seed=1),
        )
        for mode in COMBINE
    ],
    case(
        "scatter_elements-negative",
        lambda x, i, u: topi.scatter_elements(x, i, u, -1),
        scattered(COMBINE["update"]),
        X,
        PLACES - 4,
        floats(2, 3, seed=1),
    ),
    *[
        case(
            f"scatter_nd-{mode}",
            lambda x, i, u, mode=mode: topi.scatter_nd(x, i, u, mode),
            scattered_nd(COMBINE[mode]),
            floats(3, 2, 4),
            POINTS,
            floats(3, 4, seed=1),
        )
        for mode in COMBINE
    ],
    case(
        "sparse_to_dense",
        lambda i, v: topi.sparse_to_dense(i, (3, 5), v, 2.0),
        lambda i, v: np.array([[2, 2, 2, 2, 2], [2, *v[:1], 2, 2, 2], [2, 2, 2, 2, v[1]]], "f"),
        np.array([[1, 1], [2, 4]], "int32"),
        floats(2),
    ),
    case(
        "sparse_to_dense-vector",
        lambda i, v: topi.sparse_to_dense(i, [4], v),
        lambda i, v: np.array([v[1], 0, 0, v[0]], "float32"),
        np.array([3, 0], "int32"),
        floats(2),
    ),
    case(
        "invert_permutation", topi.invert_permutation, np.argsort, np.array([2, 0, 3, 1], "int32")
    ),
    *[
        case(
            f"searchsorted-{right}",
            lambda x, v, right=right: topi.searchsorted(x, v, right),
            lambda x, v, right=right: np.searchsorted(x, v, "right" if right else "left"),
            np.array([0, 1, 1, 2, 5], "int32"),
            integers(3, 4, low=-2, high=7),
        )
        for right in (False, True)
    ],
    case(
        "searchsorted-rows",
        topi.searchsorted,
        lambda x, v: np.stack([np.searchsorted(a, b) for a, b in zip(x, v, strict=True)]),
        np.sort(X, 1),
        floats(4, 3, seed=2),
    ),
    case(
        "unravel_index",
        topi.unravel_index,
        lambda i, s: np.array(np.unravel_index(i, tuple(s))).astype("int32"),
        integers(5, low=0, high=24),
        np.array([2, 3, 4], "int32"),
    ),
]


REFUSED = {
    "scatter": (lambda: topi.scatter_elements(T, I, T, 0, "mean"), "unknown reduction 'mean'"),
    "axis": (lambda: topi.cumsum(T, 2), "use an axis from -2 to 1"),
}


def test_running_sums_of_symbolic_shapes() -> None:
    n = te.var("n")
    a = te.placeholder((n, 3), name="a")
    b = topi.cumsum(a, 0)
    function = te_sched.build(te.create_schedule(b.op), [a, b])
    for count in (0, 1, 5):
        values, out = floats(count, 3), np.zeros((count, 3), "float32")
        function(values, out)
        np.testing.assert_allclose(out, np.cumsum(values, 0), rtol=1e-6)


@pytest.mark.parametrize("one", [*SCANS, *SCATTERING], ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)


@pytest.mark.parametrize("name", REFUSED)
def test_rejects(name: str) -> None:
    action, message = REFUSED[name]
    with pytest.raises(DeclarationError, match=message):
        action()
