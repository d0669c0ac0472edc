"""Passes that have a rule for each operator: DecomposeOps, ConvertLayout, ToMixedPrecision.

Each graph is run as it is written and as a pass makes it, and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, nd, relax
from te_sched.errors import GraphError
from te_sched.relax import op
from te_sched.relax.op import nn
from te_sched.relax.transform import (
    ConvertLayout,
    DecomposeOpsForInference,
    DecomposeOpsForTraining,
    LegalizeOps,
    ToMixedPrecision,
)

RNG = np.random.default_rng(0)
IMAGE = RNG.uniform(-1, 1, (2, 4, 6, 6)).astype("float32")
KERNEL = RNG.uniform(-1, 1, (4, 4, 3, 3)).astype("float32")
VECTOR = RNG.uniform(0.5, 1, (4,)).astype("float32")
MATRIX = RNG.uniform(-1, 1, (4, 4)).astype("float32")


def _graph(arrays: Sequence[Any], build: Callable[..., Any]) -> IRModule:
    """A function of arrays, in one dataflow block."""
    params = [
        relax.Var(f"p{at}", relax.TensorStructInfo(list(one.shape), str(one.dtype)))
        for at, one in enumerate(arrays)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(build(builder, *params))
        builder.emit_func_output(out)
    return builder.get()


def _run(module: IRModule, arrays: Sequence[Any]) -> list[Any]:
    built = relax.build(LegalizeOps()(module), "llvm -opt-level=0")
    found = relax.VirtualMachine(built, nd.cpu())["main"](*[nd.array(one) for one in arrays])
    values = [found] if hasattr(found, "numpy") else list(found)
    return [one.numpy() for one in values]


def _operators(module: IRModule) -> str:
    """The operators of the function, in order."""
    names = [
        str(getattr(one.value, "op", "")).rpartition(".")[2]
        for block in module["main"].body.blocks
        for one in block.bindings
    ]
    return " ".join(name for name in names if name)


def _same(before: IRModule, after: IRModule, arrays: Sequence[Any], tolerance: float) -> None:
    for one, other in zip(_run(before, arrays), _run(after, arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


# DecomposeOps


def _normalized(builder: Any, x: Any, g: Any, b: Any) -> Any:
    del builder
    return nn.batch_norm(x, g, b, b, g, axis=1, momentum=0.2)


def test_decompose_ops_for_training_equals_batch_norm() -> None:
    arrays = [IMAGE, VECTOR, VECTOR]
    before = _graph(arrays, _normalized)
    after = DecomposeOpsForTraining("main")(before)
    assert "batch_norm" not in _operators(after)
    _same(before, after, arrays, 1e-5)


def test_decompose_ops_for_inference_uses_the_moving_mean() -> None:
    arrays = [IMAGE, VECTOR, VECTOR]
    after = DecomposeOpsForInference()(_graph(arrays, _normalized))
    column = VECTOR[:, None, None]
    found, mean, _ = _run(after, arrays)
    expected = (IMAGE - column) / np.sqrt(column + 1e-5) * column + column
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(mean, VECTOR)


def test_legalize_ops_warns_that_batch_norm_is_that_of_training() -> None:
    graph = _graph([IMAGE, VECTOR, VECTOR], _normalized)
    with pytest.warns(UserWarning, match="apply relax.transform.DecomposeOpsForInference"):
        LegalizeOps()(graph)


def test_decompose_ops_leaves_other_functions() -> None:
    before = _graph([IMAGE, VECTOR, VECTOR], _normalized)
    assert DecomposeOpsForInference("other")(before)["main"] is before["main"]


def test_decompose_ops_of_layer_norm() -> None:
    arrays = [MATRIX, VECTOR, VECTOR]
    before = _graph(arrays, lambda builder, x, g, b: nn.layer_norm(x, g, b, -1))
    after = DecomposeOpsForTraining()(before)
    assert _operators(after) == "mean subtract variance add sqrt divide multiply add"
    _same(before, after, arrays, 1e-5)


def test_decompose_ops_of_tensor_to_shape() -> None:
    sizes = np.array([2, 8], "int64")
    before = _graph(
        [MATRIX, sizes], lambda builder, x, s: op.reshape(x, builder.emit(op.tensor_to_shape(s)))
    )
    after = DecomposeOpsForInference()(before)
    assert _operators(after) == "call_pure_packed reshape"
    (found,) = _run(after, [MATRIX, sizes])
    np.testing.assert_array_equal(found, MATRIX.reshape(2, 8))


# ConvertLayout

SQUARES = relax.const(RNG.uniform(-1, 1, (1, 4, 4, 4)).astype("float32"))
NHWC = {"relax.nn.conv2d": ["NHWC", "OHWI"]}
LAYOUTS: list[tuple[str, Callable[..., Any]]] = [
    ("conv2d of constants", lambda b, x, w: nn.conv2d(x, relax.const(KERNEL))),
    (
        "conv2d and constants",
        lambda b, x, w: op.maximum(b.emit(op.add(b.emit(nn.conv2d(x, w)), SQUARES)), SQUARES),
    ),
    ("conv2d relu", lambda b, x, w: nn.relu(b.emit(nn.conv2d(x, w)))),
    ("conv2d add", lambda b, x, w: op.add(b.emit(nn.conv2d(x, w, padding=1)), x)),
    ("conv2d sum", lambda b, x, w: op.sum(b.emit(nn.conv2d(x, w)), [1, -1])),
    ("conv2d mean all", lambda b, x, w: op.mean(b.emit(nn.conv2d(x, w)))),
    ("conv2d max keepdims", lambda b, x, w: op.max(b.emit(nn.conv2d(x, w)), [1], True)),
    ("conv2d permute", lambda b, x, w: op.permute_dims(b.emit(nn.conv2d(x, w)), [3, 1, 0, 2])),
    (
        "conv2d expand squeeze",
        lambda b, x, w: op.squeeze(b.emit(op.expand_dims(b.emit(nn.conv2d(x, w)), [0, 3])), [0, 3]),
    ),
    (
        "conv2d slice",
        lambda b, x, w: op.strided_slice(b.emit(nn.conv2d(x, w)), [1, 3], [0, 1], [3, 4], [2, 1]),
    ),
    (
        "conv2d concat split",
        lambda b, x, w: op.split(
            b.emit(op.concat([b.emit(nn.conv2d(x, w)), b.emit(nn.conv2d(x, w))], 1)), [1, 5], 1
        ),
    ),
    ("conv2d pool", lambda b, x, w: nn.max_pool2d(b.emit(nn.conv2d(x, w)), 2)),
    ("conv2d softmax", lambda b, x, w: nn.softmax(b.emit(nn.conv2d(x, w)), 1)),
    ("conv2d flip tanh", lambda b, x, w: op.tanh(b.emit(op.flip(b.emit(nn.conv2d(x, w)), 1)))),
    ("conv2d reshape", lambda b, x, w: op.reshape(b.emit(nn.conv2d(x, w)), (2, -1))),
]


@pytest.mark.parametrize("case", LAYOUTS, ids=lambda case: case[0])
def test_convert_layout_computes_the_same(case: tuple[str, Callable[..., Any]]) -> None:
    before = _graph([IMAGE, KERNEL], case[1])
    after = ConvertLayout(NHWC)(before)
    assert _operators(after).startswith("permute_dims permute_dims conv2d")
    _same(before, after, [IMAGE, KERNEL], 2e-5)


def test_convert_layout_leaves_other_blocks() -> None:
    before = _graph([MATRIX], lambda builder, x: op.tanh(x))
    assert ConvertLayout(NHWC)(before)["main"] is before["main"]


@pytest.mark.parametrize(
    ("layouts", "text"),
    [(["NHWC"], "has 1 desired layouts"), (["NHWC8c", "OHWI"], "is asked for NHWC8c")],
)
def test_convert_layout_rejects(layouts: list[str], text: str) -> None:
    before = _graph([IMAGE, KERNEL], lambda builder, x, w: nn.conv2d(x, w))
    with pytest.raises(GraphError, match=text):
        ConvertLayout({"relax.nn.conv2d": layouts})(before)


# ToMixedPrecision

MIXED: list[tuple[str, str, Callable[..., Any]]] = [
    ("matmul", "astype matmul", lambda b, x: op.matmul(x, x)),
    ("relu", "relu", lambda b, x: nn.relu(x)),
    (
        "matmul relu",
        "astype matmul astype relu astype",
        lambda b, x: nn.relu(b.emit(op.matmul(x, x))),
    ),
    (
        "matmul softmax",
        "astype matmul astype astype softmax",
        lambda b, x: nn.softmax(b.emit(op.matmul(x, x))),
    ),
    (
        "matmul add",
        "astype matmul astype astype add astype",
        lambda b, x: op.add(b.emit(op.matmul(x, x)), relax.const(1.0)),
    ),
    (
        "matmul add great",
        "astype matmul astype astype add",
        lambda b, x: op.add(b.emit(op.matmul(x, x)), relax.const(1e6)),
    ),
    ("relu matmul", "relu astype matmul", lambda b, x: op.matmul(*[b.emit(nn.relu(x))] * 2)),
]


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case[0])
def test_to_mixed_precision(case: tuple[str, str, Callable[..., Any]]) -> None:
    _, operators, build = case
    before = _graph([MATRIX], build)
    after = ToMixedPrecision()(before)
    assert _operators(after) == operators
    _same(before, after, [MATRIX], 2e-2)


def test_to_mixed_precision_of_parameters() -> None:
    before = _graph([MATRIX], lambda builder, x: op.matmul(x, x))
    after = ToMixedPrecision("float16", ["p0"])(before)
    assert after["main"].params[0].struct_info.dtype == "float16"
    assert _operators(after) == "matmul astype"
    (found,) = _run(after, [MATRIX.astype("float16")])
    np.testing.assert_allclose(found, MATRIX @ MATRIX, rtol=2e-2, atol=2e-2)


CONDITIONS: dict[str, Callable[[Any], Any]] = {
    "greater": lambda y: op.greater(y, relax.const(0.0)),
    "less": lambda y: op.less(y, y),
    "isnan": op.isnan,
    "isfinite": op.isfinite,
    "to int32": lambda y: op.astype(y, "int32"),
    "to bool": lambda y: op.astype(y, "bool"),
    "to float16": lambda y: op.astype(y, "float16"),
    "to float32": lambda y: op.astype(y, "float32"),
    "to float64": lambda y: op.astype(y, "float64"),
    "argmax": lambda y: op.argmax(y, axis=1),
    "argsort": op.argsort,
    "places of topk": lambda y: op.topk(y, 2, ret_type="indices"),
    "ones": lambda y: op.ones_like(y, "int32"),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("out_dtype", ["float32", "float16"])
def test_to_mixed_precision_of_conditions(name: str, out_dtype: str) -> None:
    """What follows a product and has another dtype is read again, also by other conditions."""

    def build(builder: Any, x: Any) -> Any:
        y = builder.emit(op.matmul(x, x))
        made = builder.emit(CONDITIONS[name](y))
        again = builder.emit(op.equal(made, made))
        return relax.Tuple([builder.emit(op.astype(one, "float32")) for one in (made, again, y)])

    before = _graph([MATRIX], build)
    after = ToMixedPrecision(out_dtype)(before)
    assert relax.analysis.well_formed(after)
    _same(before, after, [MATRIX], 2e-2)


def test_to_mixed_precision_converts_again_after_a_branch() -> None:
    x = relax.Var("x", relax.TensorStructInfo([4, 4], "float32"))
    wanted = relax.Var("wanted", relax.TensorStructInfo([], "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [wanted, x]):
        branches = [relax.SeqExpr([], op.exp(x)), relax.SeqExpr([], op.negative(x))]
        chosen = builder.emit(relax.If(wanted, *branches))
        builder.emit_func_output(builder.emit(op.add(chosen, x)))
    after = ToMixedPrecision("float16", ["x"])(builder.get())
    assert relax.analysis.well_formed(after)
    (found,) = _run(after, [np.array(True), MATRIX.astype("float16")])
    np.testing.assert_allclose(found, np.exp(MATRIX) + MATRIX, rtol=2e-2)


def test_to_mixed_precision_returns_tuples_as_written() -> None:
    def build(builder: Any, x: Any) -> Any:
        product = builder.emit(op.matmul(x, x))
        return op.split(builder.emit(nn.relu(product)), 2)

    before = _graph([MATRIX], build)
    after = ToMixedPrecision()(before)
    assert after["main"].ret_struct_info == before["main"].ret_struct_info
    _same(before, after, [MATRIX], 2e-2)
