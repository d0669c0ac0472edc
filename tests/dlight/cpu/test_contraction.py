"""Products and convolutions: tiles of sums in registers."""

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, tir, topi
from te_sched.dlight.cpu import tile_loops
from te_sched.dlight.cpu.register_tiles import tile_of
from te_sched.dlight.cpu.vectors import vectors_of
from te_sched.script import tir as T
from te_sched.target import Target
from tests.dlight.functions import LLVM, convolution, scheduled, tensor


def test_products_of_heads_of_several_sequences_are_tiled():
    """A reshape that divides the heads from the batch stays before the product."""
    q, k = (tensor(2, 13, 3, 16, name=one) for one in "qk")
    rows = [topi.reshape(topi.transpose(one, (0, 2, 1, 3)), (6, 13, 16)) for one in (q, k)]
    declared = [q, k, topi.nn.batch_matmul(*rows)]
    sch = scheduled(declared)
    assert "dlight.scheduled" in str(sch.mod)


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
    te_sched.build(sch.mod, target="llvm -opt-level=0")(x, w, b, out)
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


def test_tiles_of_unknown_length_are_numbered_without_the_batch_of_one():
    """A fused loop over it makes remainders of open sizes, which no condition is compared with."""
    n = te.var("n", "int64")
    x, w = tensor(1, 16, n, name="x"), tensor(64, 16, 5, name="w")
    y = topi.nn.relu(topi.nn.conv(x, w, [1], [2, 2], [1], 1, "NCW", "OIW"))
    func = te.create_prim_func([x, w, y], index_dtype_override="int64")
    func = func.with_attr("layout_free_buffers", [1])
    text = str(dlight.cpu.Default().apply(func, LLVM, False).mod)
    assert "for i2_0_i1_0_fused in T.parallel(" in text
    assert "% ((n" not in text


@pytest.mark.parametrize("depth", [2, 24, 64])
def test_calls_decide_whether_processors_share_products_of_open_sizes(depth):
    """How many are added for all elements is not guessed: an image may be large."""
    h, w = te.var("h", "int64"), te.var("w", "int64")
    x, filters = tensor(1, depth, h, w, name="x"), tensor(48, depth, 1, 1, name="filters")
    declared = [x, filters, topi.nn.relu(topi.nn.conv2d_nchw(x, filters, 1, 0, 1))]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    sums = [line for line in str(sch.mod).splitlines() if '"dlight.scheduled": 1' in line][-1]
    assert "T.parallel(" in sums
    assert "pragma_parallel_work" in sums
    numbers, built = np.random.default_rng(0), te_sched.build(sch.mod)["main"]
    for size in ((1, 1), (3, 7), (17, 33), (80, 81)):
        a = numbers.random((1, depth, *size), "float32")
        b = numbers.random((48, depth, 1, 1), "float32")
        out = np.empty((1, 48, *size), "float32")
        built(a, b, out)
        expected = np.maximum(np.einsum("ncyx,fc->nfyx", a, b[:, :, 0, 0]), 0)
        np.testing.assert_allclose(out, expected, rtol=1e-4)


def test_turned_filters_that_are_constant_are_packed_at_once():
    """Those of a transposed convolution are not copied first, so that packing them is no work."""
    x, w = tensor(1, 8, 5, 5), tensor(8, 16, 4, 4, name="W")
    declared = [x, w, topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0))]
    sch = scheduled(declared, constants=[1], tolerance=1e-4)
    packing = sch.get(sch.get_block("W_global"))
    assert [one.buffer.name for one in packing.reads] == ["W"]


@pytest.mark.parametrize("filters", [24, 40, 112])
def test_convolutions_of_one_element_are_products(filters):
    declared = convolution(1, 8, 10, filters, 1)
    sch = scheduled(declared, constants=[1])
    assert "dlight.scheduled" in str(sch.mod)


