"""Reductions and products compute what numpy computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.inputs import CUBE, X
from tests.topi.running import Case, booleans, case, check, integers

INTS, TRUTH = integers(4, 6), booleans(4, 6)

TIES = np.array([[1, 3, 3], [2, 2, 0]], "float32")


def reduction(name: str, array: Any, axis: Any = None, keepdims: bool = False) -> Case:
    operator, reference = getattr(topi, name), getattr(np, name)
    over = tuple(axis) if isinstance(axis, list) else axis
    return case(
        f"{name}-{axis}-{keepdims}",
        lambda x: operator(x, axis, keepdims),
        lambda x: reference(x, axis=over, keepdims=keepdims),
        array,
    )


def last_index(x: Any) -> Any:
    return x.shape[1] - 1 - np.argmax(x[:, ::-1], axis=1)


CASES = [
    *[reduction(n, X, axis) for n in ("sum", "max", "min", "prod") for axis in (None, 0, -1)],
    reduction("sum", CUBE, [0, 2], True),
    reduction("sum", CUBE, (1, 2)),
    reduction("max", INTS, 1, True),
    *[reduction(n, TRUTH, axis) for n in ("all", "any") for axis in (None, 1)],
    *[
        reduction(n, X, axis, keep)
        for n in ("argmax", "argmin")
        for axis, keep in ((1, False), (0, True))
    ],
    reduction("argmax", X),
    reduction("argmin", INTS, 0),
    reduction("argmax", TIES, 1),
    case(
        "last",
        lambda x: topi.argmax(x, 1, select_last_index=True),
        last_index,
        TIES,
    ),
    case(
        "argmax_of_two_axes",
        lambda x: topi.argmax(x, (1, 2)),
        lambda x: x.reshape(2, -1).argmax(1),
        CUBE,
    ),
    case("sum_of_conditions", lambda x: topi.sum(x, 1), lambda x: x.any(1), TRUTH),
    case("prod_of_conditions", lambda x: topi.prod(x, 1), lambda x: x.all(1), TRUTH),
]


def test_reduction_rejects_an_axis_that_is_not_there() -> None:
    with pytest.raises(DeclarationError, match=r"topi\.sum: axis 2"):
        topi.sum(te.placeholder((3, 4)), 2)


def test_all_rejects_numbers() -> None:
    with pytest.raises(DeclarationError, match="needs a tensor of bool"):
        topi.all(te.placeholder((3, 4)))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
