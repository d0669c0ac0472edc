"""Models beside onnxruntime, also those of its own operators, with results of integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend.onnx import from_onnx

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

DOMAIN = "com.microsoft"
Arrays = Mapping[str, Any]


def model_of(
    nodes: Sequence[Any],
    inputs: Arrays,
    constants: Arrays,
    outputs: Sequence[str] = ("y",),
    opset: int = 21,
) -> Any:
    """A model of nodes, whose inputs have the shapes and dtypes of arrays."""
    values = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in inputs.items()
    ]
    initial = [
        numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()
    ]
    results = [helper.make_tensor_value_info(name, 1, None) for name in outputs]
    graph = helper.make_graph(list(nodes), "model", values, results, initial)
    versions = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


def results_of(model: Any, inputs: Arrays, **options: Any) -> list[Any]:
    """The results of a model that te_sched builds."""
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model, **options), "llvm -opt-level=0"), te_sched.cpu()
    )
    result = machine["main"](*[nd.array(array) for array in inputs.values()])
    return [part.numpy() for part in (result if isinstance(result, list | tuple) else [result])]


def check(
    model: Any,
    inputs: Arrays,
    steps: int = 0,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    is_optimized: bool = True,
) -> list[Any]:
    """Compare results with those of onnxruntime: integers differ by at most some steps."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    if not is_optimized:
        level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.graph_optimization_level = level
    options.log_severity_level = 3
    inferred = onnx.ModelProto.FromString(model.SerializeToString())
    for output in inferred.graph.output:
        output.ClearField("type")  # onnxruntime infers it
    session = onnxruntime.InferenceSession(
        inferred.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, dict(inputs))
    results = results_of(model, inputs)
    assert len(results) == len(expected)
    for result, wanted in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        if result.dtype.kind in "iu":
            distance = np.abs(result.astype("int64") - wanted.astype("int64"))
            assert distance.max(initial=0) <= steps
        else:
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=atol)
    return results
