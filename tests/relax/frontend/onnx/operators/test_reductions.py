"""Reductions beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.frontend.onnx.models import X, check, model_of


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("ReduceMean", {"keepdims": 0}, [np.array([1])]),
        ("ReduceL2", {}, [np.array([2])]),
        ("ReduceLogSumExp", {}, [np.array([0, 2])]),
        ("CumSum", {"reverse": 1, "exclusive": 1}, [np.array(1)]),
        ("ArgMax", {"axis": 1, "select_last_index": 1}, ()),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})
