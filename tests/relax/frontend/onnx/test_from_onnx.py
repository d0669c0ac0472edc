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
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    return machine["main"](*args).numpy()


def check(model, inputs, **options) -> None:
    (wanted,) = ReferenceEvaluator(model).run(None, inputs)
    found = run(from_onnx(model, **options), *[nd.array(one) for one in inputs.values()])
    assert found.dtype == wanted.dtype
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
        ("Clip", {}, [np.float32(0.3), np.float32(-0.1)]),
        ("IsInf", {"detect_negative": 0}, ()),
        ("IsInf", {"detect_negative": 0, "detect_positive": 0}, ()),
        ("ArgMax", {"axis": 1, "select_last_index": 1}, ()),
        ("Reshape", {"allowzero": 1}, [np.array([2, 3, 4])]),
        ("GatherElements", {"axis": 1}, [np.array([[[0, -1, 1, 2]]] * 2)]),
        ("GatherND", {}, [np.array([[1, -1], [0, 0]])]),
        ("CastLike", {}, [np.array([1])]),
        ("Dropout", {}, ()),
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
        ("ConvTranspose", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, [(2, 3, 3, 3)]),
        ("ConvTranspose", {"output_shape": [13, 10], "strides": [2, 2]}, [(2, 3, 2, 2)]),
        ("ConvTranspose", {"dilations": [2, 1]}, [(2, 3, 2, 2)]),
        ("MaxPool", {"kernel_shape": [1, 1], "strides": [4, 4], "ceil_mode": 1}, []),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [4, 4], "ceil_mode": 1}, []),
        ("GroupNormalization", {"num_groups": 2}, [(2,), (2,)]),
    ],
)
def test_operators_of_images(kind, attrs, constants) -> None:
    names = {f"c{n}": RNG.random(one, dtype=np.float32) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": IMAGE}, names), {"x": IMAGE})


@pytest.mark.parametrize(
    ("attrs", "inputs"),
    [
        ({"mode": "linear"}, {"k": np.array([1, 1, 0.6, 1.7], "float32")}),
        ({"mode": "cubic", "exclude_outside": 1}, {"k": np.array([1, 1, 0.8, 1.7], "float32")}),
        (
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
            {"k": np.array([1, 1, 0.6, 0.6], "float32")},
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
            {"k": np.array([1, 1, 0.6, 2.3], "float32")},
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
            {"s": np.array([1, 2, 1, 3])},
        ),
        (
            {
                "nearest_mode": "round_prefer_ceil",
                "coordinate_transformation_mode": "asymmetric",
            },
            {"s": np.array([1, 2, 9, 8])},
        ),
        ({"nearest_mode": "ceil", "axes": [3, 2]}, {"k": np.array([1.5, 0.5], "float32")}),
        (
            {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]},
            {"s": np.array([9, 7])},
        ),
        (
            {
                "mode": "linear",
                "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0,
            },
            {
                "r": np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], "float32"),
                "s": np.array([1, 2, 4, 1]),
            },
        ),
        ({"mode": "linear"}, {"s": np.array([1, 3, 6, 5])}),
    ],
)
def test_resize(attrs, inputs) -> None:
    names = ["x", *[one if one in inputs else "" for one in ("r", "k", "s")]]
    check(model_of([("Resize", names, ["y"], attrs)], {"x": IMAGE}, inputs, opset=19), {"x": IMAGE})


@pytest.mark.parametrize(
    ("kind", "attrs", "inputs"),
    [
        ("Div", {}, {"a": np.array([-7, 7, 8]), "b": np.array([2, -2, 3])}),
        ("Pow", {}, {"a": np.array([-7, 3, 2]), "b": np.array([3, 4, 0])}),
        ("OneHot", {}, {"a": np.array([-1, 0, 5]), "b": np.array(3), "c": np.array([1, 4])}),
        ("Clip", {}, {"a": np.array([1.0, 2.0, 3.0], "float32"), "b": np.array(1.5, "float32")}),
        ("Clip", {}, {"a": np.array([1, 2, 3], "int8"), "b": np.array(2, "int8")}),
    ],
)
def test_operators_of_integers(kind, attrs, inputs) -> None:
    constants = {name: one for name, one in inputs.items() if kind == "OneHot" and name != "a"}
    given = {name: one for name, one in inputs.items() if name not in constants}
    check(model_of([(kind, list(inputs), ["y"], attrs)], given, constants), given)


def test_rms_normalization() -> None:
    x, scale = nd.array(X), np.full(4, 2, "float32")
    nodes = [("RMSNormalization", ["x", "c"], ["y"], {"axis": -1})]
    found = run(from_onnx(model_of(nodes, {"x": X}, {"c": scale}, opset=23)), x)
    size = np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, X / size * scale, rtol=1e-4)


def test_constants_are_divided_towards_zero() -> None:
    nodes = [("Div", ["p", "q"], ["d"], {}), ("Mul", ["x", "d"], ["y"], {})]
    x = np.array([1, 2])
    check(model_of(nodes, {"x": x}, {"p": np.array([-7, 7]), "q": np.array(2)}), {"x": x})


def test_further_results_of_normalizations_and_dropout() -> None:
    nodes = [
        ("LayerNormalization", ["x", "c"], ["a", "m", "d"], {}),
        ("Dropout", ["a"], ["b", "k"], {}),
        ("Where", ["k", "m", "d"], ["e"], {}),
        ("Mul", ["b", "e"], ["f"], {}),
        ("Mul", ["f", "d"], ["y"], {}),
    ]
    check(model_of(nodes, {"x": X}, {"c": np.full(4, 2, "float32")}), {"x": X})


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


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        ([("Relu", ["z"], ["y"], {})], {"x": X}, {}, "uses z, which does not exist"),
        ([("Reshape", ["x", "s"], ["y"], {})], {"x": X, "s": TWO}, {}, "computed when the model"),
        (
            [("Dropout", ["x", "r", "t"], ["y"], {})],
            {"x": X},
            {"r": np.float32(0.5), "t": np.array(True)},
            "dropped as in training",
        ),
        (
            [("ConvTranspose", ["x", "w"], ["y"], {})],
            {"x": np.ones((1, 2, 3, 3, 3), "float32")},
            {"w": np.ones((2, 1, 1, 1, 1), "float32")},
            "convolutions of 3 dimensions",
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
            [("Resize", ["x", "", "", "s"], ["y"], {"antialias": 1, "mode": "linear"})],
            {"x": X},
            {"s": np.array([2, 2, 3])},
            "antialias is not supported",
        ),
    ],
)
def test_from_onnx_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))


def test_dynamic_sizes_are_not_padded_automatically() -> None:
    nodes = [("Conv", ["x", "w"], ["y"], {"auto_pad": "SAME_UPPER", "strides": [2, 2]})]
    weight = {"w": np.ones((1, 2, 1, 1), "float32")}
    model = model_of(nodes, {"x": IMAGE}, weight, shapes={"x": [1, 2, "h", 5]})
    with pytest.raises(GraphError, match="auto_pad cannot pad a dimension of size h"):
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
    with pytest.raises(GraphError, match="the shape of x is not known"):
        importing.OnnxImporter(18).shape(unknown)
    node = helper.make_node("Relu", ["z"], ["y"])
    with pytest.raises(GraphError, match="uses z, which does not exist"):
        importing._translate(onnx, importing.OnnxImporter(18), node)
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(GraphError, match="cannot be read"):
        from_onnx(3)
