"""Models of a few nodes, and their results beside those of onnx's reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend.onnx import from_onnx

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

KINDS = {"float32": 1, "int8": 3, "int32": 6, "int64": 7, "bool": 9}
RNG = np.random.default_rng(0)
X = RNG.random((2, 3, 4), dtype=np.float32) - 0.3
IMAGE = RNG.random((1, 2, 6, 5), dtype=np.float32)


def model_of(nodes, inputs, constants=(), outputs=("y",), opset: int = 18, shapes=None):
    """A model of nodes: (operator, inputs, outputs, attributes)."""
    values = [
        helper.make_tensor_value_info(
            name, KINDS[str(one.dtype)], (shapes or {}).get(name, one.shape)
        )
        for name, one in inputs.items()
    ]
    made = [helper.make_node(kind, ins, outs, **attrs) for kind, ins, outs, attrs in nodes]
    results = [helper.make_tensor_value_info(name, 1, None) for name in outputs]
    initial = [numpy_helper.from_array(one, name) for name, one in dict(constants).items()]
    graph = helper.make_graph(made, "model", values, results, initial)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def run(mod, *args):
    machine = relax.VirtualMachine(relax.build(mod, "llvm -opt-level=0"), te_sched.cpu())
    return machine["main"](*args).numpy()


def check(model, inputs, **options) -> None:
    (wanted,) = ReferenceEvaluator(model).run(None, inputs)
    found = run(from_onnx(model, **options), *[nd.array(one) for one in inputs.values()])
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def check_against_onnxruntime(model, shapes) -> None:
    """Calls of a model with inputs x of several shapes give onnxruntime's results."""
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu()
    )
    for shape in shapes:
        x = RNG.random(shape, dtype=np.float32) - 0.5
        (expected,) = session.run(None, {"x": x})
        result = machine["main"](nd.array(x)).numpy()
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
