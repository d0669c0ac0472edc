"""Operators of indices beside onnx's reference and onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.frontend.onnx.models import X, check, model_of


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Slice", {}, [np.array([3, 0]), np.array([-9, 2]), np.array([2, 1]), np.array([-2, 1])]),
        ("Gather", {"axis": 2}, [np.array([[0, -1]])]),
        ("GatherElements", {"axis": 1}, [np.array([[[0, -1, 1, 2]]] * 2)]),
        ("GatherND", {}, [np.array([[1, -1], [0, 0]])]),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


def test_one_hot_of_negative_indices_and_of_those_beyond() -> None:
    inputs = {"a": np.array([-1, 0, 5])}
    constants = {"b": np.array(3), "c": np.array([1, 4])}
    check(model_of([("OneHot", ["a", "b", "c"], ["y"], {})], inputs, constants), inputs)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("is_end_known", [False, True])
@pytest.mark.parametrize(
    ("starts", "ends"), [([3, 0], [-9, 2]), ([-1, 1], [0, -1]), ([9, 2], [-2, 2])]
)
def test_slices_of_bounds_that_a_call_computes(starts, ends, is_end_known, dtype) -> None:
    inputs = {"x": X, "s": np.array(starts, dtype), "e": np.array(ends, dtype)}
    constants = {"axes": np.array([2, 1]), "steps": np.array([-2, 1])}
    if is_end_known:
        constants["e"] = inputs.pop("e")
    nodes = [("Slice", ["x", "s", "e", "axes", "steps"], ["y"], {})]
    check(model_of(nodes, inputs, constants), inputs)
