"""DecomposeOps: operators that differ between training and inference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, relax
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


def _attention(shapes: list[tuple[int, ...]], **options: Any) -> tuple[IRModule, list[Any]]:
    arrays = [
        np.random.default_rng(at).standard_normal(shape).astype("float32")
        for at, shape in enumerate(shapes)
    ]
    return graph_of(arrays, lambda _, *values: nn.attention(*values, **options)), arrays


@pytest.mark.parametrize("causal_mask", [None, "BottomRight"])
@pytest.mark.parametrize("bias", [[], [(2, 3, 1, 6)], [(3, 1, 6)], [(1, 6)]])
def test_attention_of_one_query_is_products_in_builds(
    bias: list[tuple[int, ...]], causal_mask: str | None
) -> None:
    shapes = [(2, 1, 3, 4), (2, 6, 3, 4), (2, 6, 3, 5), *bias]
    before, arrays = _attention(shapes, scale=0.3, causal_mask=causal_mask)
    assert DecomposeOpsForInference()(before) is before
    after = DecomposeOpsForInference(to_run=True)(before)
    assert "matmul" in operators_of(after)
    check_same(before, after, arrays, 1e-5)


@pytest.mark.parametrize(
    ("queries", "options"), [(2, {}), (1, {"causal_mask": "TopLeft"}), (1, {"window_size": 3})]
)
def test_attention_of_other_kinds_stays_in_builds(queries: int, options: dict[str, Any]) -> None:
    before, _ = _attention([(2, queries, 3, 4), (2, 6, 3, 4), (2, 6, 3, 4)], **options)
    after = DecomposeOpsForInference(to_run=True)(before)
    assert operators_of(after) == operators_of(before)


def test_attention_of_one_query_of_half_precision_sums_in_float32() -> None:
    """Scores of 1024 and 1025 differ in float32 alone."""
    arrays = [np.ones((1, 1, 1, 41), "float16"), np.full((1, 2, 1, 41), 25, "float16")]
    arrays[1][0, 1, 0, 0] = 26
    arrays.append(np.array([0, 1], "float16").reshape(1, 2, 1, 1))
    module = graph_of(arrays, lambda _, *values: nn.attention(*values, scale=1.0))
    result = relax.VirtualMachine(relax.build(module, "llvm"))["main"](*arrays)
    np.testing.assert_allclose(result.numpy().ravel(), 1 / (1 + np.exp(-1)), 2e-3)
