"""Operators by their bodies: functions of a model, and those that ONNX defines."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.nodes import translate
from tests.relax.frontend.onnx.models import X, check, model_of, run

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402


def with_function(nodes, attributes=()):
    """A model that calls a function `own.Scaled` of these nodes."""
    model = model_of([("Scaled", ["x"], ["y"], {"domain": "own"})], {"x": X})
    imports = [helper.make_opsetid("", 18)]
    function = helper.make_function("own", "Scaled", ["a"], ["b"], nodes, imports, attributes)
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("own", 1))
    return model


def test_functions_of_a_model_have_names_of_their_own() -> None:
    nodes = [helper.make_node("Exp", ["a"], ["x"]), helper.make_node("Neg", ["x"], ["b"])]
    np.testing.assert_allclose(run(from_onnx(with_function(nodes)), nd.array(X)), -np.exp(X), 1e-5)


def test_attributes_of_a_call_are_those_of_nodes() -> None:
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    node.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=1))
    model = with_function([node], ["slope"])
    model.graph.node[0].attribute.append(helper.make_attribute("slope", 0.5))
    wanted = np.where(X < 0, 0.5 * X, X)
    np.testing.assert_allclose(run(from_onnx(model), nd.array(X)), wanted, rtol=1e-6)


def test_operators_have_the_bodies_of_onnx() -> None:
    scores, labels = X, np.array([[0, 2, 1, 1], [1, 0, 0, 2]])
    nodes = [("SoftmaxCrossEntropyLoss", ["x", "l"], ["y"], {"reduction": "sum"})]
    check(model_of(nodes, {"x": scores}, {"l": labels}), {"x": scores})


def test_operators_of_functions_that_are_not_supported_are_refused() -> None:
    model = with_function([helper.make_node("Bernoulli", ["a"], ["b"])])
    with pytest.raises(GraphError, match="operator RandomUniformLike is not supported"):
        from_onnx(model)


def test_inputs_that_do_not_exist_are_refused() -> None:
    with pytest.raises(GraphError, match="uses z, which does not exist"):
        translate(OnnxImporter(), helper.make_node("Relu", ["z"], ["y"]))
