"""Products of a matrix and few vectors on GPUs: the schedules of GEMV and LowBatchGEMV compute what
numpy does, on the emulated device and in checked mode, whatever target they are made for.
"""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.dlight import gpu
from te_sched.dlight.gpu.inner_products import low_batch_tile_of, tile_of
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from te_sched.target import Target
from tests.dlight.products import ATTENTION, EXPERTS, Product

CUDA, ADRENO = "cuda", "opencl -device=adreno"
PACKED = {"group": 8, "has_scale": True, "end": "y + 1.0"}
UNPACKED = {**PACKED, "unpacking": "dequantize"}
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
SEVERAL = [
    (4, CUDA, Product("m", 20, 64), {"m": 3}),
    (4, CUDA, Product("m", 70, 64, end="y + 1.0"), {"m": 5}),
    (2, CUDA, Product("m", 9, 100), {"m": 4}),
    (1, CUDA, Product("m", 20, 64, end="y + 1.0"), {"m": 2}),
    (4, CUDA, Product("m", 40, 256, **PACKED), {"m": 6}),
    (4, CUDA, Product("m", 40, 256, **UNPACKED), {"m": 6}),
    (4, "metal", Product("m", 40, 256, **UNPACKED), {"m": 6}),
    (4, CUDA, Product("m", 40, 256, is_outer=True, **UNPACKED), {"m": 6}),
    (4, "metal", Product("m", 70, 256, is_outer=True, **UNPACKED), {"m": 6}),
    (1, CUDA, Product("m", 40, 256, is_outer=True, **UNPACKED), {"m": 2}),
]


def name_of(case):
    return "-".join([str(one) for one in case[:-1]])


def check(rule, text, target, arrays):
    """Schedule a function, and compare its result, the last array."""
    sch = rule.apply(from_source(text), Target(target), False)
    assert sch is not None
    function = te_sched.build(sch.mod["main"], target="cuda")
    *given, want = arrays
    device = te_sched.emulated_cuda(0)
    tolerance = 1e-2 if want.dtype == "float16" else 1e-5
    for run in (function, function.check):
        copies = [te_sched.nd.array(one, device) for one in [*given, np.zeros_like(want)]]
        report = run(*copies)
        assert report is None or report.ok, str(report)
        scale = max(1, abs(want).max())
        np.testing.assert_allclose(copies[-1].numpy() / scale, want / scale, atol=tolerance)


@pytest.mark.parametrize(("target", "product", "sizes"), ONE, ids=map(name_of, ONE))
def test_a_product_with_one_vector_is_numpys(target, product, sizes):
    check(gpu.GEMV(), product.text(), target, product.arrays(**sizes))


@pytest.mark.parametrize(
    ("bucket", "target", "product", "sizes"), SEVERAL, ids=map(name_of, SEVERAL)
)
def test_a_product_with_several_vectors_is_numpys(bucket, target, product, sizes):
    check(gpu.LowBatchGEMV(bucket), product.text(), target, product.arrays(**sizes))


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
    device = te_sched.emulated_cuda(0)
    arrays = [te_sched.nd.array(one, device) for one in (x, w, np.zeros((4, 3), "float32"))]
    report = te_sched.build(sch.mod["main"], target="cuda").check(*arrays)
    assert report.ok, str(report)
    np.testing.assert_allclose(arrays[-1].numpy(), np.repeat(x @ w.T, 4, 0), rtol=1e-5, atol=1e-5)


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


@pytest.mark.parametrize(
    "product",
    [
        Product(4, 20, 64),
        Product("m", "n", 64),
        Product("m", 40, 256, is_outer=True),  # no block unpacks the matrix
        Product("m", 20, 256, is_outer=True, **UNPACKED),
    ],
)
def test_other_functions_are_not_of_the_rule_for_several_vectors(product):
    func = from_source(product.text())
    assert gpu.LowBatchGEMV(4).apply(func, Target(CUDA), False) is None


def test_many_vectors_are_not_treated_together_in_the_other_order():
    func = from_source(Product("m", 40, 256, is_outer=True, **UNPACKED).text())
    assert gpu.LowBatchGEMV(8).apply(func, Target(CUDA), False) is None
    with pytest.raises(ScheduleError, match="bucket must be at least 1, got 0"):
        gpu.LowBatchGEMV(0)


@pytest.mark.parametrize(
    ("target", "rows", "depth", "one", "several"),
    [  # as TVM 0.19: threads along rows and depth, vectors of lanes
        ("cuda", 4096, 4096, (16, 32, 2, 4), (16, 32, 2, 4)),
        ("cuda", 4096, 512, (16, 32, 2, 4), (4, 64, 2, 4)),
        ("cuda", None, 4096, (1, 64, 2, 4), None),
        ("cuda", 4096, 192, (16, 32, 1, 2), (4, 64, 1, 1)),
        ("rocm", 4096, 4096, (4, 64, 2, 4), (4, 64, 2, 4)),
        ("rocm", 4097, 4096, (1, 128, 2, 4), (1, 128, 2, 4)),
        ("metal", 4096, 4096, (2, 64, 8, 1), (8, 32, 2, 4)),
        ("metal", 4097, 4096, (4, 16, 8, 1), (8, 32, 2, 4)),
        (ADRENO, 4096, 4096, (2, 32, 1, 8), (2, 32, 1, 8)),
        ("webgpu", 4096, 4096, (1, 64, 8, 1), (1, 64, 8, 1)),
    ],
)
def test_tiles_are_those_of_tvm(target, rows, depth, one, several):
    machine = Target(target)
    for choice, want in ((tile_of, one), (low_batch_tile_of, several)):
        if want is not None:
            tile = choice(machine, rows, depth).fitted(machine, depth, 1)
            assert (tile.rows, tile.depth, tile.vectors, tile.lanes) == want


def test_a_scheduled_function_is_refused():
    sch = gpu.GEMV().apply(from_source(Product(rows=33).text()), Target(CUDA), False)
    assert gpu.GEMV().apply(sch.mod["main"], Target(CUDA), False) is None
    assert isinstance(sch, tir.Schedule)
