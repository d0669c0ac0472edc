"""If, Loop and Scan of ONNX, known and computed, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import CallError, GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import model_of

onnx = pytest.importorskip("onnx")


def session_of(model: Any) -> Any:
    """What runs a model in onnxruntime."""
    return pytest.importorskip("onnxruntime").InferenceSession(model.SerializeToString())


PLACE = np.array([1])
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
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm -opt-level=0"), nd.cpu())
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
        from_onnx(model_with(flat, SHIFTED, SUM, ["n", "m"]))
    assert "cannot import If" in str(raised.value)
    assert 'from_onnx(model, shape_dict={"x": [n, m]})' in str(raised.value)


def test_a_size_that_a_call_gives_is_squeezed_if_it_is_one() -> None:
    """`x.squeeze(1)` as torch exports it: calls with other sizes are refused."""
    squeezed = graph([("Squeeze", ["x", "place_1"], ["q"])], "q", weights={"place_1": PLACE})
    condition = [("Shape", ["x"], ["h"], {}), ("Gather", ["h", "place"], ["w"], {})]
    condition += [("Equal", ["w", "place"], ["c"], {})]  # a size of 1
    model = model_with(squeezed, graph([("Identity", ["x"], ["i"])], "i"), condition, ["n", "m"])
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm"), nd.cpu())
    column = X.reshape(-1, 1)
    (expected,) = session_of(model).run(None, {"x": column})
    np.testing.assert_array_equal(machine["main"](nd.array(column)).numpy(), expected)
    with pytest.raises(CallError, match="m"):
        machine["main"](nd.array(X))


def test_an_error_inside_of_branches_names_the_inner_node() -> None:
    tall = graph([("Flatten", ["x"], ["f"]), ("Concat", ["f", "x", "one"], ["g"])], "g")
    tall.node[1].attribute.append(onnx.helper.make_attribute("axis", 5))
    tall.node[1].name = "inner"
    with pytest.raises(GraphError, match=r"^cannot import Concat: (?s:.*)where: node inner"):
        from_onnx(model_with(tall, SHIFTED, SUM))


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


@pytest.mark.parametrize("steps", [0, 1, 5, 30, 2000])
def test_a_loop_of_a_known_number_of_steps(steps: int) -> None:
    model = looped(steps, GOES_ON)
    session = session_of(model)
    module = from_onnx(model)
    assert ("loop" in module.functions) == (steps in (0, 30, 2000))
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), nd.cpu())
    result = machine["main"](nd.array(X)).numpy()
    np.testing.assert_allclose(result, session.run(None, {"x": X})[0], rtol=1e-5)


def parsed(text: str) -> Any:
    """A model, from ONNX's text of a graph."""
    header = '<ir_version: 9, opset_import: ["" : 17]>\n'
    return onnx.parser.parse_model(header + text)


def check_beside_onnxruntime(model: Any, *calls: dict[str, Any]) -> Any:
    """Compare the results of calls with those of onnxruntime; the module."""
    session, module = session_of(model), from_onnx(model)
    relax.analysis.well_formed(module)
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), nd.cpu())
    for call in calls:
        results = machine["main"](*[nd.array(array) for array in call.values()])
        expected = session.run(None, call)
        parts = [results] if len(expected) == 1 else results
        for result, wanted in zip(parts, expected, strict=True):
            assert result.dtype == str(wanted.dtype)
            if not wanted.ndim or len(wanted):
                np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, strict=True)
            else:  # without elements onnxruntime has 0 for open sizes of them, too
                assert result.shape[0] == 0
                assert len(result.shape) == wanted.ndim
    return module


COUNTED = """
f (int64 n, bool keep, float[rows, 3] x) => (float[a, 3] last, float[k, b, 3] all, int64[k] numbers)
{
    last, all, numbers = Loop (n, keep, x) <body: graph = step (
        int64 i, bool go, float[d, 3] a) => (bool go_out, float[d, 3] b, float[d, 3] a2, int64 j) {
        f = Cast <to: int = 1> (i)
        b0 = Add (a, f)
        b = Sub (b0, x)
        a2 = Identity (a)
        j = Identity (i)
        go_out = Identity (go)
    }>
}
"""


