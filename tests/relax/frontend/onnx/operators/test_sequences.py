"""Sequences and optional values of ONNX, beside its reference evaluator and onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx

onnx = pytest.importorskip("onnx")
ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator

X = np.arange(30, dtype="float32").reshape(5, 6) / 4


def parsed(text: str, inputs: str = "float[5, 6] x", outputs: str = "float[a, b] y") -> Any:
    """A model, from ONNX's text of nodes."""
    header = '<ir_version: 10, opset_import: ["" : 18]>\n'
    known = "<int64 one = {1}, int64 last = {-1}, int64 two = {2}, int64[2] parts = {2, 3}>"
    return onnx.parser.parse_model(f"{header} f ({inputs}) => ({outputs}) {known} {{ {text} }}")


def check(model: Any, *arrays: Any, shapes: Any = None, has_loops: bool = False) -> None:
    """Compare results with those of the reference evaluator, or of onnxruntime for loops."""
    names = [value.name for value in model.graph.input]
    if has_loops:  # in which the evaluator does not know sequences
        runtime = pytest.importorskip("onnxruntime")
        evaluator = runtime.InferenceSession(model.SerializeToString())
    else:
        evaluator = ReferenceEvaluator(model)
    expected = evaluator.run(None, dict(zip(names, arrays, strict=True)))
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model, shapes), "llvm -opt-level=0"), nd.cpu()
    )
    result = machine["main"](*[_argument(array) for array in arrays])
    results = [result] if len(expected) == 1 else list(result)
    for part, wanted in zip(results, expected, strict=True):
        parts, arrays_wanted = (part, wanted) if isinstance(wanted, list) else ([part], [wanted])
        assert len(parts) == len(arrays_wanted)
        for one, array in zip(parts, arrays_wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), array, rtol=1e-6, strict=True)


def _argument(value: Any) -> Any:
    return [nd.array(one) for one in value] if isinstance(value, list) else nd.array(value)


@pytest.mark.parametrize(
    "text",
    [
        "s = SplitToSequence <axis: int = 0> (x, parts) \n y = SequenceAt (s, one)",
        "s = SplitToSequence <axis: int = 1> (x, two) \n y = SequenceAt (s, last)",
        "s = SplitToSequence <axis: int = 0> (x, two) \n y = SequenceAt (s, last)",
        "s = SplitToSequence <axis: int = 1> (x) \n y = SequenceAt (s, two)",
        "s = SplitToSequence <axis: int = -1> (x, two) \n "
        "y = ConcatFromSequence <axis: int = 0> (s)",
    ],
)
def test_parts_of_a_tensor(text: str) -> None:
    check(parsed(text), X)


def test_parts_without_the_axis_are_stacked_on_another_one() -> None:
    check(
        parsed(
            "s = SplitToSequence <axis: int = 0, keepdims: int = 0> (x) \n "
            "y = ConcatFromSequence <axis: int = -1, new_axis: int = 1> (s)"
        ),
        X,
    )


def test_elements_are_inserted_and_erased() -> None:
    """Their order is read in the result: in front, before the last one, at the end."""
    text = """
        e = SequenceEmpty ()
        negative = Neg (x)
        root = Sqrt (x)
        s1 = SequenceInsert (e, x)
        s2 = SequenceInsert (s1, negative, zero)
        s3 = SequenceInsert (s2, root, last)
        s4 = SequenceConstruct (root, x, negative)
        s5 = SequenceErase (s4)
        s6 = SequenceErase (s5, zero)
        third = SequenceAt (s3, two)
        length = SequenceLength (s3)
        wide = ConcatFromSequence <axis: int = 0> (s3)
        only = ConcatFromSequence <axis: int = 1> (s6)
    """
    outputs = "seq(float) s3, float[a, b] third, int64 length, float[c, d] wide, float[e, g] only"
    model = parsed(text, outputs=outputs)
    zero = onnx.numpy_helper.from_array(np.array(0), "zero")
    model.graph.initializer.append(zero)
    check(model, X)


