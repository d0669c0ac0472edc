"""Random graphs compute the same with and without fusion."""

import numpy as np
import pytest

from te_sched import relax, topi
from te_sched.relax.transform import (
    AnnotateTIROpPattern,
    FuseOps,
    FuseTIR,
)
from tests.relax.running import assert_same_results

SIDE = 6
UNARY = (topi.exp, topi.tanh, topi.sigmoid, topi.nn.relu, topi.transpose, topi.nn.softmax)
BINARY = (topi.add, topi.multiply, topi.matmul, topi.maximum)


def random_graph(seed):
    """A function of two square matrices, with one or two results."""
    numbers = np.random.default_rng(seed)
    info = relax.TensorStructInfo([SIDE, SIDE], "float32")
    values = [relax.Var(name, info) for name in "xy"]
    params = list(values)
    builder = relax.BlockBuilder()

    def some():
        return values[int(numbers.integers(max(0, len(values) - 4), len(values)))]

    def step():
        kind = numbers.integers(8)
        if kind < 3:
            return builder.emit_te(UNARY[numbers.integers(len(UNARY))], some())
        if kind < 6:
            return builder.emit_te(BINARY[numbers.integers(len(BINARY))], some(), some())
        if kind == 6:
            total = builder.emit_te(topi.sum, some(), 1)
            return builder.emit_te(topi.add, some(), total)
        both = builder.emit_te(topi.concatenate, (some(), some()), axis=1)
        halves = builder.emit_te(topi.split, both, 2, axis=1)
        return builder.emit(relax.TupleGetItem(halves, int(numbers.integers(2))))

    with builder.function("main", params):
        with builder.dataflow():
            for _ in range(int(numbers.integers(4, 12))):
                values.append(step())
            results = [builder.emit_output(one) for one in dict.fromkeys((values[-1], some()))]
        builder.emit_func_output(results[0] if len(results) == 1 else relax.Tuple(results))
    return builder.get()


@pytest.mark.parametrize("seed", [1, 3])
def test_fused_graphs_compute_the_same(seed):
    before = random_graph(seed)
    after = before
    for one in (AnnotateTIROpPattern(), FuseOps(), FuseTIR()):
        after = one(after)
    assert_same_results(before, after, 1e-4)