@pytest.mark.parametrize("rows", ["2", "rows"])
def test_a_loop_of_a_computed_number_of_steps(rows: str) -> None:
    """Its body uses an input of the model, and gives elements; without a step there are none."""
    model = parsed(COUNTED.replace("rows", rows))
    calls = [
        {"n": np.array(n), "keep": np.array(keep), "x": np.tile(X, (repeats, 1))}
        for n in (0, 1, 7, 40)
        for keep in (True, False)
        for repeats in ((1, 3) if rows == "rows" else (1,))
    ]
    check_beside_onnxruntime(model, *calls)


def test_a_loop_that_ends_by_its_condition() -> None:
    """The condition has a dimension, as has the number of the step; so has the limit."""
    model = parsed(
        """
        f (float[2, 3] x, float limit, int64[1] n) => (float[2, 3] last, int64[k, 1] numbers)
        <float two = {2.0}, bool[1] yes = {1}> {
            last, numbers = Loop (n, yes, x) <body: graph = step (
                int64[1] i, bool[1] go, float[2, 3] a
            ) => (bool[1] go_out, float[2, 3] b, int64[1] j) {
                b = Mul (a, two)
                s = ReduceMax <keepdims: int = 0> (b)
                s1 = Less (s, limit)
                shape = Constant <value_ints: ints = [1]> ()
                go_out = Reshape (s1, shape)
                j = Identity (i)
            }>
        }
        """
    )
    calls = [
        {"x": X, "limit": np.array(limit, "float32"), "n": np.array([n])}
        for limit in (-9, 3, 100)
        for n in (0, 3, 1 << 40)
    ]
    check_beside_onnxruntime(model, *calls)


def test_a_loop_without_a_greatest_number_of_steps() -> None:
    model = parsed(
        """
        f (float[2, 3] x, float limit) => (float[2, 3] last) <float two = {2.0}> {
            m = ReduceMax <keepdims: int = 0> (x)
            first = Less (m, limit)
            last = Loop ("", first, x) <body: graph = step (int64 i, bool go, float[2, 3] a)
            => (bool go_out, float[2, 3] b) {
                b = Mul (a, two)
                s = ReduceMax <keepdims: int = 0> (b)
                go_out = Less (s, limit)
            }>
        }
        """
    )
    calls = [{"x": X, "limit": np.array(limit, "float32")} for limit in (-9, 3, 100)]
    check_beside_onnxruntime(model, *calls)


def test_states_that_grow_and_elements_of_one_shape() -> None:
    model = parsed(
        """
        f (int64 n, float[rows, 3] x) => (float[a, 3] y, float[b, 3] z, float[k, 3] sums) {
            y, z, sums = Loop (n, "", x, x) <body: graph = step (
                int64 i, bool go, float[p, 3] y0, float[p, 3] z0
            ) => (bool go_out, float[q, 3] y2, float[q, 3] z2, float[3] s) {
                y1 = Add (y0, z0)
                y2 = Concat <axis: int = 0> (y1, x)
                z2 = Concat <axis: int = 0> (z0, x)
                axes = Constant <value_ints: ints = [0]> ()
                s = ReduceSum <keepdims: int = 0> (y2, axes)
                go_out = Identity (go)
            }>
        }
        """
    )
    calls = [{"n": np.array(n), "x": X[:rows]} for n in (0, 1, 6) for rows in (1, 2)]
    check_beside_onnxruntime(model, *calls)


def test_loops_in_one_another_and_in_a_condition() -> None:
    """The inner loop has as many steps as the number of the outer one, and uses its state."""
    model = parsed(
        """
        f (int64 n, float[2, 3] x) => (float[2, 3] y)
        <float zero = {0.0}, float half = {0.5}, bool yes = {1}> {
            total = ReduceSum <keepdims: int = 0> (x)
            is_positive = Greater (total, zero)
            y = If (is_positive) <then_branch: graph = then () => (float[2, 3] looped) {
                looped = Loop (n, yes, x) <body: graph = outer (int64 i, bool go, float[2, 3] a)
                => (bool go_out, float[2, 3] a2) {
                    inner = Loop (i, yes, a) <body: graph = step (int64 j, bool go1, float[2, 3] b)
                    => (bool go2, float[2, 3] b2) {
                        scaled = Mul (b, half)
                        added = Add (scaled, a)
                        b2 = Sub (added, x)
                        go2 = Identity (go1)
                    }>
                    top = ReduceMax <keepdims: int = 0> (inner)
                    is_low = Less (top, half)
                    a2 = If (is_low) <then_branch: graph = low () => (float[2, 3] raised) {
                        raised = Exp (inner)
                    }, else_branch: graph = high () => (float[2, 3] kept) {
                        kept = Sub (inner, half)
                    }>
                    go_out = Identity (go)
                }>
            }, else_branch: graph = other () => (float[2, 3] negative) {
                negative = Neg (x)
            }>
        }
        """
    )
    calls = [{"n": np.array(n), "x": x} for n in (0, 1, 5) for x in (X, X + 1)]
    check_beside_onnxruntime(model, *calls)