def test_sequences_and_optional_values_are_inputs_and_outputs() -> None:
    text = """
        has = OptionalHasElement (maybe)
        z = SequenceMap <body: graph = step (float[a] e, float[1] k) => (float[a] r) {
            r = Mul (e, k)
        }> (s, k)
    """
    inputs = "seq(float) s, float[1] k, optional(float) maybe"
    model = parsed(text, inputs, "seq(float) z, bool has")
    elements = [X[0], X[1, :4]]
    shapes = {"s": [one.shape for one in elements], "maybe": [3]}
    check(model, elements, X[2, :1], X[0, :3], shapes=shapes)
    machine = relax.build(from_onnx(model, {**shapes, "maybe": None}), "llvm -opt-level=0")
    _, has = relax.VirtualMachine(machine, nd.cpu())["main"](_argument(elements), X[2, :1])
    assert not has.numpy()


def test_a_condition_gives_a_sequence() -> None:
    text = """
        total = ReduceSum <keepdims: int = 0> (x)
        c = Greater (total, k)
        s = If (c) <then_branch: graph = then () => (seq(float) p) {
            p = SplitToSequence <axis: int = 0> (x, parts)
        }, else_branch: graph = other () => (seq(float) q) {
            n = Neg (x)
            q = SequenceConstruct (x, n)
        }>
        y = ConcatFromSequence <axis: int = 0> (s)
    """
    for k in (-9, 1e6):
        check(parsed(text, "float[5, 6] x, float k"), X, np.array(k, "float32"))


def test_sizes_in_a_sequence_are_a_shape() -> None:
    text = """
        whole = Shape (x)
        rows = Gather (whole, one)
        s = SequenceConstruct (rows, two, last)
        shape = ConcatFromSequence <axis: int = 0, new_axis: int = 1> (s)
        y = Reshape (x, shape)
    """
    model = parsed(text, "float[n, m] x", "float[a, b, c] y")
    check(model, X[:4])
    check(model, X[:4, :4])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s = SequenceConstruct (x) \n y = SequenceAt (s, one)", "position 1 is outside of a seq"),
        ("s = SequenceConstruct (x) \n y = Exp (s)", "a node is given a sequence of 1 element"),
        ("y = SequenceAt (x, one)", "a node is given a value that is not a sequence"),
        ("s = SequenceEmpty () \n y = ConcatFromSequence <axis: int = 0> (s)", "is joined"),
        ("s = Optional <type = float[1]> () \n y = OptionalGetElement (s)", "without an element"),
    ],
)
def test_nodes_that_do_not_fit_are_refused(text: str, message: str) -> None:
    if "Optional" in text:
        model = parsed("y = OptionalGetElement (s)")
        proto = onnx.helper.make_tensor_type_proto(1, [1])
        node = onnx.helper.make_node("Optional", [], ["s"], type=proto)
        model.graph.node.insert(0, node)
    else:
        model = parsed(text)
    with pytest.raises(GraphError, match=message):
        from_onnx(model)


def test_a_sequence_of_unknown_length_is_refused() -> None:
    model = parsed("y = SequenceAt (s, one)", "seq(float) s")
    with pytest.raises(GraphError, match="input s is a sequence, whose length is not known"):
        from_onnx(model)


# Sequences whose length a call knows


LISTED = """
    s0 = SequenceConstruct (x)
    s1, ends = Loop (n, "", s0) <body: graph = step (int64 i, bool go, seq(float) a)
    => (bool go_out, seq(float) c, int64 j) {
        row = Gather (x, i)
        rows = Unsqueeze (row, zeros)
        big = ReduceMax <keepdims: int = 0> (row)
        is_big = Greater (big, k)
        c = If (is_big) <then_branch: graph = then () => (seq(float) p) {
            twice = Add (rows, rows)
            p = SequenceInsert (a, twice)
        }, else_branch: graph = other () => (seq(float) q) {
            q = SequenceInsert (a, rows)
        }>
        j = Identity (i)
        go_out = Identity (go)
    }>
    s2 = Loop (n, "", s1) <body: graph = again (int64 i2, bool go2, seq(float) a2)
    => (bool go3, seq(float) c2) {
        b2 = SequenceInsert (a2, x)
        negative = Neg (x)
        c2 = SequenceInsert (b2, negative)
        go3 = Identity (go2)
    }>
    s3 = SequenceInsert (s2, x)
    y = ConcatFromSequence <axis: int = 0> (s3)
    length = SequenceLength (s3)
    element = SequenceAt (s3, n)
"""
RESULTS = "float[a, b] y, int64 length, float[c, d] element, int64[e] ends"


