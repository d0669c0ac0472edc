"""Which calls are fused."""

import numpy as np
import pytest

from te_sched import relax, topi, transform
from te_sched.relax.transform import AnnotateTIROpPattern, FuseOps, FuseTIR
from tests.relax.running import assert_same_results
from tests.relax.transform.fusing import TENSOR, chain, fused


def test_a_product_is_fused_with_what_follows_but_not_before():
    def write(builder, x, y):
        product = builder.emit_te(topi.matmul, builder.emit_te(topi.exp, x), y)
        return builder.emit_output(builder.call_te(topi.nn.relu, product))

    assert fused(write, TENSOR, TENSOR) == {
        "main": "(x, y) lv = exp(x); gv* = fused_matmul_relu(lv, y); gv",
        "fused_matmul_relu": "(lv, y) lv1 = matmul(lv, y); gv* = relu(lv1); gv",
    }


def test_a_reduction_is_fused_with_what_precedes_it_but_not_after():
    def write(builder, x):
        total = builder.emit_te(topi.sum, builder.emit_te(topi.exp, x), 1)
        return builder.emit_output(builder.call_te(topi.tanh, total))

    assert fused(write, TENSOR)["main"] == "(x) lv = fused_exp_sum(x); gv* = tanh(lv); gv"


def test_a_product_does_not_swallow_a_layout_change():
    def write(builder, x):
        product = builder.emit_te(topi.matmul, x, x)
        turned = builder.emit_te(topi.transpose, builder.emit_te(topi.exp, product))
        return builder.emit_output(builder.call_te(topi.tanh, turned))

    assert fused(write, TENSOR)["main"] == (
        "(x) lv = fused_matmul_exp(x); gv* = fused_transpose_tanh(lv); gv"
    )


def test_branches_that_meet_are_fused():
    def write(builder, x):
        y = builder.emit_te(topi.exp, x)
        both = builder.call_te(topi.add, builder.emit_te(topi.sin, y), builder.emit_te(topi.cos, y))
        return builder.emit_output(both)

    assert fused(write, TENSOR)["main"] == "(x) gv* = fused_exp_sin_cos_add(x); gv"


def test_the_size_of_a_function_is_limited():
    with transform.PassContext(config={"relax.FuseOps.max_depth": 2}):
        assert fused(chain, TENSOR)["main"] == "(x) lv = fused_add_exp(x, 1.0); gv* = tanh(lv); gv"


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
