"""Softmax and its logarithm."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import topi
from tests.topi.inputs import X
from tests.topi.running import Case, case, check

CASES = [
    case(
        "fast_softmax",
        topi.nn.fast_softmax,
        lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
        X,
    )
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
