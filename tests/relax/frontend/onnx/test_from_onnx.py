"""Models of ONNX against onnx's reference evaluator; errors."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.onnx import from_onnx
from te_sched.relax.frontend.onnx import onnx_model as importing

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

KINDS = {"float32": 1, "int32": 6, "int64": 7, "bool": 9}
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
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    return machine["main"](*args).numpy()


def check(model, inputs, **options) -> None:
    (wanted,) = ReferenceEvaluator(model).run(None, inputs)
    found = run(from_onnx(model, **options), *[nd.array(one) for one in inputs.values()])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Softmax", {"axis": 1}, ()),
        ("LogSoftmax", {}, ()),
        ("HardSwish", {}, ()),
        ("Selu", {}, ()),
        ("Softplus", {}, ()),
        ("Shrink", {"bias": 0.1, "lambd": 0.2}, ()),
        ("ThresholdedRelu", {"alpha": 0.3}, ()),
        ("Clip", {}, [np.float32(-0.1), np.float32(0.4)]),
        ("Transpose", {"perm": [2, 0, 1]}, ()),
        ("Flatten", {"axis": 2}, ()),
        ("Reshape", {}, [np.array([0, -1])]),
        ("Squeeze", {}, ()),
        ("Unsqueeze", {}, [np.array([0, 2])]),
        ("Slice", {}, [np.array([3, 0]), np.array([-9, 2]), np.array([2, 1]), np.array([-2, 1])]),
        ("Gather", {"axis": 2}, [np.array([[0, -1]])]),
        ("Expand", {}, [np.array([2, 1, 1, 4])]),
        ("Tile", {}, [np.array([1, 2, 1])]),
        ("Pad", {"mode": "reflect"}, [np.array([0, 1, 1, 0, 1, 2])]),
        ("ReduceMean", {"keepdims": 0}, [np.array([1])]),
        ("ReduceL2", {}, [np.array([2])]),
        ("ReduceLogSumExp", {}, [np.array([0, 2])]),
        ("CumSum", {"reverse": 1, "exclusive": 1}, [np.array(1)]),
        ("Trilu", {"upper": 0}, [np.array(1)]),
        ("Div", {}, [np.float32(0.5)]),
        ("Pow", {}, [np.array([2], "int64")]),
        ("LayerNormalization", {}, [np.full(4, 2, "float32")]),
        ("Cast", {"to": 6}, ()),
        ("Elu", {"alpha": 0.5}, ()),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Conv", {"auto_pad": "SAME_LOWER", "strides": [2, 1]}, [(4, 2, 3, 3), (4,)]),
        ("Conv", {"group": 2, "pads": [1, 0, 1, 2], "dilations": [2, 1]}, [(4, 1, 2, 2)]),
        ("ConvTranspose", {"strides": [2, 2], "output_padding": [1, 1]}, [(2, 3, 3, 3), (3,)]),
        ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2]}, []),
        ("AveragePool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}, []),
        ("GlobalAveragePool", {}, []),
        ("BatchNormalization", {}, [(2,), (2,), (2,), (2,)]),
        ("InstanceNormalization", {}, [(2,), (2,)]),
        ("SpaceToDepth", {"blocksize": 1}, []),
    ],
)
def test_operators_of_images(kind, attrs, constants) -> None:
    names = {f"c{n}": RNG.random(one, dtype=np.float32) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": IMAGE}, names), {"x": IMAGE})


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


TWO = np.array([2])
WEIGHT = np.ones((2, 1, 1, 1), "float32")


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        ([("Relu", ["z"], ["y"], {})], {"x": X}, {}, "uses z, which does not exist"),
        ([("Reshape", ["x", "s"], ["y"], {})], {"x": X, "s": TWO}, {}, "computed when the model"),
        ([("ArgMax", ["x"], ["y"], {"select_last_index": 1})], {"x": X}, {}, "last of equal"),
        (
            [("ConvTranspose", ["x", "w"], ["y"], {"auto_pad": "SAME_UPPER"})],
            {"x": IMAGE},
            {"w": WEIGHT},
            "with auto_pad or output_shape",
        ),
        (
            [("ConvTranspose", ["x", "w"], ["y"], {})],
            {"x": np.ones((1, 2, 3, 3, 3), "float32")},
            {"w": np.ones((2, 1, 1, 1, 1), "float32")},
            "convolution of 3 dimensions",
        ),
        (
            [("MaxPool", ["x"], ["y", "z"], {"kernel_shape": [1, 1]})],
            {"x": IMAGE},
            {},
            "the places of its elements",
        ),
        (
            [("BatchNormalization", ["x", "c", "c", "c", "c"], ["y"], {"training_mode": 1})],
            {"x": IMAGE},
            {"c": np.ones(2, "float32")},
            "as in training",
        ),
        (
            [("Resize", ["x", "", "", "s"], ["y"], {})],
            {"x": X},
            {"s": np.array([1, 2, 3])},
            "resize of 3 dimensions",
        ),
    ],
)
def test_from_onnx_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))


def test_dynamic_sizes_are_not_padded_automatically() -> None:
    nodes = [("Conv", ["x", "w"], ["y"], {"auto_pad": "SAME_UPPER"})]
    weight = {"w": np.ones((1, 2, 1, 1), "float32")}
    model = model_of(nodes, {"x": IMAGE}, weight, shapes={"x": [1, 2, "h", 5]})
    with pytest.raises(GraphError, match="auto_pad of a dimension of size h"):
        from_onnx(model)


def test_outputs_that_no_node_computes_are_rejected() -> None:
    model = model_of([("Relu", ["x"], ["z"], {})], {"x": X})
    with pytest.raises(GraphError, match="no node computes output y"):
        from_onnx(model)


def test_models_are_checked(monkeypatch) -> None:
    with pytest.raises(GraphError, match="the model is 3"):
        from_onnx(3)
    with pytest.raises(GraphError, match="operators of version 6"):
        from_onnx(model_of([("Relu", ["x"], ["y"], {})], {"x": X}, opset=6))
    unknown = relax.Var("x", relax.TensorStructInfo(dtype="float32", ndim=1))
    with pytest.raises(GraphError, match="the shape of a tensor is not known"):
        importing.OnnxImporter(18).shape(unknown)
    node = helper.make_node("Relu", ["z"], ["y"])
    with pytest.raises(GraphError, match="uses z, which does not exist"):
        importing._translate(onnx, importing.OnnxImporter(18), node)
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(GraphError, match="cannot be read"):
        from_onnx(3)
