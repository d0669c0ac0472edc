"""DecomposeOps: operators that differ between training and inference."""

from __future__ import annotations

import numpy as np

from te_sched.relax import op
from te_sched.relax.op import nn
from te_sched.relax.transform import DecomposeOpsForInference, DecomposeOpsForTraining
from tests.relax.transform.compared import (
    IMAGE,
    MATRIX,
    VECTOR,
    check_same,
    graph_of,
    normalized,
    operators_of,
    run,
)


def test_decompose_ops_for_training_equals_batch_norm() -> None:
    arrays = [IMAGE, VECTOR, VECTOR]
    before = graph_of(arrays, normalized)
    after = DecomposeOpsForTraining("main")(before)
    assert "batch_norm" not in operators_of(after)
    check_same(before, after, arrays, 1e-5)


def test_decompose_ops_for_inference_uses_the_moving_mean() -> None:
    arrays = [IMAGE, VECTOR, VECTOR]
    after = DecomposeOpsForInference()(graph_of(arrays, normalized))
    column = VECTOR[:, None, None]
    found, mean, _ = run(after, arrays)
    expected = (IMAGE - column) / np.sqrt(column + 1e-5) * column + column
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(mean, VECTOR)


def test_decompose_ops_leaves_other_functions() -> None:
    before = graph_of([IMAGE, VECTOR, VECTOR], normalized)
    assert DecomposeOpsForInference("other")(before)["main"] is before["main"]


def test_decompose_ops_of_layer_norm() -> None:
    arrays = [MATRIX, VECTOR, VECTOR]
    before = graph_of(arrays, lambda builder, x, g, b: nn.layer_norm(x, g, b, -1))
    after = DecomposeOpsForTraining()(before)
    assert operators_of(after) == "mean subtract variance add sqrt divide multiply add"
    check_same(before, after, arrays, 1e-5)


def test_decompose_ops_of_tensor_to_shape() -> None:
    sizes = np.array([2, 8], "int64")
    before = graph_of(
        [MATRIX, sizes], lambda builder, x, s: op.reshape(x, builder.emit(op.tensor_to_shape(s)))
    )
    after = DecomposeOpsForInference()(before)
    assert operators_of(after) == "call_pure_packed reshape"
    (found,) = run(after, [MATRIX, sizes])
    np.testing.assert_array_equal(found, MATRIX.reshape(2, 8))
