"""The rule for products of a matrix and one vector: its schedules compute what numpy does."""

import numpy as np
import pytest

from te_sched import te, tir, topi
from te_sched.dlight import gpu
from te_sched.script import from_source
from te_sched.target import Target
from tests.dlight.gpu.running import ADRENO, CUDA, check, check_arrays
from tests.dlight.products import ATTENTION, EXPERTS, PACKED, Product, name_of

ONE = [
    (CUDA, Product(rows=33, depth=64), {}),
    (CUDA, Product(rows=5, depth=100), {}),
    (CUDA, Product(rows=20, depth=256, **PACKED), {}),
    (CUDA, Product(rows=20, depth=256, group=2), {}),
    (CUDA, Product(rows=2, depth=256, **PACKED), {}),  # the vector has more numbers
    (CUDA, Product(rows=20, depth=128, dtype="float16"), {}),
    (CUDA, Product(rows="n", depth=128, end="y * 2.0"), {"n": 5}),
    (CUDA, Product(rows=3, depth=16384), {}),  # the vector is too large for shared memory
    ("cuda -max_threads_per_block=64", Product(rows=20, depth=64), {}),
    ("metal", Product(rows=33, depth=64), {}),
    ("rocm", Product(rows=9, depth=128), {}),
    ("vulkan", Product(rows=9, depth=128), {}),
    (ADRENO, Product(rows=9, depth=256), {}),
    ("metal", Product(rows=130, depth=128, is_outer=True), {}),
    ("metal", Product(rows="n", depth=128, is_outer=True), {"n": 70}),
    (ADRENO, Product(rows=70, depth=1024, is_outer=True, **PACKED), {}),
    (ADRENO, Product(rows="n", depth=1024, is_outer=True, **PACKED), {"n": 70}),
]


@pytest.mark.parametrize(("target", "product", "sizes"), ONE, ids=map(name_of, ONE))
def test_a_product_with_one_vector_is_numpys(target, product, sizes):
    check(gpu.GEMV(), product.text(), target, product.arrays(**sizes))


def test_scores_of_attention_are_numpys():
    draw = np.random.default_rng(0)
    q, keys, mask = (
        draw.standard_normal(shape).astype("float32")
        for shape in ((1, 3, 1, 64), (1, 3, 7, 64), (1, 1, 1, 7))
    )
    want = np.minimum(q @ keys.transpose(0, 1, 3, 2) * np.float32(0.5), mask)
    check(gpu.GEMV(), ATTENTION, CUDA, [q, keys, mask, want])


@pytest.mark.parametrize("target", [CUDA, "metal"])
def test_a_product_inside_of_a_block_is_numpys(target):
    draw = np.random.default_rng(0)
    x, w = (draw.standard_normal(shape).astype("float32") for shape in ((1, 64), (4, 20, 64)))
    chosen = np.array([3, 1], "int32")
    want = np.stack([(w[one] @ x[0]) for one in chosen])
    check(gpu.GEMV(), EXPERTS, target, [x, w, chosen, want])


def dense(f, rows=3, depth=64, swapped=False):
    """What f makes of the product of a vector and a matrix."""
    x, w = te.placeholder((1, depth), name="X"), te.placeholder((rows, depth), name="W")
    k = te.reduce_axis((0, depth), name="k")
    y = te.compute(
        (1, rows), lambda i, j: te.sum(w[j, k] * x[i, k] if swapped else x[i, k] * w[j, k], axis=k)
    )
    return te.create_prim_func([x, w, f(y)])


def test_a_row_can_be_used_for_several_elements():
    sch = gpu.GEMV().apply(
        dense(lambda y: topi.broadcast_to(y, (4, 3))), Target(CUDA), tunable=False
    )
    draw = np.random.default_rng(0)
    x, w = (draw.standard_normal(shape).astype("float32") for shape in ((1, 64), (3, 64)))
    check_arrays(sch, [x, w], np.repeat(x @ w.T, 4, 0))


def test_the_matrix_can_be_the_first_factor():
    sch = gpu.GEMV().apply(dense(lambda y: y, swapped=True), Target(CUDA), tunable=False)
    assert {"W_local", "X_shared"} <= {one.name for one in sch.mod["main"].body.block.alloc_buffers}


def loops(kind, f):
    """A block over A of 8 x 128, with vectors of both lengths."""
    a, x, b = (te.placeholder(one) for one in ((8, 128), (128,), (8,)))
    k = te.reduce_axis((0, 128), name="k")
    result = te.compute((8,), lambda i: kind(f(a, x, b, i, k), axis=k))
    return te.create_prim_func([a, x, b, result])


@pytest.mark.parametrize(
    "func",
    [
        loops(te.sum, lambda a, x, b, i, k: a[i, k]),
        loops(te.max, lambda a, x, b, i, k: x[k] * a[i, k]),
        loops(te.sum, lambda a, x, b, i, k: a[i, k] * a[i, k]),
        loops(te.sum, lambda a, x, b, i, k: x[k] * a[i, k] * b[i]),
        loops(te.sum, lambda a, x, b, i, k: b[i] * a[i, k]),
        from_source(Product(rows=200, depth=512, is_outer=True).text()),
        from_source(Product(rows=1, depth=512).text()),
        from_source(Product("m", 20, 512).text()),
        dense(lambda y: topi.sum(y)),
    ],
)
def test_other_functions_are_not_of_the_rule_for_one_vector(func):
    assert gpu.GEMV().apply(func, Target(CUDA), False) is None


@pytest.mark.parametrize(
    ("target", "product"),
    [
        ("metal", Product(rows=70, depth=128, is_outer=True)),
        ("metal", Product(rows=200, depth=64, is_outer=True)),
        ("rocm", Product(rows=200, depth=512, is_outer=True)),
    ],
)
def test_matrices_in_the_other_order_need_enough_rows_and_steps(target, product):
    assert gpu.GEMV().apply(from_source(product.text()), Target(target), False) is None


def test_a_scheduled_function_is_refused():
    sch = gpu.GEMV().apply(from_source(Product(rows=33).text()), Target(CUDA), False)
    assert gpu.GEMV().apply(sch.mod["main"], Target(CUDA), False) is None
    assert isinstance(sch, tir.Schedule)