N = te.var("n", "int64")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
@pytest.mark.parametrize("columns", [32, 10])
def test_rows_of_unknown_number_are_read_in_place(dtype, columns):
    x, w = tensor(N, 16, dtype=dtype, name="x"), tensor(16, columns, dtype=dtype, name="w")
    declared = [x, w, topi.nn.matmul(x, w)]
    func = te.create_prim_func(declared, index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    is_of_bytes = dtype == "int8"  # which are added in groups, where a processor does that
    assert is_of_bytes or "x[T.min(v_i0, n - T.int64(1)), v_k]" in str(sch.mod)
    built = te_sched.build(sch.mod, target="llvm -opt-level=0")["main"]
    for size in (0, 1, 2, 3, 4, 5, 7, 8, 9, 33):
        numbers = np.random.default_rng(size)
        a, b = (numbers.integers(-2, 3, one).astype(dtype) for one in ((size, 16), (16, columns)))
        out = np.full((size, columns), 7, dtype)
        built(a, b, out)
        np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize(("depth", "is_along_rows"), [(16, True), (64, False)])
def test_few_products_are_added_for_neighbors_in_memory(depth, is_along_rows):
    declared = convolution(1, depth, 16, 32, 1)
    text = str(scheduled(declared, constants=[1]).mod)
    assert ("meta_schedule.layout_rewrite_preproc" in text) != is_along_rows


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
    built = te_sched.build(sch.mod, target="llvm -opt-level=0")["main"]
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
    te_sched.build(sch.mod, target="llvm -opt-level=0")["main"](*given, found)
    np.testing.assert_allclose(found.numpy(), np.maximum(x @ y + z, 0), rtol=1e-5, atol=1e-5)


def test_vectors_of_three_registers_are_three_vectors():
    """LLVM would widen a vector of 24 elements to 32."""
    a, b = te.placeholder((4, 16), name="A"), te.placeholder((16, 96), name="B")
    func = te.create_prim_func([a, b, topi.nn.matmul(a, b)])
    sch = dlight.cpu.Default().apply(func, te_sched.target.Target("llvm -mcpu=haswell"), False)
    assert "T.vectorized(24)" not in str(sch.mod)


def test_convolution_of_small_images_has_tiles_of_several_lines():
    declared = convolution(1, 16, 14, 16, 3)
    sch = scheduled(declared, Target("llvm -mcpu=haswell"), [1], 1e-2)
    unrolled = str(sch.mod).count("T.unroll(T.int64(2))")
    assert unrolled == 7  # of sums, their start, their transposition, and one of the results


def test_all_processors_work_on_a_convolution_of_few_channels(monkeypatch):
    """Its rows fit in the cache, and its channels in one tile."""
    monkeypatch.setattr(tile_loops, "usable_processors", lambda: 4)
    func = te.create_prim_func(convolution(1, 4, 64, 32, 3))
    sch = dlight.cpu.Default().apply(func, Target("llvm -mcpu=haswell"), False)
    sums = next(line for line in str(sch.mod).splitlines() if '"dlight.scheduled": 1}):' in line)
    assert "T.parallel(8," in sums


@pytest.mark.parametrize(("channels", "is_unrolled"), [(16, True), (64, False)])
def test_windows_beyond_the_registers_are_not_unrolled(channels, is_unrolled):
    """LLVM would keep the elements that rows share in registers of sums."""
    target = Target("llvm -mcpu=skylake-avx512")
    sch = scheduled(convolution(1, 4, 14, channels, 3), target, [1], tolerance=1e-3)
    assert ("llvm.loop.unroll.disable" not in str(sch.mod)) == is_unrolled


@pytest.mark.parametrize("processor", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize("shape", [(1, 4, 14, 32, 3), (2, 3, 7, 48, 1), (1, 5, 20, 64, 3)])
@pytest.mark.parametrize("relu", [True, False])
def test_rows_of_images_are_transposed_in_registers(shape, relu, processor):
    target = Target(f"llvm -mcpu={processor}")
    sch = scheduled(convolution(*shape, relu=relu), target, [1], 1e-3)
    assert "T.Shuffle" in str(sch.mod)


def test_rows_of_images_with_a_residual_are_transposed_in_registers():
    x, w, y = tensor(1, 8, 14, 14), tensor(32, 8, 3, 3, name="W"), tensor(1, 32, 14, 14, name="y")
    declared = [x, w, y, topi.nn.relu(topi.add(topi.nn.conv2d_nchw(x, w, 1, 1, 1), y))]
    sch = scheduled(declared, Target("llvm -mcpu=skylake-avx512"), [1], 1e-3)
    assert "T.Shuffle" in str(sch.mod)


def test_padded_columns_with_a_function_of_sums_are_tiled():
    """Elements of 24 of 32 columns are no vectors that an intrinsic transposes."""
    x, w = tensor(1, 8, 14, 14), tensor(24, 8, 3, 3, name="W")
    sums = topi.nn.conv2d_nchw(x, w, 1, 1, 1)
    declared = [x, w, topi.multiply(sums, topi.sigmoid(sums))]
    sch = scheduled(declared, Target("llvm -mcpu=skylake-avx512"), [1], 1e-3)
    assert "dlight.scheduled" in str(sch.mod)


@pytest.mark.parametrize("columns", [501, 503])
@pytest.mark.parametrize(("rows", "is_tiled"), [(1, False), (3, False), (4, True), (16, True)])
def test_few_rows_of_columns_that_vectors_do_not_divide(rows, is_tiled, columns):
    """Vectors had three lanes, or none at all: no larger number divides the columns."""
    a, b, k = tensor(2, rows, 24), tensor(2, 24, columns, name="B"), te.reduce_axis((0, 24), "k")
    product = te.compute(
        (2, rows, columns), lambda n, i, j: te.sum(a[n, i, k] * b[n, k, j], k), "product"
    )
    sch = scheduled([a, b, product])
    assert ("dlight.scheduled" in str(sch.mod)) == is_tiled
    if not is_tiled:
        *_, step, column = sch.get_loops("product")
        assert [int(sch.get(loop).extent) for loop in (step, column)] == [24, columns]
