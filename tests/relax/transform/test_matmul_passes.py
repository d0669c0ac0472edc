"""Passes of products: what they write, and that it computes the same."""

import numpy as np
import pytest

from te_sched import IRModule
from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.described import described, described_module
from tests.relax.running import assert_same_results


def module_of(func):
    return IRModule({"main": func.with_attr("global_symbol", "main")})


def applied(one, func):
    return described(one(module_of(func))["main"])


def check_values(one, func):
    module = module_of(func)
    assert_same_results(module, one(module))


def is_kept(one, func):
    module = module_of(func)
    return one(module)["main"] is module["main"]


# CombineParallelMatmul


@R.function
def parallel(
    x: R.Tensor((4, 8), "float32"),
    v: R.Tensor((8, 3), "float32"),
    w: R.Tensor((8, 5), "float32"),
    a: R.Tensor((3,), "float32"),
    b: R.Tensor((5,), "float32"),
):
    with R.dataflow():
        y = R.nn.relu(R.add(R.matmul(x, v), a))
        z = R.nn.relu(R.add(R.matmul(x, w), b))
        out = R.concat((y, z), axis=1)
        R.output(out)
    return out


def test_parallel_products_with_bias_and_activation():
    assert applied(transform.CombineParallelMatmul(), parallel) == (
        "(x, v, w, a, b) lv = concat((v, w)); lv1 = matmul(x, lv); lv2 = concat((a, b)); "
        "lv3 = add(lv1, lv2); lv4 = nn.relu(lv3); lv5 = split(lv4); y = lv5[0]; z = lv5[1]; "
        "out* = concat((y, z)); out"
    )
    check_values(transform.CombineParallelMatmul(), parallel)


def test_products_of_which_some_have_a_bias():
    @R.function
    def func(
        x: R.Tensor((4, 8), "float32"),
        v: R.Tensor((8, 3), "float32"),
        w: R.Tensor((8, 3), "float32"),
        a: R.Tensor((3,), "float32"),
    ):
        with R.dataflow():
            p = R.matmul(x, v)
            y = R.add(p, a)
            z = R.matmul(x, w)
            out = R.add(y, z)
            R.output(out)
        return out

    assert applied(transform.CombineParallelMatmul(), func) == (
        "(x, v, w, a) lv = concat((v, w)); lv1 = matmul(x, lv); lv2 = split(lv1); p = lv2[0]; "
        "y = add(p, a); z = lv2[1]; out* = add(y, z); out"
    )


