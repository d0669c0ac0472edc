"""What rows ask of the importer: shapes, numbers that are known, rules of versions."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import find_row
from te_sched.relax.frontend.onnx.sizes import OnnxSizes

N = tir.Var("n", "int64")


def test_shapes_and_dtypes_of_values() -> None:
    imp = OnnxImporter()
    assert imp.shape(np.zeros((2, 3))) == [2, 3]
    assert imp.shape(OnnxSizes([N, 2])) == [2]
    assert imp.shape(OnnxSizes([N], is_scalar=True)) == []
    x = relax.Var("x", relax.TensorStructInfo([N, 4], "int8"))
    assert imp.shape(x) == [N, 4]
    assert (imp.rank(x), imp.dtype(x), imp.dtype(OnnxSizes([N]))) == (2, "int8", "int64")


def test_unknown_shapes_are_refused() -> None:
    unknown = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=1))
    with pytest.raises(GraphError, match="the shape of x is not known"):
        OnnxImporter().shape(unknown)


def test_numbers_of_inputs() -> None:
    imp = OnnxImporter()
    imp.inputs, imp.known = ["x", "k"], {"k": np.array([2, 3])}
    assert imp.ints(relax.const([9]), 0) == [9]
    assert imp.sizes(OnnxSizes([N, 2]), 0) == [N, 2]
    parameter = relax.Var("k", relax.TensorStructInfo([2], "int64"))
    assert imp.ints(parameter, 1) == [2, 3]
    with pytest.raises(GraphError, match="input 0 is computed when the model runs"):
        imp.ints(relax.Var("x", relax.TensorStructInfo([2], "int64")), 0)
    with pytest.raises(GraphError, match="input 0 has sizes that a call gives"):
        imp.ints(OnnxSizes([N, 2]), 0)


def test_rules_are_those_of_the_versions_of_the_model() -> None:
    imp = OnnxImporter({"": 11})
    assert imp.rule_of("ai.onnx", "Resize") is find_row("", "Resize", 11)
    assert imp.rule_of("", "Resize") is not find_row("", "Resize", 10)
    assert imp.rule_of("com.example", "Resize") is None


def test_the_help_names_the_inputs_whose_sizes_calls_give() -> None:
    imp = OnnxImporter()
    imp.shapes = {"x": [N, 4], "k": [3], "z": [tir.Var("m", "int64"), N]}
    imp.inputs = ["x"]
    text = r'give numbers for n, m: from_onnx\(model, shape_dict={"x": \[n, 4\], "z": \[m, n\]}\)'
    with pytest.raises(GraphError, match=text):
        imp.ints(OnnxSizes([N, 2]), 0)


def test_the_node_around_a_graph_is_current_after_it() -> None:
    imp = OnnxImporter()
    imp.known["axes"], imp.known["sizes"] = np.array([1]), np.array([7])
    imp.inputs, imp.count = ["x", "axes"], 2
    with imp.inner_scope():
        imp.inputs, imp.count = ["x", "sizes"], 1
        assert imp.ints(None, 1) == [7]
    assert (imp.ints(None, 1), imp.count) == ([1], 2)
