"""te.gradient: derivatives compared with finite differences of the program itself."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, topi

K = te.reduce_axis((0, 6), name="k")
X = te.placeholder((4, 6), "float64", name="X")
Y = te.placeholder((4, 6), "float64", name="Y")
W = te.placeholder((5, 6), "float64", name="W")
V = te.placeholder((6,), "float64", name="V")
LONG = te.placeholder((12,), "float64", name="LONG")
IMAGE = te.placeholder((1, 2, 6, 6), "float64", name="IMAGE")
FILTER = te.placeholder((3, 2, 3, 3), "float64", name="FILTER")
PRODUCT = te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype), "product")
LARGEST = te.comm_reducer(
    lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
    lambda i, x: (te.const(-1, i), te.min_value(x)),
)


def function_of(outputs, inputs):
    """A compiled program as a function of numpy arrays."""
    built = te_sched.build(te.create_schedule([one.op for one in outputs]), [*outputs, *inputs])

    def call(arrays):
        results = [
            te_sched.nd.array(np.zeros([int(n) for n in one.shape], one.dtype)) for one in outputs
        ]
        built(*results, *[te_sched.nd.array(array) for array in arrays])
        return [result.numpy() for result in results]

    return call


def check(output, *inputs, others=(), low=-2.0, seed=0):
    """Compare the derivatives of a weighted sum of the output with finite differences."""
    draw = np.random.default_rng(seed)
    head = te.placeholder(output.shape, output.dtype, name="head")
    shapes = [[int(n) for n in one.shape] for one in inputs]
    arrays = [draw.uniform(low, 2.0, shape) for shape in shapes]
    given = [array for _, array in others]
    weights = draw.uniform(-1.0, 1.0, [int(n) for n in output.shape])
    all_inputs = [*inputs, *[tensor for tensor, _ in others]]

    forward = function_of([output], all_inputs)
    gradients = te.gradient(output, list(inputs), head)
    found = function_of(gradients, [*all_inputs, head])([*arrays, *given, weights])
    step = 1e-6
    for place, array in enumerate(arrays):
        expected = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [one.copy() for one in arrays]
                moved[place][index] += sign * step
                ends.append((forward([*moved, *given])[0] * weights).sum())
            expected[index] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(found[place], expected, rtol=1e-5, atol=1e-6)


def elementwise(function, *shape):
    return te.compute(shape or X.shape, function, name="B")


def rows(reducer, source, **more):
    return te.compute((4,), lambda i: reducer(source(i), axis=K, **more), name="B")


def argmax():
    return te.compute((4,), lambda i: LARGEST((K.var, X[i, K] * 2.0), axis=K), name="B")[1]


def mix():
    """A tensor read at three places, one of them through itself."""
    hidden = te.compute((4, 6), lambda i, j: te.tanh(X[i, j]) * Y[i, 5 - j], name="H")
    return te.compute((4, 6), lambda i, j: hidden[i, j] * hidden[3 - i, j] + X[i, j], name="B")


@pytest.mark.parametrize(
    ("output", "inputs"),
    [
        (topi.nn.dense(X, W), [X, W]),
        (topi.matmul(X, W, transp_b=True), [X, W]),
        (topi.nn.conv2d(IMAGE, FILTER, 1, 1, 1), [IMAGE, FILTER]),
        (topi.nn.conv2d(IMAGE, FILTER, 2, 1, 1), [IMAGE, FILTER]),
        (topi.nn.conv2d(IMAGE, FILTER, 3, 2, 2), [IMAGE, FILTER]),
        (topi.nn.relu(X), [X]),
        (topi.nn.softmax(X), [X]),
        (topi.nn.log_softmax(X), [X]),
        (topi.nn.pool2d(IMAGE, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "max"), [IMAGE]),
        (topi.nn.pool2d(IMAGE, [3, 3], [2, 2], [1, 1], [1, 1, 1, 1], "avg"), [IMAGE]),
        (topi.reshape(topi.transpose(X), (3, 8)), [X]),
        (topi.concatenate([topi.exp(X), Y], 1), [X, Y]),
        (topi.sum(X * X, keepdims=True), [X]),
        (topi.max(X, axis=0), [X]),
        (topi.min(X), [X]),
        (topi.prod(X, axis=1), [X]),
        (mix(), [X, Y]),
        (elementwise(lambda i, j: X[i, j] / (te.exp(Y[i, j]) + V[j] * V[j])), [X, Y, V]),
        (elementwise(lambda i, j: te.max(X[i, j], Y[i, j]) * te.min(X[i, j], V[j])), [X, Y, V]),
        (elementwise(lambda i, j: te.select(X[i, j] > 0.0, X[i, j] * V[j], Y[i, j])), [X, Y, V]),
        (elementwise(lambda i: te.if_then_else(i < 4, X[i, i], V[i % 6]), 8), [X, V]),
        (elementwise(lambda i, j: V[(i * 6 + j) // 4], 4, 6), [V]),
        (elementwise(lambda i, j: V[te.min(i + j, 5)] * V[j], 4, 6), [V]),
        (rows(te.sum, lambda i: X[i, K] * Y[i, 5 - K], where=K.var < 4), [X, Y]),
        (rows(te.max, lambda i: X[i, K] * V[K], where=K.var != 2), [X, V]),
        (rows(te.max, lambda i: X[i, K], init=te.const(0.5, "float64")), [X]),
        (rows(PRODUCT, lambda i: X[i, K] + Y[i, K]), [X, Y]),
        (rows(PRODUCT, lambda i: X[i, K], init=te.const(3, "float64"), where=K.var > 1), [X]),
        (argmax(), [X]),
    ],
)
def test_gradient_equals_finite_differences(output, inputs):
    check(output, *inputs)


def test_elements_read_at_indices_of_data():
    rows_read = te.placeholder((7,), "int32", name="rows")
    B = te.compute((7, 6), lambda i, j: X[rows_read[i], j] * V[j], name="B")
    check(B, X, V, others=[(rows_read, np.array([0, 3, 3, 1, 0, 0, 3], "int32"))])


def test_indices_of_data_are_read_under_their_guard():
    places = te.placeholder((4,), "int32", name="places")
    B = te.compute(
        (8,), lambda i: te.if_then_else(i < 4, V[places[i]] * V[i % 6], V[i % 6]), name="B"
    )
    check(B, V, others=[(places, np.array([5, 0, 0, 2], "int32"))])


@pytest.mark.parametrize(
    "index",
    [
        lambda i, j: ((i + j % 3).astype("int64"), j),
        lambda i, j: ((i * 6 + j).astype("int64") // 6 % 4, (i * 6 + j) % 6),
        lambda i, j: ((i * 6 + j) // 8, (i * 6 + j).astype("int64") % 6),
    ],
)
def test_indices_of_another_dtype(index):
    B = te.compute((2, 6), lambda i, j: X[index(i, j)] * V[j], name="B")
    check(B, X, V)


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_axes_of_another_dtype(dtype):
    n = te.const(4, dtype)
    A = te.placeholder((n, 6), "float64", name="A")
    B = te.compute((te.const(8, dtype), 3), lambda i, j: A[(i * 3 + j) // 6, (i * 3 + j) % 6])
    (dA,) = te.gradient(topi.sum(B * B, axis=1), [A], topi.full((8,), "float64", 1.0))
    a = np.random.rand(4, 6)
    (found,) = function_of([dA], [A])([a])
    np.testing.assert_allclose(found, 2 * a)


def test_loops_of_lengths_in_data():
    """Rows of a sparse matrix; windows whose lengths differ."""
    begins, lengths = (te.placeholder((n,), "int32", name=name) for n, name in ((5, "b"), (4, "n")))
    columns = te.placeholder((9,), "int32", name="columns")
    values = te.placeholder((9,), "float64", name="values")

    def row(i):
        k = te.reduce_axis((0, begins[i + 1] - begins[i]), name="k")
        return te.sum(values[begins[i] + k] * V[columns[begins[i] + k]], axis=k)

    def window(i):
        k = te.reduce_axis((0, lengths[i]), name="k")
        return te.sum(LONG[i + k] * LONG[i + k], axis=k)

    data = [
        (begins, np.array([0, 2, 5, 5, 9], "int32")),
        (columns, np.array([0, 3, 1, 2, 5, 0, 1, 3, 3], "int32")),
    ]
    check(te.compute((4,), row, name="B"), values, V, others=data)
    sizes = [(lengths, np.array([3, 0, 5, 1], "int32"))]
    check(te.compute((4,), window, name="B"), LONG, others=sizes)


def test_shapes_of_variables():
    n = te.size_var("n")
    A = te.placeholder((n, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k] * A[i, k], axis=k), name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i] * 0.5, name="C")
    head = te.placeholder((n,), name="head")
    (dA,) = te.gradient(C, A, head)
    assert not dA.op.reduce_axis
    built = te_sched.build(te.create_schedule(dA.op), [dA, A, head])
    a, weights = np.random.rand(5, 8).astype("float32"), np.random.rand(5).astype("float32")
    found = te_sched.nd.array(np.zeros((5, 8), "float32"))
    built(found, te_sched.nd.array(a), te_sched.nd.array(weights))
    np.testing.assert_allclose(found.numpy(), a * weights[::-1, None], rtol=1e-5)


def jacobian(output, tensor, *arrays):
    (found,) = te.gradient(output, [tensor])
    return function_of([found], [tensor])(arrays)[0]


def test_without_a_head_it_is_the_jacobian():
    x = np.random.rand(4, 6)
    found = jacobian(topi.sum(X * X, axis=1), X, x)
    expected = np.einsum("ij,ik->ijk", np.eye(4), 2 * x)
    np.testing.assert_allclose(found, expected.transpose(0, 1, 2))


def test_jacobian_of_several_stages():
    x = np.random.rand(4, 6)
    found = jacobian(topi.nn.softmax(X), X, x)
    y = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    expected = np.zeros((4, 6, 4, 6))
    for i in range(4):
        expected[i, :, i, :] = np.diag(y[i]) - np.outer(y[i], y[i])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_head_may_have_more_dimensions():
    head = te.placeholder((3, 4), "float64", name="head")
    (dX,) = te.gradient(topi.sum(X * 2.0, axis=1), [X], head)
    assert [int(n) for n in dX.shape] == [3, 4, 6]
    h = np.random.rand(3, 4)
    (found,) = function_of([dX], [head])([h])
    np.testing.assert_allclose(found, np.repeat(2 * h[:, :, None], 6, axis=2))


def test_output_and_tensors_on_the_way_are_inputs():
    H = te.compute((4, 6), lambda i, j: X[i, j] * 3.0, name="H")
    B = te.compute((4, 6), lambda i, j: H[i, j] * H[i, j], name="B")
    head = te.placeholder((4, 6), "float64", name="head")
    dB, dH, dX, again = te.gradient(B, [B, H, X, H], head)
    assert dB is head
    assert dH is again
    x, h = np.random.rand(2, 4, 6)
    for found, expected in zip(
        function_of([dH, dX], [X, head])([x, h]), [6 * x * h, 18 * x * h], strict=True
    ):
        np.testing.assert_allclose(found, expected)
    (identity,) = te.gradient(V, V)
    assert np.array_equal(function_of([identity], [])([])[0], np.eye(6))


@pytest.mark.parametrize(
    "output",
    [
        topi.floor(X),
        topi.nn.relu(Y),
        te.compute((4, 6), lambda i, j: X[i, j].astype("int32").astype("float64"), name="B"),
        te.compute((4, 6), lambda i, j: te.select(X[i, j] > 0.0, V[j], 1.0), name="B"),
    ],
)
def test_derivative_is_zero(output):
    (dX,) = te.gradient(output, [X], topi.full_like(output, 1.0))
    assert dX.op.input_tensors == ()
    assert not function_of([dX], [])([])[0].any()


def test_equal_values_share_no_adjoint():
    """The first of equal values has the whole derivative, as in TVM."""
    ones = np.ones((4, 6))
    for output in (topi.max(X, axis=1), argmax()):
        head = te.placeholder((4,), "float64", name="head")
        (dX,) = te.gradient(output, [X], head)
        (found,) = function_of([dX], [X, head])([ones, np.ones(4)])
        assert (found[:, 0] > 0).all()
        assert not found[:, 1:].any()


def test_narrow_floats_are_summed_in_the_wide_type():
    A = te.placeholder((64,), "float16", name="A")
    k = te.reduce_axis((0, 64), name="k")
    scale = te.placeholder((1,), "float16", name="scale")
    B = te.compute(
        (1,), lambda i: te.sum(A[k].astype("float32") * scale[i].astype("float32"), axis=k)
    )
    dA, dscale = te.gradient(B, [A, scale], topi.full_like(B, 1.0))
    assert (dA.dtype, dscale.dtype) == ("float16", "float16")
    assert [one.dtype for one in dscale.op.input_tensors] == ["float32"]
    built = te_sched.build(te.create_schedule(dscale.op), [dscale, A])
    found = te_sched.nd.array(np.zeros(1, "float16"))
    built(found, te_sched.nd.array(np.ones(64, "float16")))
    assert found.numpy()[0] == 64


def test_derivative_of_a_branch_is_not_evaluated_outside_of_it():
    """No NaN comes of a logarithm that is not taken."""
    B = te.compute((4, 6), lambda i, j: te.select(X[i, j] > 0.0, te.log(X[i, j]), 0.0), name="B")
    (dX,) = te.gradient(B, [X], topi.full_like(B, 1.0))
    (found,) = function_of([dX], [X])([np.zeros((4, 6))])
    assert not found.any()


def pooled(source, stride, extent):
    """A sum over windows of a vector."""
    k = te.reduce_axis((0, extent), name="k")
    length = (source.shape[0] - extent) // stride + 1
    return te.compute((length,), lambda i: te.sum(source[i * stride + k], axis=k), name="B")


@pytest.mark.parametrize(
    ("output", "tensor", "loops"),
    [
        (pooled(LONG, 1, 2), LONG, ["k"]),
        (pooled(LONG, 2, 3), LONG, ["k"]),
        (pooled(LONG, 2, 2), LONG, []),
        (pooled(LONG, 3, 2), LONG, []),
        (topi.nn.pool2d(IMAGE, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max"), IMAGE, []),
        (topi.reshape(IMAGE, (8, 9)), IMAGE, []),
        (topi.reshape(IMAGE, (-1,)), IMAGE, []),
        (topi.transpose(IMAGE, (2, 0, 3, 1)), IMAGE, []),
        (topi.nn.upsampling(IMAGE, 2, 2), IMAGE, ["r", "r"]),
        (topi.broadcast_to(V, (4, 6)), V, ["ax0"]),
        (topi.nn.dense(X, W), X, ["i1"]),
    ],
)
def test_loops_are_over_the_elements_that_read_an_element(output, tensor, loops):
    (found,) = te.gradient(output, [tensor], topi.full_like(output, 1.0))
    assert [axis.var.name for axis in found.op.reduce_axis] == loops


def test_sources_of_a_sum_are_scheduled_as_any_other():
    head = te.placeholder((4, 5), "float64", name="head")
    B = topi.nn.dense(X, W)
    dX, dW = te.gradient(B, [X, W], head)
    s = te.create_schedule([dX.op, dW.op])
    _, inner = s[dX].split(s[dX].op.axis[1], 3)
    s[dX].reorder(s[dX].op.reduce_axis[0], inner)
    s[dX].vectorize(inner)
    s[dX].parallel(s[dX].op.axis[0])
    built = te_sched.build(s, [dX, dW, X, W, head])
    x, w, h = np.random.rand(4, 6), np.random.rand(5, 6), np.random.rand(4, 5)
    found = [te_sched.nd.array(np.zeros(shape)) for shape in ((4, 6), (5, 6))]
    built(*found, *[te_sched.nd.array(one) for one in (x, w, h)])
    np.testing.assert_allclose(found[0].numpy(), h @ w)
    np.testing.assert_allclose(found[1].numpy(), h.T @ x)
