"""Reductions over ranges that may be empty write their initial values."""

import numpy as np
import pytest

import te_sched
from te_sched import relax, tir
from te_sched.relax import op


def machine(emit, *shapes):
    """The machine of a graph with one operation."""
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"p{at}", relax.TensorStructInfo(shape, "float32"))
        for at, shape in enumerate(shapes)
    ]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(emit(*params)))
    return relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())["main"]


def check(function, expected, *arrays):
    """Compare results, in memory that held something else before."""
    function(*[np.full_like(one, 7) for one in arrays])
    for size in range(1, 99):
        np.full(size, 7, "float32")
    found = function(*arrays).numpy()
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_results_of_empty_reductions_are_their_initial_values():
    nothing = np.zeros((0, 4), "float32")
    check(machine(op.sum, (0, 4)), 0, nothing)
    check(machine(lambda x: op.prod(x, 0), (0, 4)), np.ones(4), nothing)
    check(machine(lambda x: op.max(x, 0), (0, 4)), [-np.inf] * 4, nothing)
    check(machine(lambda x: op.min(x, 0), (0, 4)), [np.inf] * 4, nothing)
    empty = np.zeros((4, 0), "float32")
    check(machine(op.matmul, (4, 0), (0, 4)), np.zeros((4, 4)), empty, nothing)


@pytest.mark.parametrize(
    ("emit", "numpy_function"),
    [
        (lambda x: op.sum(x, 0), lambda x: x.sum(0)),
        (lambda x: op.matmul(op.permute_dims(x), x), lambda x: x.T @ x),
    ],
)
def test_symbolic_sizes_may_be_0(emit, numpy_function):
    function = machine(emit, (tir.Var("n", "int64"), 4))
    for size in (33, 0, 5, 0):
        array = np.random.default_rng(size).uniform(-1, 1, (size, 4)).astype("float32")
        check(function, numpy_function(array), array)


def test_the_other_sizes_may_be_symbolic():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    function = machine(op.matmul, (1, n, 0), (0, m))
    check(
        function, np.zeros((1, 3, 3)), np.zeros((1, 3, 0), "float32"), np.zeros((0, 3), "float32")
    )
