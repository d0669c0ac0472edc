"""Models of ONNX whose sizes a call gives: numpy's results for all of them, or an error."""

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.errors import CallError, GraphError
from te_sched.relax.frontend.onnx import from_onnx, sizes

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402


def node(kind, inputs, output="y", **attributes):
    names = ["" if one == "_" else one for one in inputs.split()]
    return helper.make_node(kind, names, output.split(), **attributes)


def machine_of(nodes, shape, constants, opset=18):
    """The function of a model of the input x."""
    inputs = [helper.make_tensor_value_info("x", 1, shape)]
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    fixed = [numpy_helper.from_array(np.asarray(one), name) for name, one in constants.items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, fixed)
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return relax.VirtualMachine(relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu())[
        "main"
    ]


def counting(*shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def ints(*values):
    return np.array(values, "int64")


def whole(number):
    return np.array(number, "int64")


def floats(*values):
    return np.array(values, "float32")


SHAPE = node("Shape", "x", "s")
SIZE = [SHAPE, node("Gather", "s g", "n")]  # one size, without dimensions for a scalar g
LAST = {"g": whole(0)}
NM, IMAGE = ["n", "m"], ["n", 1, "h", "w"]
INTERPOLATE = [
    *(SHAPE, node("Slice", "s two four", "hw"), node("Slice", "s zero two", "nc")),
    *(node("Cast", "hw", "real", to=1), node("Mul", "real k", "scaled")),
    *(node("Floor", "scaled", "low"), node("Cast", "low", "new", to=7)),
    node("Concat", "nc new", "o", axis=0),
    node(
        *("Resize", "x _ _ o"),
        coordinate_transformation_mode="asymmetric",
        mode="nearest",
        nearest_mode="floor",
    ),
]
BOUNDS = {"zero": ints(0), "two": ints(2), "four": ints(4)}


def nearest(x, factor):
    """Rows and columns by the ratio of the sizes."""
    for axis in (2, 3):
        new = int(np.floor(np.float32(x.shape[axis]) * np.float32(factor)))
        at = np.floor(np.arange(new) * np.float32(x.shape[axis] / new)).astype(int)
        x = np.take(x, at, axis)
    return x


def halves(x):
    half = len(x) // 2
    return np.concatenate([x[half:], x[:half]])


# The nodes, the shape of x, constants, numpy's function, shapes of calls.
CASES = {
    "Size": (
        *([node("Size", "x")], ["n", 3, "w"], {}, lambda x: np.array(x.size)),
        [(2, 3, 4), (1, 3, 0)],
    ),
    "quotients are rounded towards zero": (
        *([*SIZE, node("Sub", "n t", "d"), node("Div", "d o")], NM),
        *({"g": whole(0), "t": whole(9), "o": whole(2)}, lambda x: np.array(int((len(x) - 9) / 2))),
        [(2, 1), (4, 1), (12, 1)],
    ),
    "sizes of one dimension keep it": (
        *([*SIZE, node("Sub", "n t", "d"), node("Div", "d o")], NM),
        {"g": ints(0), "t": ints(9), "o": ints(2)},
        *(lambda x: np.array([int((len(x) - 9) / 2)]), [(2, 1), (12, 1)]),
    ),
    "Unsqueeze and Squeeze": (
        *([*SIZE, node("Unsqueeze", "n g1", "u"), node("Squeeze", "u", "v"), node("Neg", "v")], NM),
        *({"g": whole(1), "g1": ints(0)}, lambda x: -np.array(x.shape[1]), [(2, 3)]),
    ),
    "Cast to int32": (
        *([SHAPE, node("Cast", "s", to=6)], NM, {}),
        *(lambda x: np.array(x.shape, "int32"), [(2, 3)]),
    ),
    "fractions": (
        [*SIZE, node("Cast", "n", "r", to=1), node("Mul", "r k", "q"), node("Div", "x q")],
        *(NM, {**LAST, "k": np.float32(0.3)}, lambda x: x / np.float32(len(x) * 0.3)),
        [(2, 3), (7, 2)],
    ),
    "conditions of sizes": (
        [SHAPE, node("Equal", "s k", "q"), node("Where", "q t s", "r"), node("Expand", "c r")],
        *(NM, {"k": whole(-1), "t": ints(7, 8), "c": floats(5)}, lambda x: np.full(x.shape, 5.0)),
        [(2, 3)],
    ),
    "the last": (
        *([node("Gather", "x p", axis=1)], NM, {"p": whole(-1)}, lambda x: x[:, -1]),
        [(2, 3), (4, 1)],
    ),
    "the last ones": (
        *([node("Gather", "x p", axis=1)], NM, {"p": ints(-1, 0)}, lambda x: x[:, [-1, 0]]),
        [(2, 3), (4, 1)],
    ),
    "both halves": (
        [
            *(*SIZE, node("Div", "n two", "h"), node("Slice", "x zero h zero", "a")),
            *(node("Slice", "x h end zero", "b"), node("Concat", "b a", axis=0)),
        ],
        *(NM, {"g": ints(0), "end": ints(2**62), **BOUNDS}, halves, [(4, 2), (5, 2), (1, 2)]),
    ),
    "all but the last": (
        [*SIZE, node("Sub", "n one", "e"), node("Slice", "x zero e zero")],
        *(NM, {"g": ints(0), "one": ints(1), **BOUNDS}, lambda x: x[:-1], [(4, 2), (1, 2), (0, 2)]),
    ),
    "Pow": (
        *([*SIZE, node("Pow", "n k")], NM, {"g": whole(0), "k": whole(2)}),
        *(lambda x: np.array(len(x) ** 2), [(3, 1)]),
    ),
    "Reshape of constants keeps sizes for 0": (
        [*SIZE, node("Reshape", "c z", "k"), node("Mul", "k n")],
        *(NM, {"g": whole(0), "c": ints(1, 2), "z": ints(0, -1)}),
        *(lambda x: np.array([[1], [2]]) * len(x), [(3, 1)]),
    ),
    "Range": (
        [*SIZE, node("Range", "t n o")],
        *(NM, {**LAST, "t": whole(3), "o": whole(1)}, lambda x: np.arange(3, len(x))),
        [(5, 1), (2, 1)],
    ),
    "Range of floats": (
        [*SIZE, node("Cast", "n", "r", to=1), node("Range", "t r o")],
        *(NM, {**LAST, "t": np.float32(0), "o": np.float32(2)}),
        *(lambda x: np.arange(0, len(x), 2, "float32"), [(5, 1), (2, 1), (0, 1)]),
    ),
    "Tile": (
        [*SIZE, node("Concat", "n two", "r", axis=0), node("Tile", "x r")],
        *(NM, {"g": ints(0), **BOUNDS}, lambda x: np.tile(x, (len(x), 2)), [(3, 2), (1, 4)]),
    ),
    "Pad": (
        [*SIZE, node("Concat", "zero n two zero", "p", axis=0), node("Pad", "x p")],
        *(NM, {"g": ints(1), **BOUNDS}),
        *(lambda x: np.pad(x, ((0, 2), (x.shape[1], 0))), [(3, 2), (1, 4)]),
    ),
    "ReduceProd": (
        [SHAPE, node("ReduceProd", "s", "p"), node("Reshape", "x p")],
        *(NM, {}, lambda x: x.reshape(-1), [(3, 2)]),
    ),
    "Split": (
        [node("Split", "x", "a y", axis=0, num_outputs=2)],
        *(NM, {}, lambda x: x[-(-len(x) // 2) :], [(4, 2), (5, 2), (1, 2)]),
    ),
    "SAME": (
        [node("MaxPool", "x", kernel_shape=[1, 3], auto_pad="SAME_UPPER")],
        *(IMAGE, {}),
        *(lambda x: np.maximum(x, np.concatenate([x[..., 1:], x[..., -1:]], 3)), [(1, 1, 2, 4)]),
    ),
    "Resize by scales": (
        [node("Resize", "x _ k", mode="nearest")],
        *(IMAGE, {"k": floats(1, 1, 2, 2)}, lambda x: x.repeat(2, 2).repeat(2, 3)),
        [(1, 1, 4, 6), (2, 1, 1, 3)],
    ),
    "Resize of a symbolic batch": (
        [node("Resize", "x _ k", mode="nearest")],
        *(["n", 1, 4], {"k": floats(1, 1, 2)}, lambda x: x.repeat(2, 2), [(2, 1, 4)]),
    ),
    "Resize by whole parts": (
        [node("Resize", "x _ k", mode="linear", coordinate_transformation_mode="asymmetric")],
        *(IMAGE, {"k": floats(1, 1, 0.5, 1)}, lambda x: x[:, :, ::2], [(1, 1, 4, 6)]),
    ),
    **{
        f"interpolate {factor}": (
            *(INTERPOLATE, IMAGE, {"k": np.float32(factor), **BOUNDS}),
            *(lambda x, factor=factor: nearest(x, factor), [(1, 1, 10, 6), (2, 1, 4, 7)]),
        )
        for factor in (2, 1.5, 0.7)
    },
    "interpolate of known sizes": (
        *(INTERPOLATE, [1, 1, 4, 6], {"k": np.float32(2), **BOUNDS}),
        *(lambda x: nearest(x, 2), [(1, 1, 4, 6)]),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_models_with_open_sizes(case):
    nodes, shape, constants, expected, shapes = CASES[case]
    function = machine_of(nodes, shape, constants)
    for one in shapes:
        x = counting(*one)
        found, wanted = function(nd.array(x)).numpy(), np.asarray(expected(x))
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, 1e-5)


@pytest.mark.parametrize("kind", ["Resize", "Upsample"])
def test_resizes_of_older_versions(kind):
    opset = 10 if kind == "Resize" else 9
    scales = {"k": floats(1, 1, 1, 2)}
    x = floats(0, 4).reshape(1, 1, 1, 2)
    for mode, expected in (("nearest", [0, 0, 4, 4]), ("linear", [0, 2, 4, 4])):
        for shape in ([1, 1, 1, 2], IMAGE):
            function = machine_of([node(kind, "x k", mode=mode)], shape, scales, opset)
            assert function(nd.array(x)).numpy().ravel().tolist() == expected
    older = [node("Upsample", "x", mode="nearest", scales=[1.0, 1.0, 1.0, 2.0])]
    assert machine_of(older, IMAGE, {}, 8)(nd.array(x)).shape == (1, 1, 1, 4)


@pytest.mark.parametrize(
    ("nodes", "shape", "constants", "x", "text"),
    [
        (
            [node("MatMul", "x w")],
            *(NM, {"w": counting(3, 2)}, (2, 5), "summed sizes of relax.matmul differ: m = 5"),
        ),
        (
            [node("Reshape", "x r")],
            *(NM, {"r": ints(2, -1)}, (3, 5), r"differ: n \* m = 15"),
        ),
        ([node("Gather", "x p", axis=1)], NM, {"p": whole(-2)}, (3, 1), "least index m"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(nodes, shape, constants, x, text):
    function = machine_of(nodes, shape, constants)
    with pytest.raises(CallError, match=text):
        function(nd.array(counting(*x)))


@pytest.mark.parametrize(
    ("nodes", "shape", "constants", "text"),
    [
        (
            [*SIZE, node("Unsqueeze", "x n")],
            *(NM, {"g": ints(0)}, "input 1 has sizes that a call gives"),
        ),
        (
            [*SIZE, node("Slice", "s zero n")],
            *(NM, {"g": ints(0), "zero": ints(0)}, "cannot slice a dimension of size n"),
        ),
        ([node("DFT", "x", axis=1)], ["b", "n", 1], {}, r'shape_dict=\{"x": \[b, n, 1\]\}'),
        ([node("Tile", "x x")], NM, {}, "make it an initializer of the model"),
    ],
)
def test_what_depends_on_the_sizes_of_calls_is_refused(nodes, shape, constants, text):
    with pytest.raises(GraphError, match=text):
        machine_of(nodes, shape, constants)


def test_whole_numbers_and_sizes_as_floats_are_whole():
    n = tir.Var("n", "int64")
    assert [sizes.is_whole(one) for one in (3, 3.0, n, sizes.real(n))] == [True] * 4
    assert [sizes.is_whole(one) for one in (0.5, sizes.real(n) * 0.5)] == [False] * 2


def test_numbers_are_sizes_if_one_is_an_expression():
    n = tir.Var("n", "int64")
    assert sizes.as_sizes([1, 2]).tolist() == [1, 2]
    assert sizes.as_sizes([3], is_scalar=True).shape == ()
    found = sizes.as_sizes([n, 2])
    assert isinstance(found, sizes.OnnxSizes)
    assert sizes.rank_of(found) == 1
    assert sizes.zipped(lambda a, b: a, found, np.zeros(3, "int64")) is None
