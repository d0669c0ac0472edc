"""Whole models of ONNX: inputs, parameters, sizes, versions of operators, errors."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import CallError, GraphError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import RNG, X, check, model_of, run

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402


def test_sizes_are_computed_before_the_model_runs() -> None:
    nodes = [
        ("Shape", ["x"], ["s"], {}),
        ("Gather", ["s", "one"], ["n"], {}),
        ("Mul", ["n", "two"], ["m"], {}),
        ("Concat", ["m", "rest"], ["t"], {"axis": 0}),
        ("Reshape", ["x", "t"], ["y"], {}),
    ]
    constants = {"one": np.array([0]), "two": np.array([2]), "rest": np.array([-1])}
    shapes = {"x": ["n", 3, 4]}
    check(model_of(nodes, {"x": X}, constants, shapes=shapes), {"x": X})


@pytest.mark.parametrize("size", [-1, "-1", "?", "n.1", None])
def test_sizes_that_a_model_leaves_open(size) -> None:
    model = model_of([("Relu", ["x"], ["y"], {})], {"x": X}, shapes={"x": [size, 3, 4]})
    module = from_onnx(model)
    name = "n_1" if size == "n.1" else "x_dim_0"
    assert str(module["main"].params[0].struct_info) == f'R.Tensor(({name}, 3, 4), dtype="float32")'
    check(model, {"x": X})


@pytest.mark.parametrize(
    ("kind", "attrs"), [("Add", {}), ("Concat", {"axis": 1}), ("Max", {}), ("Pow", {})]
)
def test_open_sizes_of_operands_get_one_name(kind, attrs) -> None:
    x, z = X + 1, X + 2
    shapes = {"x": ["n", 3, 4], "z": ["k", 3, 4]}
    model = model_of([(kind, ["x", "z"], ["y"], attrs)], {"x": x, "z": z}, shapes=shapes)
    check(model, {"x": x, "z": z})
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu()
    )
    with pytest.raises(CallError, match="has shape"):
        machine["main"](nd.array(x), nd.array(z[[0, 1, 1]]))


def test_parameters_are_kept() -> None:
    w, b = RNG.random((4, 3), dtype=np.float32), RNG.random(3, dtype=np.float32)
    x = X[0]
    nodes = [("Gemm", ["x", "w", "b"], ["y"], {"alpha": 0.5, "beta": 2.0})]
    model = model_of(nodes, {"x": x}, {"w": w, "b": b})
    mod, params = detach_params(from_onnx(model, keep_params_in_input=True))
    assert mod["main"].attrs["num_input"] == 1
    found = run(mod, nd.array(x), *params["main"])
    np.testing.assert_allclose(found, 0.5 * (x @ w) + 2 * b, rtol=1e-5)


def test_all_unsupported_operators_are_listed() -> None:
    nodes = [("Gelu2", ["x"], ["a"], {}), ("Odd", ["a"], ["y"], {})]
    with pytest.raises(GraphError, match="2 operators are not supported: Gelu2, Odd"):
        from_onnx(model_of(nodes, {"x": X}))


def test_damaged_models_are_refused() -> None:
    model = model_of([("Relu", ["x"], ["y"], {})], {"x": X})
    model.graph.node[0].output[0] = "z"
    with pytest.raises(GraphError, match="no node computes output y"):
        from_onnx(model)
    model.graph.name = ""
    with pytest.raises(GraphError, match=r"is damaged(.|\n)*'name' of 'graph'"):
        from_onnx(model)


def test_unsupported_operators_are_named_with_their_domain() -> None:
    model = model_of([("Relu", ["x"], ["y"], {})], {"x": X})
    model.graph.node[0].domain = "com.example"
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(GraphError, match=r"operator is not supported: com\.example\.Relu"):
        from_onnx(model)


def test_the_version_of_operators_is_that_of_the_model_or_of_the_argument() -> None:
    nodes = [("Softmax", ["x"], ["y"], {"axis": 1})]
    check(model_of(nodes, {"x": X}, opset=18), {"x": X})
    older = model_of(nodes, {"x": X}, opset=11)
    rows = np.exp(X) / np.exp(X).sum((1, 2), keepdims=True)
    np.testing.assert_allclose(run(from_onnx(older), nd.array(X)), rows, rtol=1e-5)
    columns = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    np.testing.assert_allclose(run(from_onnx(older, opset=13), nd.array(X)), columns, rtol=1e-5)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([("Relu", ["z"], ["y"], {})], "uses z, which does not exist"),
        ([("Reshape", ["x", "s"], ["y"], {})], "computed when the model"),
        ([("Reshape", ["x", "s"], ["y"], {})], "make it an initializer of the model"),
        (
            [("Abs", ["s"], ["t"], {}), ("Reshape", ["x", "t"], ["y"], {})],
            "simplify the model: its inputs have fixed sizes",
        ),
    ],
)
def test_from_onnx_rejects(nodes, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, {"x": X, "s": np.array([2])}))


def test_outputs_that_no_node_computes_are_rejected() -> None:
    model = model_of([("Relu", ["x"], ["z"], {})], {"x": X})
    with pytest.raises(GraphError, match="no node computes output y"):
        from_onnx(model)


def test_models_are_checked(monkeypatch) -> None:
    with pytest.raises(GraphError, match="the model is 3"):
        from_onnx(3)
    with pytest.raises(GraphError, match="operators of version 6"):
        from_onnx(model_of([("Relu", ["x"], ["y"], {})], {"x": X}, opset=6))
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(GraphError, match="cannot be read"):
        from_onnx(3)


def test_inputs_that_are_not_tensors_are_rejected() -> None:
    from onnx import TensorProto, helper

    from te_sched.relax.frontend.onnx.onnx_model import _input_info

    sparse = helper.make_sparse_tensor_value_info("x", TensorProto.FLOAT, [2])
    with pytest.raises(GraphError, match="input x is not a tensor"):
        _input_info(sparse, {}, "float32", {})