@pytest.mark.parametrize("count", [0, 1, 5])
def test_loops_of_computed_steps_add_elements(count: int) -> None:
    """The first list continues a known sequence, the second one the first, by two elements."""
    model = parsed(LISTED, "float[5, 6] x, int64 n, float k", RESULTS)
    zeros = onnx.numpy_helper.from_array(np.array([0]), "zeros")
    model.graph.initializer.append(zeros)
    check(model, X, np.array(count), np.array(4, "float32"), has_loops=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_of_a_loop_are_stacked(axis: int) -> None:
    text = """
        e = SequenceEmpty ()
        s = Loop (n, "", e) <body: graph = step (int64 i, bool go, seq(float) a)
        => (bool go_out, seq(float) b) {
            row = Gather (x, i)
            b = SequenceInsert (a, row)
            go_out = Identity (go)
        }>
    """
    text += f"y = ConcatFromSequence <axis: int = {axis}, new_axis: int = 1> (s)"
    check(parsed(text, "float[5, 6] x, int64 n"), X, np.array(4), has_loops=True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("b = SequenceInsert (a, x, one)", "a node is given a sequence whose length a call"),
        ("b = SequenceErase (a)", "a node is given a sequence whose length a call knows"),
        ("b = SequenceConstruct (x)", "changes a sequence in another way than by adding to it"),
        ("r = SequenceAt (a, one) \n b = SequenceInsert (a, r)", "reads a sequence to which it a"),
        (
            "h = Flatten <axis: int = 0> (x) \n r = ReduceSum <keepdims: int = 0> (x) \n "
            "c = SequenceInsert (a, r) \n b = SequenceInsert (c, h)",
            "different ranks or dtypes",
        ),
        (
            "t = ReduceMax <keepdims: int = 0> (x) \n u = Cast <to: int = 9> (t) \n "
            "b = If (u) <then_branch: graph = then () => (seq(float) p) { "
            "p = SequenceInsert (a, x) }, else_branch: graph = other () => (seq(float) q) { "
            "q = Identity (a) }>",
            "the branches of a condition have other results",
        ),
    ],
)
def test_steps_that_do_not_add_to_a_sequence_are_refused(body: str, message: str) -> None:
    text = """
        e = SequenceEmpty ()
        s = Loop (n, "", e) <body: graph = step (int64 i, bool go, seq(float) a)
        => (bool go_out, seq(float) b) {
            BODY
            go_out = Identity (go)
        }>
        y = ConcatFromSequence <axis: int = 0> (s)
    """.replace("BODY", body)
    with pytest.raises(GraphError, match=message):
        from_onnx(parsed(text, "float[5, 6] x, int64 n"))


def test_a_sequence_of_computed_length_is_not_a_result() -> None:
    text = """
        e = SequenceEmpty ()
        y = Loop (n, "", e) <body: graph = step (int64 i, bool go, seq(float) a)
        => (bool go_out, seq(float) b) {
            b = SequenceInsert (a, x)
            go_out = Identity (go)
        }>
    """
    with pytest.raises(GraphError, match="a sequence whose length a call knows"):
        from_onnx(parsed(text, "float[5, 6] x, int64 n", "seq(float) y"))


def test_lists_without_an_element_are_rejected() -> None:
    from te_sched.relax.frontend.onnx.operators.sequences import joined_info

    with pytest.raises(GraphError, match="the elements of a sequence are not known"):
        joined_info(None, [])  # type: ignore[arg-type]


def test_branches_with_sequences_of_other_lengths_are_rejected() -> None:
    from onnx import TensorProto, helper

    from te_sched.relax.frontend.onnx import from_onnx

    kinds = [helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, [2]) for name in "st"]

    def branch(*counts: int):
        pairs = zip("st", counts, strict=True)
        nodes = [helper.make_node("SequenceConstruct", ["x"] * n, [name]) for name, n in pairs]
        return helper.make_graph(nodes, "branch", [], kinds)

    branches = {"then_branch": branch(1, 2), "else_branch": branch(2, 1)}
    nodes = [
        helper.make_node("If", ["c"], ["q", "r"], **branches),
        helper.make_node("SequenceAt", ["q", "zero"], ["y"]),
    ]
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
    zero = helper.make_tensor("zero", TensorProto.INT64, [], [0])
    graph = helper.make_graph(nodes, "g", inputs, outputs, [zero])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    with pytest.raises(GraphError, match="give sequences of other lengths"):
        from_onnx(model)