def test_a_slice_from_the_number_of_the_step() -> None:
    """Its size is not known, since it is cut at the end of the axis."""
    model = parsed(
        """
        f (float[n, 2] x) => (float[a, 2] y, float[b, 2] z)
        <bool yes = {1}, float[1, 2] zero = {0, 0}, int64[1] first = {0}, int64[1] two = {2}> {
            count = Shape <start: int = 0, end: int = 1> (x)
            begin = Slice (x, first, two)
            y, z = Loop (count, yes, begin, zero) <body: graph = step (
                int64 i, bool go, float[p, 2] a, float[1, 2] c
            ) => (bool go_out, float[q, 2] b, float[1, 2] d) {
                from = Unsqueeze (i, first)
                to = Add (from, two)
                row = Slice (x, from, to, first)
                b = Concat <axis: int = 0> (a, row)
                last = Neg (to)
                rest = Slice (x, first, last)
                sum = ReduceSum (rest, first)
                d = Add (c, sum)
                go_out = Identity (go)
            }>
        }
        """
    )
    data = [np.arange(2 * rows, dtype="float32").reshape(rows, 2) / 8 for rows in (1, 4, 9)]
    check_beside_onnxruntime(model, *[{"x": x} for x in data])


def test_steps_that_are_translated_with_their_number_are_written() -> None:
    """Copies of a row, whose number only the step knows."""
    model = parsed(
        """
        f (float[1, 2] x) => (float[1, 2] y)
        <int64 n = {25}, bool yes = {1}, int64[1] one = {1}, int64[1] first = {0}> {
            y = Loop (n, yes, x) <body: graph = step (int64 i, bool go, float[1, 2] a)
            => (bool go_out, float[1, 2] b) {
                next = Add (i, one)
                repeats = Concat <axis: int = 0> (next, one)
                rows = Tile (x, repeats)
                sum = ReduceSum (rows, first)
                b = Add (a, sum)
                go_out = Identity (go)
            }>
        }
        """
    )
    module = check_beside_onnxruntime(model, {"x": X[:1, :2]})
    assert "loop" not in module.functions


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("direction", [0, 1])
def test_scans_of_an_open_size(axis: int, direction: int) -> None:
    size = ["3"] if axis == 0 else ["2"]
    shape = ["n", *size] if axis == 0 else [*size, "n"]
    model = parsed(
        f"""
        f (float[{", ".join(shape)}] x, float[{size[0]}] t0) => (float[a] last, float[b, c] all) {{
            last, all = Scan <num_scan_inputs: int = 1, scan_input_axes: ints = [{axis}],
                scan_input_directions: ints = [{direction}], scan_output_axes: ints = [-1],
                scan_output_directions: ints = [{1 - direction}],
                body: graph = step (float[{size[0]}] t, float[{size[0]}] e)
                => (float[{size[0]}] t2, float[{size[0]}] p) {{
                    t2 = Add (t, e)
                    p = Mul (t2, e)
                }}> (t0, x)
        }}
        """
    )
    data = [np.arange(n * int(size[0]), dtype="float32") / 4 for n in (1, 2, 9)]
    shaped = [array.reshape([-1, 3] if axis == 0 else [2, -1]) for array in data]
    start = np.ones(int(size[0]), "float32")
    check_beside_onnxruntime(model, *[{"x": x, "t0": start} for x in shaped])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("b = Cast <to: int = 7> (a) \n go_out = Identity (go)", "changes the rank and dtype of"),
        ("b = Exp (a) \n go_out = Less (a, x)", "a condition or a number of steps is R.Tensor"),
        ("b = Exp (a) \n go_out = Cast <to: int = 7> (n)", "a condition or a number of steps is"),
    ],
)
def test_loops_that_cannot_be_written_are_refused(body: str, message: str) -> None:
    model = parsed(
        """
        f (int64 n, float[2, 3] x) => (float[2, 3] y) {
            y = Loop (n, "", x) <body: graph = step (int64 i, bool go, float[2, 3] a)
            => (bool go_out, float[2, 3] b) { BODY }>
        }
        """.replace("BODY", body)
    )
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
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm -opt-level=0"), nd.cpu())
    result = machine["main"](nd.array(X)).numpy()
    np.testing.assert_allclose(result, session.run(None, {"x": X})[0], rtol=1e-6)


