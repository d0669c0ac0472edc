"""Arguments for calls of programs: their types, sizes, and the operations on them."""

import numpy as np
import pytest

from te_sched import te, tir
from te_sched.cli.inputs import Sizes, iterations, operations, random_arguments
from te_sched.cli.problems import CommandError
from te_sched.cli.recording import Found
from te_sched.errors import SourceLocation


def found(outputs, args):
    return Found(te.create_schedule([one.op for one in outputs]), SourceLocation(), args=args)


def test_random_arguments_are_of_the_declared_types():
    n = te.var("n")
    dtypes = ["float16", "float64", "bfloat16", "int8", "uint32", "bool"]
    inputs = [te.placeholder((n, 4), name=f"A{i}", dtype=one) for i, one in enumerate(dtypes)]
    scale = te.var("scale", "float32")
    B = te.compute((n, 4), lambda i, j: inputs[0][i, j].astype("float32") * scale, name="B")
    one = found([B], [n, scale, *inputs, B])
    values = random_arguments(one, Sizes(one, {"n": 3}))
    assert values[:2] == [3, 0.5]
    assert [value.dtype.name for value in values[2:8]] == [
        *("float16", "float64", "uint16", "int8", "uint32", "bool")
    ]
    assert {value.shape for value in values[2:]} == {(3, 4)}
    assert not values[8].any()
    again = random_arguments(one, Sizes(one, {"n": 3}))
    assert all(np.array_equal(x, y) for x, y in zip(values, again, strict=True))


def test_random_integers_are_indices():
    index = te.placeholder((100,), name="index", dtype="int32")
    A = te.placeholder((3,), name="A")
    B = te.compute((100,), lambda i: A[index[i]], name="B")
    one = found([B], [A, index, B])
    chosen = random_arguments(one, Sizes(one, {}))[1]
    assert set(chosen.tolist()) == {0, 1, 2}


def test_random_arguments_reject_types_that_numpy_has_not():
    A = te.placeholder((4,), name="A", dtype="float32x4")
    B = te.compute((4,), lambda i: A[i], name="B")
    one = found([B], [A, B])
    with pytest.raises(CommandError, match="argument A has dtype") as raised:
        random_arguments(one, Sizes(one, {}))
    assert raised.value.fault == "argument A has dtype float32x4, which numpy lacks"


def test_random_arguments_reject_shapes_that_nobody_knows():
    size = tir.call_pure_extern("int32", "size_of_today")
    A = te.placeholder((size,), name="A")
    B = te.compute((4,), lambda i: A[i], name="B")
    one = found([B], [A, B])
    with pytest.raises(CommandError, match=r"argument A has shape .* which no size determines"):
        random_arguments(one, Sizes(one, {}))


def test_counts_are_of_the_declaration():
    A = te.placeholder((10, 20), name="A")
    k = te.reduce_axis((0, 20), name="k")
    B = te.compute((10,), lambda i: te.sum(A[i, k] * A[i, k], axis=k), name="B")
    C = te.compute((10,), lambda i: te.exp(B[i]) / 2.0, name="C")
    one = found([C], [A, C])
    sizes = Sizes(one, {})
    assert iterations(one.inputs, sizes) == 210
    assert operations(one.inputs, sizes) == 10 * 20 * 2 + 10


def test_counts_that_nobody_knows():
    state = te.placeholder((4, 4), name="state")
    first = te.compute((1, 4), lambda _, j: 0.0, name="first")
    step = te.compute((4, 4), lambda t, j: state[t - 1, j] + 1.0, name="step")
    one = found([te.scan(first, step, state, name="scan")], [])
    assert operations(one.inputs, Sizes(one, {})) is None
    assert operations(None, Sizes(one, {})) is None
