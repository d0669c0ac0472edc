"""Activations."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.numbers import INTS, ROW, X
from tests.topi.running import Case, case, check

CASES = [
    case("relu", topi.nn.relu, lambda x: np.maximum(x, 0), X),
    case("relu_ints", topi.nn.relu, lambda x: np.maximum(x, 0), INTS),
    case("leaky", lambda x: topi.nn.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, x * 0.1), X),
    case("prelu", topi.nn.prelu, lambda x, s: np.where(x > 0, x, x * s), X, ROW),
]


def test_prelu_rejects_a_slope_of_another_extent() -> None:
    with pytest.raises(DeclarationError, match=r"nn\.prelu"):
        topi.nn.prelu(te.placeholder((3, 5)), te.placeholder((4,)))


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