def test_a_product_that_depends_on_another_one_is_not_combined():
    @R.function
    def func(x: R.Tensor((4, 4), "float32"), v: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.matmul(x, v)
            z = R.matmul(x, y)
            out = R.add(y, z)
            R.output(out)
        return out

    assert is_kept(transform.CombineParallelMatmul(), func)


def test_a_check_can_refuse_to_combine():
    seen = []

    def check(source, weights, biases, bindings):
        seen.append((source.name_hint, len(weights), len(biases), len(bindings)))
        return False

    assert is_kept(transform.CombineParallelMatmul(check), parallel)
    assert seen == [("x", 2, 2, 7)]


# Other orders of products


def test_a_sum_of_weights_is_expanded():
    @R.function
    def func(
        x: R.Tensor((4, 8), "float32"),
        a: R.Tensor((6, 8), "float32"),
        b: R.Tensor((6, 8), "float32"),
    ):
        out = R.matmul(x, R.permute_dims(R.add(a, b)))
        return out

    found = applied(transform.ExpandMatmulOfSum(), func)
    assert [found.count(name) for name in ("permute_dims", "matmul", "add")] == [2, 2, 1]
    check_values(transform.ExpandMatmulOfSum(), func)


def test_a_sum_of_known_weights_stays():
    @R.function
    def func(x: R.Tensor((4, 8), "float32"), a: R.Tensor((8, 6), "float32")):
        R.func_attr({"num_input": 1})
        out = R.matmul(x, R.add(a, a))
        return out

    assert is_kept(transform.ExpandMatmulOfSum(), func)


def test_a_sum_that_is_broadcast_stays():
    @R.function
    def func(
        x: R.Tensor((4, 8), "float32"), a: R.Tensor((8, 6), "float32"), b: R.Tensor((6,), "float32")
    ):
        out = R.matmul(x, R.add(a, b))
        return out

    assert is_kept(transform.ExpandMatmulOfSum(), func)


@R.function
def turned(
    x: R.Tensor((1, 16), "float32"),
    a: R.Tensor((32, 2), "float32"),
    b: R.Tensor((2, 16), "float32"),
):
    out = R.matmul(x, R.permute_dims(R.matmul(a, b)))
    return out


def test_the_cheaper_order_of_products():
    assert applied(transform.AdjustMatmulOrder(), turned) == (
        "(x, a, b) gv* = permute_dims(b); gv1* = matmul(x, gv); gv2* = permute_dims(a); "
        "out* = matmul(gv1, gv2); out"
    )
    check_values(transform.AdjustMatmulOrder(), turned)


def test_the_order_is_kept_without_a_proof():
    @R.function
    def func(
        a: R.Tensor(("m", "n"), "float32"),
        b: R.Tensor(("n", "p"), "float32"),
        c: R.Tensor(("p", "q"), "float32"),
    ):
        out = R.matmul(R.matmul(a, b), c)
        return out

    assert is_kept(transform.AdjustMatmulOrder(), func)


@pytest.mark.parametrize(("bound", "is_changed"), [(4, True), (64, False)])
def test_upper_bounds_of_sizes(bound, is_changed):
    @R.function
    def func(
        x: R.Tensor(("m", 16), "float32"),
        a: R.Tensor((16, "r"), "float32"),
        b: R.Tensor(("r", 16), "float32"),
    ):
        out = R.matmul(x, R.matmul(a, b))
        return out

    func = func.with_attr("tir_var_upper_bound", {"r": bound})
    assert is_kept(transform.AdjustMatmulOrder(), func) is not is_changed


def test_a_transposed_matrix_is_multiplied_by_one_function():
    @R.function
    def func(x: R.Tensor((2, 4, 8), "float32"), w: R.Tensor((6, 8), "float32")):
        with R.dataflow():
            out = R.matmul(x, R.permute_dims(w))
            R.output(out)
        return out

    module = module_of(func)
    found = transform.FuseTransposeMatmul()(module)
    assert described_module(found) == {"main": "(x, w) out* = NT_matmul(x, w); out"}
    assert_same_results(module, found)


def test_a_row_of_a_batch_is_multiplied_by_a_transposed_matrix():
    @R.function
    def func(x: R.Tensor((1, 1, 8), "float32"), w: R.Tensor((6, 8), "float32")):
        out = R.matmul(x, R.permute_dims(w))
        return out

    module = module_of(func)
    found = transform.FuseTransposeMatmul()(module)
    assert "NT_matmul(x, w)" in described_module(found)["main"]
    assert_same_results(module, found)


def test_a_permutation_that_is_no_transposition_stays():
    @R.function
    def func(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 2, 6), "float32")):
        out = R.matmul(x, R.permute_dims(w, [1, 0, 2]))
        return out

    module = module_of(func)
    assert transform.FuseTransposeMatmul()(module) is module


# Layouts


def test_permuted_parts_are_permuted_once():
    @R.function
    def func(a: R.Tensor((4, 8), "float32"), b: R.Tensor((2, 8), "float32")):
        out = R.concat((R.permute_dims(a), R.permute_dims(b, [1, 0])), axis=1)
        return out

    found = applied(transform.ReorderPermuteDimsAfterConcat(), func)
    assert found == "(a, b) gv* = concat((a, b)); out* = permute_dims(gv); out"


@R.function
def selected_columns(x: R.Tensor((2, 3, 4), "float32"), table: R.Tensor((4, 9), "float32")):
    with R.dataflow():
        index = R.const(np.array([5, 0, 5, 8], "int64"))
        out = R.matmul(x, R.take(table, index, axis=1))
        R.output(out)
    return out


@R.function
def selected_matrices(x: R.Tensor((4, 3, 2), "float32"), table: R.Tensor((9, 2, 5), "float32")):
    with R.dataflow():
        index = R.const(np.array([5, 0, 5, 8], "int64"))
        out = R.matmul(x, R.take(table, index, axis=0))
        R.output(out)
    return out


@pytest.mark.parametrize("func", [selected_columns, selected_matrices])
def test_weights_are_selected_after_the_product(func):
    found = applied(transform.ReorderTakeAfterMatmul(), func)
    assert found.index("matmul") < found.index("take")
    check_values(transform.ReorderTakeAfterMatmul(), func)


def test_reshapes_of_reshapes():
    @R.function
    def func(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            y = R.reshape(R.reshape(x, (12,)), (3, 4))
            z = R.reshape(y, (3, 4))
            R.output(z)
        return z

    found = applied(transform.RemoveRedundantReshape(), func)
    assert found == "(x) z* = reshape(x, [3, 4]); z"


def test_approximations():
    @R.function
    def func(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            z = R.nn.softmax(R.exp(R.tanh(R.erf(x))), axis=1)
            R.output(z)
        return z

    module = module_of(func)
    found = transform.FastMathTransform()(module)
    assert set(found.functions) == {"main", "fast_exp", "fast_tanh", "fast_erf", "fast_softmax"}
    assert_same_results(module, found, 1e-3)
