"""Padding, mirroring and dilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import topi
from te_sched.topi import nn
from tests.topi.layers import A
from tests.topi.running import Case, case, check

CASES = [
    case("pad", lambda x: nn.pad(x, (1, 2)), lambda x: np.pad(x, ((1, 1), (2, 2))), A),
    case(
        "pad_value",
        lambda x: nn.pad(x, (1, 2), (0, 1), 2.5),
        lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=2.5),
        A,
    ),
    *[
        case(
            f"mirror-{mode}",
            lambda x, mode=mode: nn.mirror_pad(x, (1, 2), (2, 1), mode.upper()),
            lambda x, mode=mode: np.pad(x, ((1, 2), (2, 1)), mode),
            A,
        )
        for mode in ("symmetric", "reflect")
    ],
    case(
        "dilate",
        lambda x: nn.dilate(x, (2, 3)),
        lambda x: np.kron(x, [[1, 0, 0], [0, 0, 0]])[:-1, :-2],
        A,
    ),
]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, (1, 1, 1, 1)),
        ((1, 2), (1, 2, 1, 2)),
        ((1, 2, 3, 4), (1, 2, 3, 4)),
        ("SAME", (1, 2, 1, 1)),
        ("VALID", (0, 0, 0, 0)),
    ],
)
def test_pad_tuple(given: Any, expected: Any) -> None:
    assert nn.get_pad_tuple(given, (3, 4)) == expected
    assert topi.nn.get_pad_tuple1d("SAME", 4) == (2, 1)


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
