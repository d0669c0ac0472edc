"""If of ONNX: branches that are known, and that a call chooses, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import model_of

onnx = pytest.importorskip("onnx")


def session_of(model: Any) -> Any:
    """What runs a model in onnxruntime."""
    return pytest.importorskip("onnxruntime").InferenceSession(model.SerializeToString())


X = np.arange(-3, 3, dtype="float32").reshape(2, 3)


def graph(nodes: list[Any], *outputs: str, weights: dict[str, Any] | None = None) -> Any:
    """A graph inside of a node."""
    made = [onnx.helper.make_node(kind, inputs, results) for kind, inputs, results in nodes]
    results = [onnx.helper.make_tensor_value_info(name, 1, None) for name in outputs]
    arrays = [onnx.numpy_helper.from_array(*pair[::-1]) for pair in (weights or {}).items()]
    return onnx.helper.make_graph(made, "branch", [], results, arrays)


DOUBLED = graph(
    [("Mul", ["x", "two"], ["z"]), ("Exp", ["z"], ["t"])],
    "t",
    weights={"two": np.array(2, "float32")},
)
SHIFTED = graph([("Add", ["x", "one"], ["e"])], "e")
STACKED = graph([("Concat", ["x", "x"], ["k"])], "k")
STACKED.node[0].attribute.append(onnx.helper.make_attribute("axis", 0))


def model_with(then: Any, other: Any, condition: list[Any], shape: Any = None) -> Any:
    """A model of a condition, whose result is added to itself."""
    attrs = {"then_branch": then, "else_branch": other}
    nodes = [*condition, ("If", ["c"], ["r"], attrs), ("Add", ["r", "r"], ["y"], {})]
    known = {"one": np.array([1], "float32"), "zero": np.array(0, "float32")}
    known |= {"place": np.array(1), "three": np.array(3)}
    model = model_of(nodes, {"x": X}, known, opset=17)
    if shape is not None:
        dims = model.graph.input[0].type.tensor_type.shape.dim
        for dim, size in zip(dims, shape, strict=True):
            dim.Clear()
            dim.dim_param = size
    return model


SUM = [("ReduceSum", ["x"], ["s"], {"keepdims": 0}), ("Greater", ["s", "zero"], ["c"], {})]


@pytest.mark.parametrize("shape", [None, ("n", "m")], ids=["fixed", "open"])
@pytest.mark.parametrize("branches", [(DOUBLED, SHIFTED), (STACKED, SHIFTED)], ids=["same", "more"])
def test_a_call_chooses_a_branch(branches: Any, shape: Any) -> None:
    model = model_with(*branches, SUM, shape)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm"), nd.cpu())
    session = session_of(model)
    for data in (X, -X, X + 1):
        result = machine["main"](nd.array(data)).numpy()
        np.testing.assert_allclose(result, session.run(None, {"x": data})[0], rtol=1e-6)


def test_a_branch_that_is_known_is_translated_alone() -> None:
    condition = [("Shape", ["x"], ["h"], {}), ("Gather", ["h", "place"], ["q"], {})]
    condition += [("Equal", ["q", "three"], ["c"], {})]
    module = from_onnx(model_with(DOUBLED, STACKED, condition))
    assert "if " not in module.script()
    assert "R.exp" in module.script()


def test_branches_of_other_ranks_are_refused_with_the_node() -> None:
    flat = graph([("Flatten", ["x"], ["f"]), ("ReduceMax", ["f"], ["g"])], "g")
    flat.node[1].attribute.append(onnx.helper.make_attribute("keepdims", 0))
    with pytest.raises(GraphError, match="branches of a condition give different values") as raised:
        from_onnx(model_with(flat, SHIFTED, SUM))
    assert "If" in str(raised.value)


def test_operators_inside_of_branches_are_refused_together() -> None:
    strange = graph([("StringNormalizer", ["x"], ["n"])], "n")
    with pytest.raises(GraphError, match="1 operator is not supported: StringNormalizer"):
        from_onnx(model_with(strange, SHIFTED, SUM))


def typed(name: str, shape: Any, kind: int = 1) -> Any:
    """The declaration of a value of a graph."""
    return onnx.helper.make_tensor_value_info(name, kind, shape)


def loop_body(condition: list[Any]) -> Any:
    """A step that adds its number to a state, and also gives the state before it."""
    nodes = [
        *condition,
        ("Cast", ["i"], ["f"]),
        ("Add", ["a", "f"], ["a_out"]),
        ("Identity", ["a"], ["before"]),
    ]
    made = graph(nodes)
    made.node[len(condition)].attribute.append(onnx.helper.make_attribute("to", 1))
    made.input.extend([typed("i", [], 7), typed("go", [], 9), typed("a", [2, 3])])
    made.output.extend([typed("go_out", [], 9), typed("a_out", [2, 3]), typed("before", [2, 3])])
    return made


GOES_ON = [("Identity", ["go"], ["go_out"])]


def looped(steps: int, condition: list[Any], most: str = "most") -> Any:
    """A model of a loop."""
    body = loop_body(condition)
    nodes = [
        ("Loop", [most, "", "x"], ["last", "all"], {"body": body}),
        ("ReduceSum", ["all"], ["s"], {"keepdims": 0}),
        ("Add", ["last", "s"], ["y"], {}),
    ]
    return model_of(nodes, {"x": X}, {"most": np.array(steps)}, opset=17)


@pytest.mark.parametrize("steps", [1, 5])
def test_a_loop_of_a_known_number_of_steps(steps: int) -> None:
    model = looped(steps, GOES_ON)
    session = session_of(model)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm"), nd.cpu())
    result = machine["main"](nd.array(X)).numpy()
    np.testing.assert_allclose(result, session.run(None, {"x": X})[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("steps", "condition", "most", "message"),
    [
        (2000, GOES_ON, "most", "a loop has 2000 steps, expected at most 1024"),
        (0, GOES_ON, "most", "a loop without steps gives a tensor"),
        (3, [("Greater", ["a", "a"], ["go_out"])], "most", "ends by a condition that is computed"),
        (3, GOES_ON, "", "number of steps that is computed"),
    ],
)
def test_loops_that_cannot_be_written_are_refused(steps, condition, most, message) -> None:
    model = looped(steps, condition, most)
    if not most:
        model.graph.node[0].input[1] = "yes"
        yes = onnx.numpy_helper.from_array(np.array(True), "yes")
        model.graph.initializer.append(yes)
    with pytest.raises(GraphError, match=message):
        from_onnx(model)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("direction", [0, 1])
def test_scans_of_both_directions(axis: int, direction: int) -> None:
    body = graph([("Add", ["t", "e"], ["t_out"]), ("Mul", ["t_out", "e"], ["p"])])
    size = [X.shape[1 - axis]]
    body.input.extend([typed("t", size), typed("e", size)])
    body.output.extend([typed("t_out", size), typed("p", size)])
    attrs = {"body": body, "num_scan_inputs": 1, "scan_input_axes": [axis]}
    attrs |= {"scan_input_directions": [direction], "scan_output_axes": [axis]}
    attrs["scan_output_directions"] = [1 - direction]
    nodes = [("Scan", ["zeros", "x"], ["last", "all"], attrs)]
    nodes.append(("Add", ["all", "one"], ["y"], {}))
    known = {"zeros": np.zeros(size, "float32"), "one": np.array([1], "float32")}
    model = model_of(nodes, {"x": X}, known, opset=17)
    session = session_of(model)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm"), nd.cpu())
    result = machine["main"](nd.array(X)).numpy()
    np.testing.assert_allclose(result, session.run(None, {"x": X})[0], rtol=1e-6)