def test_scans_of_batches() -> None:
    body = graph([("Add", ["t", "e"], ["t_out"]), ("Mul", ["t_out", "e"], ["p"])])
    body.input.extend([typed("t", [3]), typed("e", [3])])
    body.output.extend([typed("t_out", [3]), typed("p", [3])])
    attrs = {"body": body, "num_scan_inputs": 1}
    nodes = [("Scan", ["", "zeros", "x"], ["last", "y"], attrs)]
    x = np.stack([X, X + 1, X * 2])
    known = {"zeros": np.zeros((3, 3), "float32"), "lengths": np.array([2, 2, 1])}
    model = model_of(nodes, {"x": x}, known, opset=8)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm -opt-level=0"), nd.cpu())
    result = machine["main"](nd.array(x)).numpy()
    np.testing.assert_allclose(result, np.cumsum(x, axis=1) * x, rtol=1e-6)
    model.graph.node[0].input[0] = "lengths"
    with pytest.raises(GraphError, match="a Scan of version 8 has lengths of sequences"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("condition", "is_unrolled"),
    [
        ("go_out = Identity (go)", True),
        ("go_out = Less (i, three)", True),
        ("s = Shape (w) \n n = ReduceSum <keepdims: int = 0> (s) \n go_out = Less (i, n)", True),
        ("t = Add (i, c) \n go_out = Less (t, five)", True),
        ("s = Shape (x) \n n = ReduceMin <keepdims: int = 0> (s) \n go_out = Less (i, n)", False),
        ("s = ReduceSum <keepdims: int = 0> (a) \n go_out = Less (s, limit)", False),
        ("s = ReduceMax <keepdims: int = 0> (x) \n go_out = Less (s, limit)", False),
        (
            """e = Less (i, three)
            go_out = If (e) <then_branch: graph = g1 () => (bool p) { p = Less (i, five) },
                else_branch: graph = g2 () => (bool q) {
                    m = ReduceMax <keepdims: int = 0> (x) \n q = Less (m, limit) }>""",
            False,
        ),
    ],
)
def test_loops_whose_conditions_are_known_are_written_step_by_step(
    condition: str, is_unrolled: bool
) -> None:
    """The state c is a number that steps know, a is one that calls compute."""
    model = parsed(
        """
        f (float[rows, 3] x) => (float[d, 3] y, int64 k, float[n, d, 3] all)
        <int64 five = {5}, int64 three = {3}, int64 most = {6}, float limit = {40},
         bool keep = {1}, int64 c0 = {0}, float[2, 2] w = {1, 2, 3, 4}>
        {
            y, k, all = Loop (most, keep, x, c0) <body: graph = step (
                int64 i, bool go, float[d, 3] a, int64 c)
            => (bool go_out, float[d, 3] b, int64 c2, float[d, 3] e2) {
                b = Add (a, a) \n c2 = Add (c, i) \n e2 = Identity (b)
                CONDITION
            }>
        }
        """.replace("CONDITION", condition)
    )
    module = check_beside_onnxruntime(model, {"x": X}, {"x": np.abs(X) / 9})
    assert ("loop" in module.functions) != is_unrolled


def test_scans_without_batches_are_refused() -> None:
    body = graph([("Add", ["t", "e"], ["t_out"]), ("Mul", ["t_out", "e"], ["p"])])
    body.input.extend([typed("t", [3]), typed("e", [3])])
    body.output.extend([typed("t_out", [3]), typed("p", [3])])
    nodes = [("Scan", ["", "s", "z"], ["last", "all"], {"body": body, "num_scan_inputs": 1})]
    shapes = {"s": np.zeros((0, 3), "float32"), "z": np.zeros((0, 2, 3), "float32")}
    model = model_of([*nodes, ("Identity", ["all"], ["y"], {})], shapes, {}, opset=8)
    with pytest.raises(GraphError, match="a loop without steps gives a tensor"):
        from_onnx(model)
