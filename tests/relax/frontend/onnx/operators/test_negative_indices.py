"""Negative indices of ONNX count from the end, as constants and given at run time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import AccessError
from te_sched.relax.frontend.onnx import from_onnx

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx import helper, numpy_helper  # noqa: E402

X = np.arange(24, dtype="float32").reshape(2, 3, 4)
U = np.arange(-12, 0, dtype="float32")

CASES: dict[str, tuple[str, dict[str, Any], Any, Any]] = {
    "gather": ("Gather", {"axis": 1}, np.array([[0, -1], [-3, 2]]), None),
    "gather one": ("Gather", {"axis": -1}, np.array(-2), None),
    "elements": ("GatherElements", {"axis": 1}, np.array([[[0, -1, 1, -3]]] * 2), None),
    "vectors": ("GatherND", {}, np.array([[1, -1], [-2, 0]]), None),
    "batches": ("GatherND", {"batch_dims": 1}, np.array([[-1], [0]]), None),
    "scatter": ("ScatterElements", {"axis": 2}, np.array([[[-1, 0]] * 3] * 2), U.reshape(2, 3, 2)),
    "scatter axis": (
        "ScatterElements",
        {"axis": -2},
        np.array([[[-1] * 4]] * 2),
        U[:8].reshape(2, 1, 4),
    ),
    "scatter vectors": ("ScatterND", {}, np.array([[-1, 2], [0, -3]]), U[:8].reshape(2, 4)),
    "add": ("ScatterND", {"reduction": "add"}, np.array([[-1], [1], [0]]), np.stack([X[0]] * 3)),
}


def model_of(
    kind: str, attrs: Any, indices: Any, updates: Any, *, fixed: bool, is_open: bool
) -> Any:
    names = ["x", "i", *(["u"] if updates is not None else [])]
    shape: list[Any] = ["a", "b", "c"] if is_open else list(X.shape)
    inputs = [helper.make_tensor_value_info("x", 1, shape)]
    if not fixed:
        inputs.append(helper.make_tensor_value_info("i", onnx.TensorProto.INT64, indices.shape))
    initial = [numpy_helper.from_array(indices, "i")] if fixed else []
    if updates is not None:
        initial.append(numpy_helper.from_array(updates, "u"))
    node = helper.make_node(kind, names, ["y"], **attrs)
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph([node], "model", inputs, outputs, initial)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def run(model: Any, *args: Any) -> Any:
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu()
    )
    return machine["main"](*[nd.array(one) for one in args]).numpy()


@pytest.mark.parametrize("is_open", [False, True], ids=["", "open sizes"])
@pytest.mark.parametrize("fixed", [False, True], ids=["given", "constant"])
@pytest.mark.parametrize("name", CASES)
def test_negative_indices(name: str, fixed: bool, is_open: bool) -> None:
    kind, attrs, indices, updates = CASES[name]
    model = model_of(kind, attrs, indices, updates, fixed=fixed, is_open=is_open)
    given = (X,) if fixed else (X, indices)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (expected,) = session.run(None, dict(zip(("x", "i"), given, strict=False)))
    np.testing.assert_array_equal(run(model, *given), expected)


@pytest.mark.parametrize("value", [-4, 3, 2**40])
@pytest.mark.parametrize("name", ["gather", "elements", "scatter axis"])
def test_indices_beyond_are_errors(name: str, value: int) -> None:
    kind, attrs, indices, updates = CASES[name]
    model = model_of(kind, attrs, indices, updates, fixed=False, is_open=False)
    with pytest.raises(AccessError, match=r" at -?\d+ in dimension \d"):
        run(model, X, np.full_like(indices, value))
