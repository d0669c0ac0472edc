"""Sorting and the largest elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.inputs import TIES, T, X
from tests.topi.running import Case, case, check


def topped(x: Any, k: int, axis: int, up: bool) -> tuple[Any, Any]:
    keys = x if up else -x
    order = np.take(np.argsort(keys, axis, kind="stable"), np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


CASES = [
    case("sort", topi.sort, np.sort, X),
    case("sort-0", lambda x: topi.sort(x, 0, 0), lambda x: -np.sort(-x, 0), X),
    *[
        case(
            f"argsort-{up}",
            lambda x, up=up: topi.argsort(x, axis=0, is_ascend=up, dtype="int32"),
            lambda x, up=up: np.argsort(x if up else -x, 0, kind="stable").astype("int32"),
            TIES,
        )
        for up in (0, 1)
    ],
    case(
        "argsort-valid",
        lambda x, n: topi.argsort(x, n, is_ascend=1),
        lambda x, n: np.array([[1, 2, 0, 3], [0, 1, 2, 3]], "float32"),
        np.array([[3, 1, 2, 0], [9, 8, 7, 6]], "float32"),
        np.array([3, 1], "int32"),
    ),
    *[
        case(
            f"topk-{axis}-{up}",
            lambda x, axis=axis, up=up: topi.topk(x, 3, axis, is_ascend=up),
            lambda x, axis=axis, up=up: topped(x, 3, axis, up),
            TIES,
        )
        for axis in (0, 1)
        for up in (False, True)
    ],
    case("topk-values", lambda x: topi.topk(x, 0, 0, "values"), lambda x: -np.sort(-x, 0), X),
    case(
        "topk-indices",
        lambda x: topi.topk(x, 2, ret_type="indices", dtype="int32"),
        lambda x: np.argsort(-x, -1)[:, :2].astype("int32"),
        X,
    ),
]


REFUSED = {
    "topk": (lambda: topi.topk(T, te.var("k")), "must be constant"),
    "topk of few": (lambda: topi.topk(T, 7), "exceeds extent 6"),
    "topk type": (lambda: topi.topk(T, 1, ret_type="all"), "unknown ret_type 'all'"),
}


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)


@pytest.mark.parametrize("name", REFUSED)
def test_rejects(name: str) -> None:
    action, message = REFUSED[name]
    with pytest.raises(DeclarationError, match=message):
        action()
