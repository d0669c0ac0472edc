"""Products of matrices as layers."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.topi import nn
from tests.topi.layers import GAMMA, IMAGE, A, column
from tests.topi.running import Case, case, check, floats, integers

CASES = [
    case("dense", nn.dense, lambda x, w: x @ w.T, A, floats(5, 6)),
    case("dense_bias", nn.dense, lambda x, w, b: x @ w.T + b, A, floats(5, 6), floats(5)),
    case(
        "dense_int8",
        lambda x, w: nn.dense(x, w, out_dtype="int32"),
        lambda x, w: x.astype("int32") @ w.astype("int32").T,
        integers(4, 6, low=-100, high=100).astype("int8"),
        integers(5, 6, low=-100, high=100).astype("int8"),
    ),
    case("nn_matmul", nn.matmul, np.matmul, A, floats(6, 5)),
    case(
        "nn_matmul_tt",
        lambda a, b: nn.matmul(a, b, None, None, True, True),
        lambda a, b: a.T @ b.T,
        A,
        floats(5, 4),
    ),
    case(
        "batch_matmul",
        nn.batch_matmul,
        lambda a, b: a @ b.transpose(0, 2, 1),
        floats(2, 3, 4),
        floats(2, 5, 4),
    ),
    case(
        "batch_matmul_of_one",
        lambda a, b: nn.batch_matmul(a, b, transpose_a=True, transpose_b=False),
        lambda a, b: a.transpose(0, 2, 1) @ b,
        floats(1, 4, 3),
        floats(2, 4, 5),
    ),
    case("bias_add", nn.bias_add, lambda x, b: x + column(b), IMAGE, floats(4)),
    case("bias_add_last", lambda x, b: nn.bias_add(x, b, -1), np.add, A, GAMMA),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
