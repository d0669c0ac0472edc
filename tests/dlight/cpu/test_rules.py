"""Default schedules for processors: every function computes what it computed without one."""

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.target import Target
from tests.dlight.functions import LLVM, applied, convolution, product, results, scheduled, tensor


def dense(m, n, k):
    a, b, bias = tensor(m, k), tensor(n, k, name="B"), tensor(n, name="bias")
    return [a, b, bias, topi.add(topi.nn.dense(a, b), bias)]


def batch_product(b, m, n, k):
    x, y = tensor(b, m, k), tensor(b, k, n, name="B")
    return [x, y, topi.nn.batch_matmul(x, y, transpose_b=False)]


def depthwise(n, c, h, k, stride):
    x, w = tensor(n, c, h, h), tensor(c, 1, k, k, name="W")
    return [x, w, topi.nn.depthwise_conv2d_nchw(x, w, stride, k // 2, 1)]


def channels_last(n, c, h, f, k):
    x, w = tensor(n, h, h, c), tensor(k, k, c, f, name="W")
    return [x, w, topi.nn.conv2d_nhwc(x, w, 1, k // 2, 1)]


def layer_norm(m, n):
    a, g, b = tensor(m, n), tensor(n, name="g"), tensor(n, name="b")
    return [a, g, b, topi.nn.layer_norm(a, g, b, [1])]


def integers(m, n, k):
    a, b = tensor(m, k, dtype="int8"), tensor(k, n, name="B", dtype="int8")
    r = te.reduce_axis((0, k), "r")
    total = te.compute(
        (m, n), lambda i, j: te.sum(a[i, r].astype("int32") * b[r, j].astype("int32"), r)
    )
    return [a, b, total]


def shared_sums(m, n, k):
    """Two results of one product: it has no single reader."""
    a, b = tensor(m, k), tensor(k, n, name="B")
    c = topi.nn.matmul(a, b)
    return [a, b, topi.nn.relu(c), topi.tanh(c)]


POOL = ((3, 3), (1, 1), (1, 1), (1, 1, 1, 1))  # kernel, stride, dilation, padding
PROGRAMS = {
    "product": lambda: product(24, 32, 16),
    "product, primes": lambda: product(13, 17, 11),
    "product of one row": lambda: product(1, 24, 40),
    "product of one column": lambda: product(24, 1, 40),
    "product of depth 1": lambda: product(16, 16, 1),
    "large product": lambda: product(72, 144, 64),
    "two readers": lambda: shared_sums(16, 16, 16),
    "dense": lambda: dense(24, 10, 32),
    "dense of one row": lambda: dense(1, 16, 64),
    "batch product": lambda: batch_product(3, 16, 24, 8),
    "convolution": lambda: convolution(2, 4, 8, 16, 3),
    "convolution, alone": lambda: convolution(1, 8, 7, 12, 3, relu=False),
    "convolution, stride 2": lambda: convolution(1, 3, 12, 16, 5, 2),
    "convolution 1x1": lambda: convolution(1, 8, 6, 24, 1),
    "convolution of one filter": lambda: convolution(1, 3, 5, 1, 3),
    "depthwise": lambda: depthwise(1, 6, 16, 3, 1),
    "depthwise, stride 2": lambda: depthwise(1, 6, 16, 3, 2),
    "channels last": lambda: channels_last(1, 4, 6, 16, 3),
    "softmax": lambda: applied(topi.nn.softmax, 8, 64),
    "softmax, odd": lambda: applied(topi.nn.softmax, 5, 13),
    "layer norm": lambda: layer_norm(8, 64),
    "sum of rows": lambda: applied(lambda a: topi.sum(a, 1), 9, 128),
    "sum of columns": lambda: applied(lambda a: topi.sum(a, 0), 24, 33),
    "sum of all": lambda: applied(topi.sum, 16, 64),
    "largest index": lambda: applied(lambda a: topi.argmax(a, 1), 6, 20),
    "max pool": lambda: applied(
        lambda a: topi.nn.pool2d(a, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max"), 1, 3, 8, 8
    ),
    "global pool": lambda: applied(lambda a: topi.nn.global_pool(a, "avg"), 1, 8, 7, 7),
    "transpose": lambda: applied(topi.transpose, 18, 32),
    "elementwise": lambda: applied(lambda a: topi.tanh(topi.nn.relu(a)), 3, 40, 10),
    "scalar": lambda: applied(topi.exp),
    "int8 product": lambda: integers(16, 32, 8),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_scheduled_function_computes_the_same(name):
    scheduled(PROGRAMS[name]())


@pytest.mark.parametrize(
    "name", ["product", "convolution", "channels last", "softmax", "layer norm"]
)
def test_loops_are_vectors(name):
    func = te.create_prim_func(PROGRAMS[name](), index_dtype_override="int64")
    assert "T.vectorized" in str(dlight.cpu.Default().apply(func, LLVM, False).mod)


def test_large_functions_run_on_all_cores():
    func = te.create_prim_func(product(72, 144, 64))
    assert "T.parallel" in str(dlight.cpu.Default().apply(func, LLVM, False).mod)


@pytest.mark.parametrize("shape", [(3, 30522), (3, 21839), (70001,), (2, 70001), (1, 70001)])
@pytest.mark.parametrize("make", [topi.exp, topi.nn.softmax], ids=["exp", "softmax"])
def test_large_rows_that_vectors_do_not_divide_are_loops_of_their_own(shape, make):
    """Of 5087 elements, of whole rows if their lengths are primes: no index is divided."""
    sch = scheduled(applied(make, *shape))
    text = str(sch.mod["main"])
    assert not any(f"% T.int64({size})" in text or f"% {size}" in text for size in shape)


def test_rows_of_softmax_after_a_product_are_computed_together():
    a, b, c = tensor(4, 16, 32), tensor(4, 16, 32, name="B"), tensor(4, 32, 16, name="C")
    shares = topi.nn.softmax(topi.nn.batch_matmul(a, b))
    result = topi.transpose(topi.nn.batch_matmul(shares, c), (1, 0, 2))
    declared = [a, b, c, result]
    sch = scheduled(declared)
    parts = ("maxelem", "exp", "norm")
    assert len({sch.get(sch.get_loops(f"T_softmax_{one}")[0]) for one in parts}) == 1


@pytest.mark.parametrize("columns", [40, 20, 1000, 24])
def test_sums_of_rows_have_parts_of_a_part_of_a_register(columns):
    declared = applied(lambda a: topi.sum(a, 1), 3, columns)
    sch = scheduled(declared, Target("llvm -mcpu=skylake-avx512"))
    assert "_rf" in str(sch.mod)


def test_sums_of_groups_are_not_computed_again_for_each_row():
    a, g, b = tensor(1, 16, 13, 13), tensor(16, name="g"), tensor(16, name="b")
    declared = [a, g, b, topi.nn.group_norm(a, g, b, 4, 1, [2, 3])]
    sch = scheduled(declared, tolerance=1e-4)
    extents = [int(sch.get(one).extent) for one in sch.get_loops("A_red_temp")]
    assert np.prod(extents) <= 16 * 13 * 13


def blocks_named(sch, name):
    """The blocks of a name, in order."""
    return [one for one in sch.get_child_blocks("root") if sch.get(one).name_hint == name]


def test_parts_of_sums_of_shared_rows_are_vectors():
    """Each sum is finished before the next one begins; its parts were loops around all sums."""
    a, b, k = tensor(8, 8, 64), tensor(37, 8, 8, 64, name="B"), te.reduce_axis((0, 64), "k")
    sums = te.compute(
        (8, 8, 37), lambda i, j, n: te.sum(a[i, j, k] * b[n, i, j, k], axis=k), "sums"
    )
    sch = scheduled([a, b, topi.multiply(sums, 0.5)], tolerance=1e-3)
    updates = blocks_named(sch, "sums_rf_update")
    assert updates
    for update in updates:
        *_, innermost = sch.get_loops(update)
        assert sch.get(innermost).kind == "vectorized"
        assert sch.get(sch.get_loops("sums")[-1]).loop_var not in {
            sch.get(loop).loop_var for loop in sch.get_loops(update)
        }


@pytest.mark.parametrize(("columns", "lengths"), [(1024, [64, 16, 4]), (32, [16, 4]), (24, [8])])
def test_parts_of_sums_are_combined_four_at_a_time(columns, lengths):
    """64 parts one after the other took as long as adding 1024 numbers to them."""
    declared = applied(lambda a: topi.nn.softmax(a), 64, columns)
    sch = scheduled(declared, Target("llvm -mcpu=skylake-avx512"))
    updates = blocks_named(sch, "T_softmax_expsum_rf_update")
    assert [int(sch.get(sch.get_loops(one)[-1]).extent) for one in updates] == lengths


@pytest.mark.parametrize(
    ("rows", "columns", "together"), [(2048, 50, 4), (2050, 50, 2), (2049, 50, 1), (1024, 1024, 2)]
)
def test_some_rows_are_computed_together(rows, columns, together):
    """A processor computes one while it waits for the largest element of another one."""
    sch = scheduled(applied(lambda a: topi.nn.softmax(a), rows, columns), tolerance=1e-4)
    first, *_ = sch.get_loops("T_softmax_norm")
    assert int(sch.get(first).extent) == rows // together
    assert sch.get(first).kind == "parallel"
    assert first.key == sch.get_loops("T_softmax_maxelem")[0].key


def test_borders_are_copied_around_an_image_at_a_time():
    """All images with borders were written to memory and read again."""
    sch = scheduled(applied(lambda a: topi.nn.pool2d(a, *POOL, "max"), 1, 64, 56, 56))
    image = sch.get_loops("pool_max")[0]
    assert sch.get(image).kind == "parallel"
    assert sch.get_loops("pad_temp")[0].key == image.key


def test_borders_of_one_image_are_copied_once():
    """Windows of several rows read the same row of it."""
    sch = scheduled(applied(lambda a: topi.nn.pool2d(a, *POOL, "max"), 1, 1, 300, 300))
    assert sch.get_loops("pad_temp")[0].key != sch.get_loops("pool_max")[0].key


def test_sums_add_what_is_computed_in_the_same_loop():
    sch = scheduled(
        applied(lambda a: topi.nn.softmax(a), 64, 256), Target("llvm -mcpu=skylake-avx512")
    )
    update, *_ = blocks_named(sch, "T_softmax_expsum_rf_update")
    together = {sch.get(loop) for loop in sch.get_loops(update)}
    assert {sch.get(loop) for loop in sch.get_loops("T_softmax_exp")[:-1]} <= together


def test_rows_that_are_no_sums_of_loops_stay_serial():
    """Extents of two types are cast: the loop of all rows cannot be in parallel."""
    a = te.placeholder((12, te.var("n", "int64"), 8), name="A")
    func = te.create_prim_func([a, topi.nn.softmax(a)])
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    values, out = (
        np.random.default_rng(0).random((12, 5, 8), "float32"),
        np.empty((12, 5, 8), "float32"),
    )
    te_sched.build(sch.mod)(values, out)
    expected = np.exp(values) / np.exp(values).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_external_operations_stay_where_they_are():
    """Their blocks do not say what they write."""
    a = tensor(4, 8)
    sums = topi.cumsum(a, axis=1)
    declared = [a, topi.nn.relu(topi.sum(sums, axis=1))]
    assert dlight.cpu.Default().apply(te.create_prim_func(declared), LLVM, False) is None


def test_scheduled_functions_stay_as_they_are():
    func = te.create_prim_func(product(8, 8, 8))
    once = dlight.cpu.Default().apply(func, LLVM, False).mod["main"]
    assert dlight.cpu.Default().apply(once, LLVM, False) is None


def test_fallback_is_one_rule_of_several():
    declared = product(8, 8, 8)
    func = te.create_prim_func(declared)
    module = te_sched.IRModule({"main": func})
    with LLVM:
        made = dlight.ApplyDefaultSchedule(dlight.cpu.Fallback())(module)
    np.testing.assert_allclose(results(made, declared), results(func, declared), rtol=1e-5)


def test_borders_of_open_sizes_are_loops_of_their_own():
    """What a condition along the last iterator chooses is decided by the loop."""
    n, m = te.var("n", "int64"), te.var("m", "int64")
    x = te.placeholder((n, 3, m), name="x")
    func = te.create_prim_func([x, topi.nn.pad(x, [0, 0, 2], [0, 0, 1])])
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    text = str(sch.mod)
    assert "pragma_loop_partition_hint" in text
    assert "T.parallel(n * T.int64(3), " in text  # no index is divided by an open size
    module = te_sched.build(sch.mod, "llvm")
    for shape in ((2, 3, 5), (1, 3, 1), (0, 3, 4), (2, 3, 0), (3, 3, 70)):
        numbers = np.random.default_rng(0).random(shape, "float32")
        padded = np.full((*shape[:2], shape[2] + 3), np.nan, "float32")
        module(numbers, padded)
        np.testing.assert_array_equal(padded, np.pad(numbers, [(0, 0), (0, 0), (2, 1)]))


def test_windows_over_rows_of_open_sizes_are_unrolled():
    n, m = te.var("n", "int64"), te.var("m", "int64")
    x = te.placeholder((1, 3, n, m), name="x")
    func = te.create_prim_func([x, topi.nn.pool2d(x, [3, 3], [2, 2], [1, 1], [0] * 4, "max")])
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    *_, rows, first, second = [sch.get(loop) for loop in sch.get_loops("pool_max_update")]
    assert (rows.kind, first.kind, second.kind) == ("serial", "unrolled", "unrolled")
    module = te_sched.build(sch.mod, "llvm")
    for shape in ((1, 3, 8, 50), (1, 3, 5, 7)):
        numbers = np.random.default_rng(0).random(shape, "float32")
        windows = np.lib.stride_tricks.sliding_window_view(numbers, (3, 3), (2, 3))[:, :, ::2, ::2]
        result = np.zeros(windows.shape[:4], "float32")
        module(numbers, result)
        np.testing.assert_array_equal(result, windows.max((4, 5)))


def test_windows_over_rows_of_open_sizes_run_on_all_cores():
    """Only whole reductions are shared, so that they are decomposed later."""
    n = te.var("n", "int64")
    x = te.placeholder((1, 64, n, n), name="x")
    y = topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max")
    sch = dlight.cpu.Default().apply(te.create_prim_func([x, y]), LLVM, False)
    after = str(sch.mod).split('with T.block("pad_temp")')[1]
    assert "T.parallel" in after.split('with T.block("pool_max')[0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [(3, 2, 1), (3, 1, 1), (2, 2, 0)])
def test_padded_windows_over_rows_of_open_sizes_are_vectors(dtype, kernel, stride, padding):
    """Sums and maxima of the same windows of the padded input are the expected results."""
    h, w = te.var("h", "int64"), te.var("w", "int64")
    x = te.placeholder((2, 3, h, w), dtype, name="x")
    kind = "avg" if dtype == "float32" or padding == 0 else "max"
    kind = "max" if dtype == "int8" else kind  # whose means are rounded
    y = topi.nn.pool2d(x, (kernel,) * 2, (stride,) * 2, (1, 1), (padding,) * 4, kind)
    sch = dlight.cpu.Default().apply(te.create_prim_func([x, y]), LLVM, False)
    assert not padding or "T.vectorized" in str(sch.mod)
    module = te_sched.build(sch.mod, "llvm -opt-level=0")
    for shape in ((2, 3), (3, 2), (7, 15), (8, 31), (2, 33), (3, 64), (3, 70)):
        a = np.random.default_rng(0).integers(-9, 9, (2, 3, *shape)).astype(dtype)
        least = np.iinfo(dtype).min if dtype == "int8" else -np.inf
        edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
        whole = np.pad(a, edges, constant_values=least if kind == "max" else 0)
        windows = np.lib.stride_tricks.sliding_window_view(whole, (kernel, kernel), (2, 3))
        windows = windows[:, :, ::stride, ::stride]
        expected = windows.max((4, 5)) if kind == "max" else windows.mean((4, 5), "float64")
        result = np.full(expected.shape, 77, dtype)
        module(a, result)
        np.testing.assert_allclose(result, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("stride", [1, 2])
def test_means_of_open_windows_are_computed_where_they_are_stored(stride):
    """Sums of a whole row, one window after the other, were put into memory of its own."""
    n, h, w = (te.var(name, "int64") for name in "nhw")
    x = te.placeholder((n, 3, h, w), name="x")
    y = topi.nn.pool2d(x, (3, 3), (stride, stride), (1, 1), (0, 0, 0, 0), "avg")
    schedule = dlight.cpu.Default().apply(
        te.create_prim_func([x, y], index_dtype_override="int64"), LLVM, False
    )
    row = schedule.get_loops("pool_avg")[-1]
    assert row.key in {loop.key for loop in schedule.get_loops("pool_sum_update")}
    module = te_sched.build(schedule.mod)
    for shape in ((2, 3, 9, 40), (1, 3, 3, 3), (1, 3, 20, 67), (0, 3, 5, 5)):
        values = np.random.default_rng(0).standard_normal(shape).astype("float32")
        windows = np.lib.stride_tricks.sliding_window_view(values, (3, 3), (2, 3))
        expected = windows[:, :, ::stride, ::stride].mean((4, 5))
        result = np.empty(expected.shape, "float32")
        module(values, result)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_sums_of_few_open_rows_are_computed_where_they_are_read():
    n, m = te.var("n", "int64"), te.var("m", "int64")
    x = te.placeholder((n, 4, m), name="x")
    schedule = dlight.cpu.Default().apply(
        te.create_prim_func([x, topi.tanh(topi.sum(x, 1))]), LLVM, False
    )
    module = te_sched.build(schedule.mod)
    for shape in ((5, 4, 70), (1, 4, 1), (0, 4, 3), (300, 4, 33)):
        values = np.random.default_rng(0).standard_normal(shape).astype("float32")
        result = np.empty((shape[0], shape[2]), "float32")
        module(values, result)
        np.testing.assert_allclose(result, np.tanh(values.sum(1)), rtol=1e-5, atol=1e-6)


def test_sums_of_few_rows_of_one_matrix_are_read_by_another_block():
    """There is no loop around the columns; the build ended with an IndexError."""
    x = te.placeholder((4, te.var("m", "int64")), name="x")
    schedule = dlight.cpu.Default().apply(
        te.create_prim_func([x, topi.tanh(topi.sum(x, 0))]), LLVM, False
    )
    module = te_sched.build(schedule.mod)
    for columns in (0, 1, 33, 70):
        values = np.random.default_rng(0).standard_normal((4, columns)).astype("float32")
        result = np.empty(columns, "float32")
        module(values, result)
        np.testing.assert_allclose(result, np.tanh(values.sum(0)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(8, 33, 48), (8, 5, 7, 64), (9, 30, 32)])
def test_sums_across_rows_that_another_block_reads_are_vectors(shape):
    """Each sum was computed by itself, of elements that are far apart in memory."""
    sch = scheduled(applied(lambda a: topi.tanh(topi.sum(a, len(shape) - 2)), *shape))
    *_, reduced, columns = sch.get_loops("A_red")
    kinds = [sch.get(loop).kind for loop in (reduced, columns)]
    assert kinds == ["serial", "vectorized"]


@pytest.mark.parametrize("shape", [(16, 60, 64), (8, 20, 3, 64)])
def test_parts_of_sums_are_innermost_where_rows_are_computed_together(shape):
    """The loop over the rows stood inside of that of parts, so that vectors were rows."""
    sch = scheduled(applied(lambda a: topi.multiply(topi.sum(a, len(shape) - 1), 0.5), *shape))
    inner = [sch.get(sch.get_loops(one)[-1]) for one in blocks_named(sch, "A_red_rf_update")]
    assert inner
    assert all(loop.kind == "vectorized" and int(loop.extent) >= 4 for loop in inner)
    around = {loop.key for loop in sch.get_loops("A_red")[:-1]}
    for update in blocks_named(sch, "A_red_rf_update"):
        assert around <= {loop.key for loop in sch.get_loops(update)}


def test_large_sums_in_parts_run_on_all_cores():
    """The number of their results decided, which is small."""
    sch = scheduled(applied(lambda a: topi.sum(a, 2), 16, 20, 1024), tolerance=1e-3)
    assert sch.get(sch.get_loops("A_red")[0]).kind == "parallel"


def test_copies_along_rows_are_not_made_for_sums():
    a = tensor(4, 40, 16)
    groups = te.compute((4, 2, 20, 16), lambda n, g, c, i: a[n, g * 20 + c, i], "groups")
    sch = scheduled([a, topi.sum(groups, (2, 3))])
    assert not blocks_named(sch, "groups")
