"""Results whose number depends on the elements, beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import X, check, model_of, run


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [
        ([("NonZero", ["x"], ["y"], {})], {}),
        ([("Compress", ["x", "k"], ["y"], {"axis": 1})], {"k": np.array([True, False, True])}),
        ([("Unique", ["x"], ["y", "i", "n", "c"], {"axis": 0})], {}),
    ],
)
def test_results(nodes, constants) -> None:
    check(model_of(nodes, {"x": X}, constants), {"x": X})


def test_operators_use_sizes_that_are_computed() -> None:
    nodes = [
        ("NonZero", ["x"], ["i"], {}),
        ("Transpose", ["i"], ["t"], {}),
        ("GatherND", ["x", "t"], ["g"], {}),
        ("Exp", ["g"], ["y"], {}),
    ]
    check(model_of(nodes, {"x": X}), {"x": X})


@pytest.mark.parametrize("center", [0, 1])
def test_boxes_that_do_not_overlap(center: int) -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], "float32")
    if center:
        boxes = np.array([[[0.5, 0.5, 1, 1], [0.6, 0.5, 1, 1], [10.5, 0.5, 1, 1]]], "float32")
    constants = {
        "s": np.array([[[0.9, 0.75, 0.3]]], "float32"),
        "n": np.array([2]),
        "o": np.array([0.5], "float32"),
    }
    nodes = [("NonMaxSuppression", ["x", "s", "n", "o"], ["y"], {"center_point_box": center})]
    result = run(from_onnx(model_of(nodes, {"x": boxes}, constants)), nd.array(boxes))
    assert result.tolist() == [[0, 0, 0], [0, 0, 2]]
