"""Default schedules for processors: every function computes what it computed without one."""

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, tir, topi
from te_sched.dlight.cpu import contraction
from te_sched.dlight.cpu.contraction import in_lines, tile_of
from te_sched.dlight.cpu.vectors import VectorRegisters, vectors_of
from te_sched.errors import ScheduleError
from te_sched.script import tir as T
from te_sched.target import Target

LLVM = Target("llvm")


def tensor(*shape, name="A", dtype="float32"):
    return te.placeholder(shape, name=name, dtype=dtype)


def product(m, n, k):
    a, b = tensor(m, k), tensor(k, n, name="B")
    return [a, b, topi.nn.relu(topi.nn.matmul(a, b))]


def dense(m, n, k):
    a, b, bias = tensor(m, k), tensor(n, k, name="B"), tensor(n, name="bias")
    return [a, b, bias, topi.add(topi.nn.dense(a, b), bias)]


def batch_product(b, m, n, k):
    x, y = tensor(b, m, k), tensor(b, k, n, name="B")
    return [x, y, topi.nn.batch_matmul(x, y, transpose_b=False)]


def convolution(n, c, h, f, k, stride=1, relu=True):
    x, w = tensor(n, c, h, h), tensor(f, c, k, k, name="W")
    result = topi.nn.conv2d_nchw(x, w, stride, k // 2, 1)
    return [x, w, topi.nn.relu(result) if relu else result]


def depthwise(n, c, h, k, stride):
    x, w = tensor(n, c, h, h), tensor(c, 1, k, k, name="W")
    return [x, w, topi.nn.depthwise_conv2d_nchw(x, w, stride, k // 2, 1)]


def channels_last(n, c, h, f, k):
    x, w = tensor(n, h, h, c), tensor(k, k, c, f, name="W")
    return [x, w, topi.nn.conv2d_nhwc(x, w, 1, k // 2, 1)]


def one(f, *shape):
    a = tensor(*shape)
    return [a, f(a)]


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
    "softmax": lambda: one(topi.nn.softmax, 8, 64),
    "softmax, odd": lambda: one(topi.nn.softmax, 5, 13),
    "layer norm": lambda: layer_norm(8, 64),
    "sum of rows": lambda: one(lambda a: topi.sum(a, 1), 9, 128),
    "sum of columns": lambda: one(lambda a: topi.sum(a, 0), 24, 33),
    "sum of all": lambda: one(topi.sum, 16, 64),
    "largest index": lambda: one(lambda a: topi.argmax(a, 1), 6, 20),
    "max pool": lambda: one(
        lambda a: topi.nn.pool2d(a, [2, 2], [2, 2], [1, 1], [0, 0, 0, 0], "max"), 1, 3, 8, 8
    ),
    "global pool": lambda: one(lambda a: topi.nn.global_pool(a, "avg"), 1, 8, 7, 7),
    "transpose": lambda: one(topi.transpose, 18, 32),
    "elementwise": lambda: one(lambda a: topi.tanh(topi.nn.relu(a)), 3, 40, 10),
    "scalar": lambda: one(topi.exp),
    "int8 product": lambda: integers(16, 32, 8),
}


def results(module, declared):
    numbers = np.random.default_rng(0)
    count = len([one for one in declared if isinstance(one.op, te.PlaceholderOp)])
    values = [
        (numbers.uniform(-2, 2, [int(n) for n in one.shape]) * 4).astype(str(one.dtype))
        for one in declared
    ]
    arrays = [te_sched.nd.array(one) for one in values]
    te_sched.build(module, target="llvm")["main"](*arrays)
    return [one.numpy() for one in arrays[count:]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_scheduled_function_computes_the_same(name):
    declared = PROGRAMS[name]()
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "name", ["product", "convolution", "channels last", "softmax", "layer norm"]
)
def test_loops_are_vectors(name):
    func = te.create_prim_func(PROGRAMS[name](), index_dtype_override="int64")
    assert "T.vectorized" in str(dlight.cpu.Default().apply(func, LLVM, False).mod)


def test_large_functions_run_on_all_cores():
    func = te.create_prim_func(product(72, 144, 64))
    assert "T.parallel" in str(dlight.cpu.Default().apply(func, LLVM, False).mod)


@pytest.mark.parametrize(
    ("shape", "axes", "tiles"),
    [
        ((64, 48), (1, 0), (16, 16)),
        ((24, 40), (1, 0), (8, 8)),
        ((2, 32, 6, 16), (0, 3, 2, 1), (16, 16)),
        ((33, 48), (1, 0), None),
        ((4, 8, 16), (1, 0, 2), None),
    ],
)
def test_transposed_copies_are_tiled(shape, axes, tiles):
    """Each line of memory that a tile reads is used as a whole."""
    a, scalar = tensor(*shape), tensor(name="s")
    declared = [a, scalar, topi.add(topi.transpose(a, axes), scalar)]
    func = te.create_prim_func(declared)
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    loops = [sch.get(one) for one in sch.get_loops(sch.get_block("T_add"))]
    if tiles is None:
        assert len(loops) <= len(shape) + 1
    else:
        assert len(loops) == len(shape) + 2
        assert (int(loops[-2].extent), int(loops[-1].extent)) == tiles
        assert loops[-1].kind == "vectorized"
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_rows_of_softmax_after_a_product_are_computed_together():
    a, b, c = tensor(4, 16, 32), tensor(4, 16, 32, name="B"), tensor(4, 32, 16, name="C")
    shares = topi.nn.softmax(topi.nn.batch_matmul(a, b))
    result = topi.transpose(topi.nn.batch_matmul(shares, c), (1, 0, 2))
    declared = [a, b, c, result]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    parts = ("maxelem", "exp", "norm")
    assert len({sch.get(sch.get_loops(f"T_softmax_{one}")[0]) for one in parts}) == 1
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("columns", [40, 20, 1000, 24])
def test_sums_of_rows_have_parts_of_a_part_of_a_register(columns):
    declared = one(lambda a: topi.sum(a, 1), 3, columns)
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, Target("llvm -mcpu=skylake-avx512"), False)
    assert "_rf" in str(sch.mod)
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_sums_of_groups_are_not_computed_again_for_each_row():
    a, g, b = tensor(1, 16, 13, 13), tensor(16, name="g"), tensor(16, name="b")
    declared = [a, g, b, topi.nn.group_norm(a, g, b, 4, 1, [2, 3])]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    extents = [int(sch.get(one).extent) for one in sch.get_loops("A_red_temp")]
    assert np.prod(extents) == 16 * 13 * 13
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_products_of_heads_of_several_sequences_are_tiled():
    """A reshape that divides the heads from the batch stays before the product."""
    q, k = (tensor(2, 13, 3, 16, name=one) for one in "qk")
    rows = [topi.reshape(topi.transpose(one, (0, 2, 1, 3)), (6, 13, 16)) for one in (q, k)]
    declared = [q, k, topi.nn.batch_matmul(*rows)]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    assert "dlight.scheduled" in str(sch.mod)
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [None, 32])
def test_products_into_a_row_of_a_matrix(size):
    """The results have a dimension without an iterator."""

    @T.prim_func
    def known(X: T.Buffer((1, 9)), W: T.Buffer((9, 32)), B: T.Buffer((32,)), Z: T.Buffer((1, 32))):
        for j, r in T.grid(32, 9):
            with T.block("Z"):
                vj, vr = T.axis.remap("SR", [j, r])
                with T.init():
                    Z[0, vj] = B[vj]
                Z[0, vj] = Z[0, vj] + X[0, vr] * W[vr, vj]

    @T.prim_func
    def given(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        m, n = T.int64(), T.int64()
        X, W = T.match_buffer(x, (1, m)), T.match_buffer(w, (m, n))
        B, Z = T.match_buffer(b, (n,)), T.match_buffer(z, (1, n))
        for j, r in T.grid(n, m):
            with T.block("Z"):
                vj, vr = T.axis.remap("SR", [j, r])
                with T.init():
                    Z[0, vj] = B[vj]
                Z[0, vj] = Z[0, vj] + X[0, vr] * W[vr, vj]

    sch = dlight.cpu.Default().apply(given if size is None else known, LLVM, False)
    x, w, b = (np.random.default_rng(0).random(n, "float32") for n in ((1, 9), (9, 32), (32,)))
    out = np.empty((1, 32), "float32")
    te_sched.build(sch.mod, target="llvm")(x, w, b, out)
    np.testing.assert_allclose(out, x @ w + b, rtol=1e-5)


def test_convolutions_of_unknown_length_are_tiled():
    """Their rows cannot be padded: several iterators are in one index."""
    n = te.var("n", "int64")
    x, w = te.placeholder((2, 8, n), name="x"), tensor(32, 8, 3, name="W")
    declared = [x, w, topi.nn.relu(topi.nn.conv1d_ncw(x, w, 1, 1, 1))]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    assert "dlight.scheduled" in str(sch.mod)
    numbers = np.random.default_rng(0)
    a, b = numbers.random((2, 8, 11), "float32"), numbers.random((32, 8, 3), "float32")
    out = np.empty((2, 32, 11), "float32")
    te_sched.build(sch.mod)(a, b, out)
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=2)
    np.testing.assert_allclose(out, np.einsum("ncth,fch->nft", windows, b), rtol=1e-5)


def test_turned_filters_that_are_constant_are_packed_at_once():
    """Those of a transposed convolution are not copied first, so that packing them is no work."""
    x, w = tensor(1, 8, 5, 5), tensor(8, 16, 4, 4, name="W")
    declared = [x, w, topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0))]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func.with_attr("layout_free_buffers", [1]), LLVM, False)
    packing = sch.get(sch.get_block("W_global"))
    assert [one.buffer.name for one in packing.reads] == ["W"]
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("filters", [24, 40, 112])
def test_convolutions_of_one_element_are_products(filters):
    declared = convolution(1, 8, 10, filters, 1)
    func = te.create_prim_func(declared, index_dtype_override="int64")
    func = func.with_attr("layout_free_buffers", [1])
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    assert "dlight.scheduled" in str(sch.mod)
    for expected, found in zip(results(func, declared), results(sch.mod, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


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


N = te.var("n", "int64")


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("sizes", [(N, 32, 16), (24, N, 16), (N, N, 16), (N, 32, N), (1, N, 16)])
def test_products_of_unknown_sizes_are_tiled(sizes, is_transposed):
    rows, columns, depth = sizes
    a = te.placeholder((2, rows, depth), name="A")
    b = te.placeholder((2, columns, depth) if is_transposed else (2, depth, columns), name="B")
    declared = [a, b, topi.nn.relu(topi.nn.batch_matmul(a, b, transpose_b=is_transposed))]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    text = str(sch.mod)
    assert "T.vectorized" in text
    assert "dlight.scheduled" in text
    built = te_sched.build(sch.mod, target="llvm")["main"]
    for size in (0, 1, 7, 16, 50):
        shapes = [
            [size if isinstance(n, tir.Var) else int(n) for n in one.shape] for one in declared
        ]
        numbers = np.random.default_rng(1)
        x, y = (numbers.uniform(-1, 1, one).astype("float32") for one in shapes[:2])
        out = np.full(shapes[2], 7, "float32")
        built(x, y, out)
        expected = np.maximum(x @ (y.transpose(0, 2, 1) if is_transposed else y), 0)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("columns", "rows", "vectors"),
    [
        (64, 56, VectorRegisters(8, 16)),
        (64, 56, VectorRegisters(16, 32)),
        (10, 64, VectorRegisters(8, 16)),
        (24, 1, VectorRegisters(4, 16)),
    ],
)
def test_sums_of_a_tile_fit_into_registers(columns, rows, vectors):
    _, height, width = tile_of(columns, rows, vectors)
    assert columns % width == 0
    assert rows % height == 0
    assert height * -(-width // vectors.lanes) <= vectors.registers - 4


@pytest.mark.parametrize("columns", [24, 25, 50, 56, 100])
@pytest.mark.parametrize("vectors", [VectorRegisters(16, 32), VectorRegisters(8, 16)], ids=str)
@pytest.mark.parametrize("can_pad", [False, True])
def test_tiles_of_more_than_a_register_are_whole_registers(columns, vectors, can_pad):
    """LLVM takes others apart; they took up to seven times as long."""
    width = tile_of(columns, 8, vectors, pads_columns=can_pad).columns
    assert width <= vectors.lanes or width % vectors.lanes == 0


def test_tile_needs_columns():
    assert tile_of(127, 8, VectorRegisters(8, 16)) is None
    assert tile_of(127, 8, VectorRegisters(8, 16), pads_columns=True).columns % 8 == 0


def test_rows_without_divisors_are_padded():
    vectors = VectorRegisters(16, 32)
    assert tile_of(64, 197, vectors).rows == 1
    assert tile_of(64, 197, vectors, pads_rows=True).rows > 4
    assert tile_of(64, 196, vectors, pads_rows=True) == tile_of(64, 196, vectors)
    assert tile_of(64, 1, vectors, pads_rows=True).rows == 1


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


def test_the_pass_leaves_scheduled_functions_alone():
    module = te_sched.IRModule({"main": te.create_prim_func(product(8, 8, 8))})
    with LLVM:
        once = dlight.ApplyDefaultSchedule(dlight.cpu.Default())(module)
        twice = dlight.ApplyDefaultSchedule(dlight.cpu.Default())(once)
    assert once["main"].attrs["tir.is_scheduled"] == 1
    assert once["main"].attrs["global_symbol"] == "main"
    assert twice is once
    assert "tir.is_scheduled" not in module["main"].attrs


def test_a_function_that_no_rule_knows_stays():
    class Nothing(dlight.ScheduleRule):
        def apply(self, func, target, tunable):
            return None

    module = te_sched.IRModule({"main": te.create_prim_func(product(8, 8, 8))})
    with LLVM:
        assert dlight.ApplyDefaultSchedule(Nothing())(module) is module
    with Target("cuda"):
        assert (
            dlight.ApplyDefaultSchedule(dlight.cpu.Default(), dlight.cpu.Fallback())(module)
            is module
        )


def test_fallback_is_one_rule_of_several():
    declared = product(8, 8, 8)
    func = te.create_prim_func(declared)
    module = te_sched.IRModule({"main": func})
    with LLVM:
        made = dlight.ApplyDefaultSchedule(dlight.cpu.Fallback())(module)
    for expected, found in zip(results(func, declared), results(made, declared), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_pass_rejects():
    with pytest.raises(ScheduleError, match="3 is not a rule"):
        dlight.ApplyDefaultSchedule(3)
    with pytest.raises(ScheduleError, match="does not know the target"):
        dlight.ApplyDefaultSchedule()(te_sched.IRModule({}))
    with pytest.raises(ScheduleError, match="does not say what it applies"):
        dlight.ScheduleRule().apply(None, None, False)


@pytest.mark.parametrize("processor", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize(("rows", "columns"), [(4, 100), (1, 33), (7, 127)])
def test_columns_of_constants_are_padded_to_whole_registers(rows, columns, processor):
    """No width of a tile that fills registers divides them."""
    a, b = te.placeholder((rows, 40), name="A"), te.placeholder((40, columns), name="B")
    bias = te.placeholder((columns,), name="C")
    out = topi.nn.relu(topi.add(topi.nn.matmul(a, b), bias))
    func = te.create_prim_func([a, b, bias, out]).with_attr("layout_free_buffers", [1])
    target = Target(f"llvm -mcpu={processor}")
    sch = dlight.cpu.Default().apply(func, target, False)
    width = tile_of(columns, rows, vectors_of(target), pads_columns=True, pads_rows=True).columns
    assert f"{-(-columns // width)}, 40, {width}" in str(sch.mod)
    numbers = np.random.default_rng(1)
    shapes = [(rows, 40), (40, columns), (columns,)]
    x, y, z = (numbers.uniform(-1, 1, shape).astype("float32") for shape in shapes)
    found = te_sched.nd.empty((rows, columns))
    given = [te_sched.nd.array(one) for one in (x, y, z)]
    te_sched.build(sch.mod, target="llvm")["main"](*given, found)
    np.testing.assert_allclose(found.numpy(), np.maximum(x @ y + z, 0), rtol=1e-5, atol=1e-5)


def test_vectors_of_three_registers_are_three_vectors():
    """LLVM would widen a vector of 24 elements to 32."""
    a, b = te.placeholder((4, 16), name="A"), te.placeholder((16, 96), name="B")
    func = te.create_prim_func([a, b, topi.nn.matmul(a, b)])
    sch = dlight.cpu.Default().apply(func, te_sched.target.Target("llvm -mcpu=haswell"), False)
    assert "T.vectorized(24)" not in str(sch.mod)


def test_rows_of_a_tile_come_from_several_lines():
    """14 has no divisors but 7 that a tile can have; 4 are 2 of each of 2 lines."""
    assert in_lines(4, 14, 14) == (2, 2)
    assert in_lines(4, 28, 28) == (1, 4)
    assert in_lines(4, 7, 7) is None
    assert tile_of(16, 14, VectorRegisters(8, 16), lines=14) == (2, 2, 16)


def test_convolution_of_small_images_has_tiles_of_several_lines():
    declared = convolution(1, 4, 14, 16, 3)
    func = te.create_prim_func(declared).with_attr("layout_free_buffers", [1])
    sch = dlight.cpu.Default().apply(func, Target("llvm -mcpu=haswell"), False)
    assert str(sch.mod).count("T.unroll(2)") == 5  # of sums, their start, and one of the results
    numbers = np.random.default_rng(1)
    arrays = [
        numbers.uniform(-1, 1, [int(size) for size in one.shape]).astype("float32")
        for one in declared[:2]
    ]
    results = []
    for module in (te_sched.IRModule({"main": func}), sch.mod):
        out = te_sched.nd.empty((1, 16, 14, 14))
        given = [te_sched.nd.array(one) for one in arrays]
        te_sched.build(module, target="llvm")["main"](*given, out)
        results.append(out.numpy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)


def test_all_processors_work_on_a_convolution_of_few_channels(monkeypatch):
    """Its rows fit in the cache, and its channels in one tile."""
    monkeypatch.setattr(contraction, "usable_processors", lambda: 4)
    func = te.create_prim_func(convolution(1, 4, 64, 32, 3))
    sch = dlight.cpu.Default().apply(func, Target("llvm -mcpu=haswell"), False)
    sums = next(line for line in str(sch.mod).splitlines() if '"dlight.scheduled": 1}):' in line)
    assert "T.parallel(8," in sums
