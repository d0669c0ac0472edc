"""Reductions and products compute what numpy computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.running import Case, booleans, case, check, floats, integers

X, CUBE, INTS, TRUTH = floats(4, 6), floats(2, 3, 4), integers(4, 6), booleans(4, 6)
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
    case("matmul", topi.matmul, np.matmul, X, floats(6, 5)),
    case(
        "matmul_transposed",
        lambda a, b: topi.matmul(a, b, True, True),
        lambda a, b: a.T @ b.T,
        X,
        floats(5, 4),
    ),
    case("tensordot", lambda a, b: topi.tensordot(a, b, 2), np.tensordot, CUBE, floats(3, 4, 5)),
    case(
        "tensordot_axes",
        lambda a, b: topi.tensordot(a, b, ((2, 0), (0, 1))),
        lambda a, b: np.tensordot(a, b, ((2, 0), (0, 1))),
        CUBE,
        floats(4, 2, 5),
    ),
    case("outer", lambda a, b: topi.tensordot(a, b, 0), lambda a, b: np.tensordot(a, b, 0), X, X),
    *[
        case(
            text,
            lambda *x, text=text: topi.einsum(text, *x),
            lambda *x, text=text: np.einsum(text, *x),
            *arrays,
        )
        for text, arrays in (
            ("ij,jk->ik", (X, floats(6, 5))),
            ("ij->ji", (X,)),
            ("ii->i", (floats(4, 4),)),
            ("bij,bjk", (CUBE, floats(2, 4, 5))),
            ("ij->", (X,)),
            ("i,j->ij", (floats(3), floats(4))),
        )
    ],
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_reduction_computes_what_numpy_computes(one: Case) -> None:
    check(one)


def test_reduction_rejects_an_axis_that_is_not_there() -> None:
    with pytest.raises(DeclarationError, match=r"topi\.sum: axis 2"):
        topi.sum(te.placeholder((3, 4)), 2)


def test_all_rejects_numbers() -> None:
    with pytest.raises(DeclarationError, match="needs a tensor of bool"):
        topi.all(te.placeholder((3, 4)))


def test_matmul_rejects_extents_that_do_not_meet() -> None:
    with pytest.raises(DeclarationError, match="inner extent of b is 5, expected 4"):
        topi.matmul(te.placeholder((3, 4)), te.placeholder((5, 6)))


@pytest.mark.parametrize("text", ["ij,jk->ik", "i->i", "ij->k", "i1->i", "ij->ii"])
def test_einsum_rejects_subscripts_that_do_not_fit(text: str) -> None:
    with pytest.raises(DeclarationError, match=r"topi\.einsum"):
        topi.einsum(text, te.placeholder((3, 4)))
