"""Products of matrices and tensors."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.inputs import CUBE, X
from tests.topi.running import Case, case, check, floats

CASES = [
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


def test_matmul_rejects_extents_that_do_not_meet() -> None:
    with pytest.raises(DeclarationError, match="inner extent of b is 5, expected 4"):
        topi.matmul(te.placeholder((3, 4)), te.placeholder((5, 6)))


@pytest.mark.parametrize("text", ["ij,jk->ik", "i->i", "ij->k", "i1->i", "ij->ii"])
def test_einsum_rejects_subscripts_that_do_not_fit(text: str) -> None:
    with pytest.raises(DeclarationError, match=r"topi\.einsum"):
        topi.einsum(text, te.placeholder((3, 4)))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
