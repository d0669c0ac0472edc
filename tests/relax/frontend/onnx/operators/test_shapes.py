"""Operators of shapes beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import (
    IMAGE,
    RNG,
    X,
    check,
    check_against_onnxruntime,
    model_of,
)


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Transpose", {"perm": [2, 0, 1]}, ()),
        ("Flatten", {"axis": 2}, ()),
        ("Reshape", {}, [np.array([0, -1])]),
        ("Squeeze", {}, ()),
        ("Unsqueeze", {}, [np.array([0, 2])]),
        ("Expand", {}, [np.array([2, 1, 1, 4])]),
        ("Tile", {}, [np.array([1, 2, 1])]),
        ("Pad", {"mode": "reflect"}, [np.array([0, 1, 1, 0, 1, 2])]),
        ("Trilu", {"upper": 0}, [np.array(1)]),
        ("Reshape", {"allowzero": 1}, [np.array([2, 3, 4])]),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("SpaceToDepth", {"blocksize": 1}, []),
    ],
)
def test_operators_of_images(kind, attrs, constants) -> None:
    names = {f"c{n}": RNG.random(one, dtype=np.float32) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": IMAGE}, names), {"x": IMAGE})


NUMBERS = {
    **{f"scalar{number}": np.array(number) for number in (0, 1, 2, 3, 30)},
    **{f"list{number}": np.array([number]) for number in (0, 1, 2)},
}
# The number of rows of x, as a scalar.
ROWS = [("Shape", ["x"], ["shape"], {}), ("Gather", ["shape", "scalar0"], ["n"], {})]


def of_open_sizes(*nodes):
    """A model of nodes that compute with the number n of rows of x, and with NUMBERS."""
    used = {name for _, inputs, _, _ in (*ROWS, *nodes) for name in inputs}
    constants = {name: value for name, value in NUMBERS.items() if name in used}
    inputs = {"x": np.zeros((2, 3), "float32")}
    return model_of([*ROWS, *nodes], inputs, constants, shapes={"x": ["rows", "columns"]})


def listed(name):
    return ("Unsqueeze", [name, "list0"], [f"{name}s"], {})


@pytest.mark.parametrize(
    "size",
    [
        [("Max", ["n", "scalar3"], ["m"], {})],
        [("Min", ["n", "scalar3"], ["m"], {})],
        [("Clip", ["n", "scalar2", "scalar3"], ["m"], {})],
        [("Clip", ["n", "", "scalar3"], ["m"], {})],
        [
            ("Gather", ["shape", "scalar1"], ["k"], {}),
            ("Max", ["k", "n", "scalar2"], ["w"], {}),
            ("Min", ["w", "scalar30"], ["m"], {}),
        ],
    ],
)
def test_the_larger_and_smaller_of_sizes_are_sizes(size) -> None:
    made = [*size, listed("m"), ("ConstantOfShape", ["ms"], ["y"], {})]
    check_against_onnxruntime(of_open_sizes(*made), [(1, 2), (2, 5), (3, 40), (7, 1)])


def test_an_open_size_is_squeezed_if_it_is_one() -> None:
    nodes = [("Squeeze", ["x", "axes"], ["y"], {})]
    model = model_of(nodes, {"x": X[0]}, {"axes": np.array([-1])}, shapes={"x": ["n", "m"]})
    check_against_onnxruntime(model, [(3, 1), (5, 1)])


def test_padding_up_to_a_size() -> None:
    nodes = [
        ("Sub", ["scalar30", "n"], ["less"], {}),
        ("Max", ["less", "scalar0"], ["m"], {}),
        listed("m"),
        ("Concat", ["list0", "list0", "ms", "list1"], ["pads"], {"axis": 0}),
        ("Pad", ["x", "pads"], ["y"], {}),
    ]
    check_against_onnxruntime(of_open_sizes(*nodes), [(1, 2), (30, 1), (33, 4)])


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_padding_by_sizes_with_elements(mode) -> None:
    nodes = [
        ("Div", ["n", "scalar2"], ["m"], {}),
        listed("m"),
        ("Concat", ["ms", "list1", "list1", "ms"], ["pads"], {"axis": 0}),
        ("Pad", ["x", "pads"], ["y"], {"mode": mode}),
    ]
    model = of_open_sizes(*nodes)
    model.opset_import[0].version = 19  # of the first with "wrap"
    check_against_onnxruntime(model, [(2, 2), (5, 3), (8, 11)])


def test_the_first_elements_of_a_number_that_is_a_size() -> None:
    nodes = [
        ("Div", ["n", "scalar2"], ["m"], {}),
        listed("m"),
        ("TopK", ["x", "ms"], ["y", "places"], {"axis": 0}),
    ]
    check_against_onnxruntime(of_open_sizes(*nodes), [(2, 3), (7, 1), (12, 5)])


@pytest.mark.parametrize("first", [("Div", "scalar2"), ("Sub", "scalar1"), ("Min", "scalar3")])
def test_parts_of_open_sizes(first) -> None:
    kind, number = first
    nodes = [
        (kind, ["n", number], ["m"], {}),
        ("Sub", ["n", "m"], ["r"], {}),
        listed("m"),
        listed("r"),
        ("Concat", ["ms", "rs"], ["parts"], {"axis": 0}),
        ("Split", ["x", "parts"], ["a", "b"], {"axis": -2}),
        ("Concat", ["b", "a"], ["y"], {"axis": 0}),
    ]
    check_against_onnxruntime(of_open_sizes(*nodes), [(1, 2), (2, 5), (3, 1), (9, 4)])


@pytest.mark.parametrize("kind", ["Slice", "Tile", "Reshape"])
def test_operators_by_computed_sizes(kind) -> None:
    computed = {
        "Slice": [("Sub", ["n", "scalar1"], ["m"], {}), listed("m")],
        "Tile": [
            ("Max", ["n", "scalar2"], ["r"], {}),
            listed("r"),
            ("Concat", ["list1", "rs"], ["ms"], {"axis": 0}),
        ],
        "Reshape": [
            ("Max", ["n", "scalar1"], ["r"], {}),
            listed("r"),
            ("Concat", ["rs", "list2"], ["ms"], {"axis": 0}),
        ],
    }[kind]
    used = {"Slice": ["x", "list0", "ms"], "Tile": ["x", "ms"], "Reshape": ["column", "ms"]}[kind]
    column = [("Unsqueeze", ["x", "list1"], ["column"], {})] if kind == "Reshape" else []
    shapes = [(1, 2), (2, 2), (9, 2)]
    check_against_onnxruntime(of_open_sizes(*computed, *column, (kind, used, ["y"], {})), shapes)


@pytest.mark.parametrize(
    ("nodes", "fault"),
    [
        (
            [
                ("Max", ["n", "scalar2"], ["m"], {}),
                listed("m"),
                ("Concat", ["ms", "list1"], ["ends"], {"axis": 0}),
                ("Expand", ["x", "ends"], ["y"], {}),
            ],
            "cannot import Expand: a dimension of size rows is expanded to T.max",
        ),
        (
            [
                ("ReduceMax", ["x"], ["most"], {"keepdims": 0}),
                ("Cast", ["most"], ["m"], {"to": 7}),
                listed("m"),
                ("Concat", ["ms", "list1"], ["parts"], {"axis": 0}),
                ("Split", ["x", "parts"], ["y", "z"], {}),
            ],
            "cannot import Split: input 1 is computed when the model runs",
        ),
    ],
)
def test_sizes_that_are_not_known_name_the_node_and_the_shapes_to_give(nodes, fault) -> None:
    with pytest.raises(GraphError, match=fault.replace("(", r"\(")) as error:
        from_onnx(of_open_sizes(*nodes))
    assert "node y" in str(error.value)
    assert 'from_onnx(model, shape_dict={"x": [rows, columns]})' in str(error.value)
