"""Windows over open sizes: padded programs have tiles without guards, and the same results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.windows import with_padded_windows
from te_sched.driver import functions_for_processor
from te_sched.ir.blocks import Block
from te_sched.ir.stmt import PrimFunc

LLVM = te_sched.target.Target("llvm")
torch = pytest.importorskip("torch")


def convolution(
    rank: int,
    channels: tuple[int, int],
    stride: int = 1,
    padding: int = 0,
    kernel: int = 3,
    *,
    groups: int = 1,
    dilation: int = 1,
    has_rest: bool = True,
    index_dtype: str | None = None,
    sizes: Sequence[Any] | None = None,
) -> PrimFunc:
    """A convolution of open or given `sizes`, with a bias and a ReLU after it."""
    if sizes is None:
        sizes = [te.var(name, "int64") for name in "nhw"[: rank + 1]]
    x = te.placeholder((sizes[0], channels[0], *sizes[1:]), name="x")
    w = te.placeholder((channels[1], channels[0] // groups, *[kernel] * rank), name="w")
    pads = [padding] * (2 * rank)
    layouts = ("NCW", "OIW") if rank == 1 else ("NCHW", "OIHW")
    y = topi.nn.conv(x, w, [stride] * rank, pads, [dilation] * rank, groups, *layouts)
    if not has_rest:
        return te.create_prim_func([x, w, y])
    b = te.placeholder((1, channels[1], *[1] * rank), name="b")
    declared = [x, w, b, topi.nn.relu(topi.add(y, b))]
    return te.create_prim_func(declared, index_dtype_override=index_dtype)


def scheduled(func: PrimFunc) -> te_sched.tir.Schedule:
    schedule: Any = dlight.cpu.Default().apply(func, LLVM, False)
    return schedule


def check(func: PrimFunc, shapes: list[tuple[int, ...]], **options: Any) -> None:
    """Compare with torch, for some shapes of the input."""
    module = te_sched.build(scheduled(func).mod, "llvm -opt-level=0")
    numbers = np.random.default_rng(0)
    buffers = [func.buffer_map[param] for param in func.params]
    weight = numbers.standard_normal([int(size.value) for size in buffers[1].shape]).astype(
        "float32"
    )
    for shape in shapes:
        x = numbers.standard_normal(shape).astype("float32")
        run = torch.conv1d if len(shape) == 3 else torch.conv2d
        expected = run(torch.tensor(x), torch.tensor(weight), **options).numpy()
        args = [x, weight]
        if len(buffers) == 4:
            bias = numbers.standard_normal([int(size.value) for size in buffers[2].shape])
            args.append(bias.astype("float32"))
            expected = np.maximum(expected + args[-1], 0)
        result = np.full(expected.shape, np.nan, "float32")
        module(*args, result)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("has_rest", [True, False])
@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0), (2, 1)])
def test_convolutions_of_open_sizes(stride: int, padding: int, has_rest: bool) -> None:
    func = convolution(2, (5, 32), stride, padding, has_rest=has_rest)
    shapes = [(1, 5, 8, 8), (2, 5, 3, 3), (1, 5, 7, 19), (0, 5, 8, 8), (3, 5, 12, 33)]
    check(func, shapes, stride=stride, padding=padding)


def test_convolutions_of_sequences() -> None:
    func = convolution(1, (3, 64), 5, 0, 10)
    check(func, [(1, 3, 10), (1, 3, 11), (2, 3, 47), (1, 3, 400)], stride=5)
    func = convolution(1, (8, 48), 1, 2, dilation=2)
    check(func, [(1, 8, 1), (1, 8, 6), (3, 8, 31)], padding=2, dilation=2)


def test_windows_that_skip_elements() -> None:
    check(convolution(2, (16, 32), 2, 0, 1), [(1, 16, 1, 1), (2, 16, 6, 9)], stride=2)


def test_convolutions_of_groups_and_of_single_channels() -> None:
    func = convolution(2, (16, 32), 1, 1, groups=4)
    check(func, [(1, 16, 5, 5), (2, 16, 9, 18)], padding=1, groups=4)
    func = convolution(2, (16, 16), 1, 1, groups=16)
    check(func, [(1, 16, 5, 5), (2, 16, 9, 18), (1, 16, 1, 1)], padding=1, groups=16)
    func = convolution(2, (16, 16), 2, 2, 3, groups=16, dilation=2, has_rest=False)
    options = {"stride": 2, "padding": 2, "dilation": 2, "groups": 16}
    check(func, [(1, 16, 1, 40), (2, 16, 17, 3), (1, 16, 33, 31)], **options)


def rows(block: Block) -> Mapping[int, int]:
    """Four results of the last iterator of a convolution."""
    return {3: 4} if block.name_hint.startswith("conv2d") else {}


def test_what_windows_read_gets_its_size_from_the_results() -> None:
    func = with_padded_windows(convolution(2, (5, 32), 2, 1), rows)
    text = str(func)
    assert (
        "pad_temp_pad = T.alloc_buffer((n, 5, (h - T.int64(1)) // T.int64(2) * T.int64(2) + T."
        in text
    )
    assert "conv2d_nchw_pad = T.alloc_buffer(" in text
    result = te_sched.build(func, "llvm -opt-level=0")
    x, w = np.ones((1, 5, 4, 6), "float32"), np.ones((32, 5, 3, 3), "float32")
    y = np.zeros((1, 32, 2, 3), "float32")
    result(x, w, np.zeros((1, 32, 1, 1), "float32"), y)
    assert y[0, 0].tolist() == [[20, 30, 30], [30, 45, 45]]


def test_sums_over_what_other_blocks_read_too_stay_as_they_are() -> None:
    n = te.var("n", "int64")
    x = te.placeholder((1, 3, n, n), name="x")
    w = te.placeholder((16, 3, 3, 3), name="w")
    y = topi.nn.conv2d_nchw(x, w, 1, 1, 1)
    func = te.create_prim_func([x, w, y.op.input_tensors[0], y])  # a result, too
    assert with_padded_windows(func, rows) is func


def test_tiles_of_windows_have_no_guards() -> None:
    text = str(scheduled(convolution(2, (16, 32), 2, 1)).mod)
    update = text.split('with T.block("conv2d_nchw_update")')[1].split("T.reads")[0]
    assert "T.where" not in update


@pytest.mark.not_read_back("its sizes are those of calls")
@pytest.mark.parametrize("padding", [1, 2])
def test_tiles_of_single_channels_are_stored_with_masks(padding: int) -> None:
    """Their columns are the last loop; with windows of 5, tiles are three vectors wide."""
    kernel = 2 * padding + 1
    func = convolution(2, (16, 16), 1, padding, kernel, groups=16, index_dtype="int64")
    shapes = [(1, 16, 7, 70), (2, 16, 8, 64), (1, 16, 2, 15), (1, 16, 3, 16), (1, 16, 1, 17)]
    check(func, shapes, padding=padding, groups=16)
    assert "dlight.scheduled" in str(scheduled(func).mod)
    (lowered,) = functions_for_processor(scheduled(func).mod, None, LLVM).values()
    stores = [line for line in str(lowered).splitlines() if "T.max(" in line]
    assert stores
    assert all("get_active_lane_mask" in line for line in stores)


def test_few_channels_are_added_along_rows_without_copies() -> None:
    func = convolution(2, (16, 32), kernel=1, index_dtype="int64")
    check(func, [(1, 16, 3, size) for size in (1, 2, 3, 31, 32, 33, 100)])
    text = str(scheduled(func).mod)
    assert "_pad = T.alloc_buffer" not in text.replace("conv2d_nchw_rows_pad", "")
    assert "T.if_then_else(v_yy < h * w_1, x_rows[v_nn, v_rc, v_yy], T.float32(0))" in text


@pytest.mark.parametrize("has_rest", [True, False])
@pytest.mark.parametrize(
    ("channels", "groups", "kernel", "stride", "padding", "sizes"),
    [
        ((1, 402), 1, 40, 16, 0, (1, 640)),
        ((2, 67), 1, 7, 3, 0, (2, 100)),
        ((4, 19), 1, 3, 1, 1, (1, 31)),
        ((5, 37), 1, 3, 2, 1, (1, 13, 23)),
        ((48, 48), 2, 3, 1, 1, (1, 7, 11)),
        ((3, 2), 1, 3, 2, 0, (1, 3, 5)),
        ((17, 33), 1, 1, 2, 0, (2, 9, 13)),
    ],
)
def test_columns_that_no_tile_divides(
    channels: tuple[int, int],
    groups: int,
    kernel: int,
    stride: int,
    padding: int,
    sizes: tuple[int, ...],
    has_rest: bool,
) -> None:
    func = convolution(
        len(sizes) - 1,
        *(channels, stride, padding, kernel),
        groups=groups,
        has_rest=has_rest,
        sizes=sizes,
    )
    shape = sizes[0], channels[0], *sizes[1:]
    check(func, [shape], stride=stride, padding=padding, groups=groups)


@pytest.mark.parametrize("has_rest", [True, False])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "sizes"),
    [(3, 2, 1, (1, 14, 14)), (5, 3, 2, (2, 9, 17)), (7, 4, 0, (1, 15, 40)), (3, 5, 1, (1, 16, 9))],
)
def test_windows_of_single_channels_that_skip_elements(
    kernel: int, stride: int, padding: int, sizes: tuple[int, ...], has_rest: bool
) -> None:
    func = convolution(2, (8, 8), stride, padding, kernel, groups=8, has_rest=has_rest, sizes=sizes)
    check(func, [(sizes[0], 8, *sizes[1:])], stride=stride, padding=padding, groups=8)
    if stride <= 4:
        assert "_local" in str(scheduled(func).mod)  # tiles of sums in registers


def test_columns_are_padded_where_their_divisors_do_not_fill_vectors() -> None:
    narrow = convolution(1, (1, 402), 160, 0, 400, sizes=(1, 16000))
    wide = convolution(1, (1, 400), 160, 0, 400, sizes=(1, 16000))
    assert "T.alloc_buffer((13, 1, 400, 32)" in str(scheduled(narrow).mod)
    assert "T.alloc_buffer((25, 1, 400, 16)" in str(scheduled(wide).mod)


def test_rows_beyond_the_last_one_read_it_again() -> None:
    func = convolution(2, (320, 32), kernel=1, index_dtype="int64")
    check(func, [(1, 320, 3, size) for size in (1, 2, 3, 4, 5, 30)])
    assert "x_rows[v_nn, v_rc, T.min(v_yy, h * w_1 - T.int64(1))]" in str(scheduled(func).mod)


@pytest.mark.parametrize("groups", [1, 16])
def test_lower_takes_what_build_takes(groups: int) -> None:
    """A hint on a vectorized loop must not cut it into loops of open extents."""
    func = convolution(2, (16, 16), padding=1, groups=groups, index_dtype="int64")
    assert "T.int64(16)" in str(te_sched.lower(scheduled(func).mod))


@pytest.mark.not_read_back("its sizes are those of calls")
def test_whole_tiles_of_rows_are_stored_in_vectors() -> None:
    """Each row of a tile has several results of one channel: only the last ones have guards."""
    func = convolution(2, (16, 32), padding=1, index_dtype="int64")
    (lowered,) = functions_for_processor(scheduled(func).mod, None, LLVM).values()
    stores = [line.split(" = ")[0] for line in str(lowered).splitlines() if " = T.max(" in line]
    assert [":" in store for store in stores] == [*[True] * 32, False]


def test_poolings_over_one_element_of_open_rows() -> None:
    sizes = [te.var(name, "int64") for name in "hw"]
    x = te.placeholder((1, 3, *sizes), name="x")
    pooled = topi.nn.pool2d(x, [1, 1], [2, 2], [1, 1], [0, 0, 0, 0], "max")
    module = te_sched.build(scheduled(te.create_prim_func([x, topi.nn.relu(pooled)])).mod)
    for shape in ((1, 3, 4, 9), (1, 3, 1, 1), (1, 3, 3, 40)):
        data = np.random.default_rng(0).standard_normal(shape).astype("float32")
        expected = np.maximum(data[:, :, ::2, ::2], 0)
        result = np.zeros(expected.shape, "float32")
        module(data, result)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("channels", "kernel", "padding", "sizes", "vectors"),
    [
        ((16, 32), 3, 1, (1, 37, 37), "T.vectorized(T.int64(32))"),
        ((3, 32), 3, 0, (1, 31, 300), "T.vectorized(T.int64(32))"),
        ((16, 37), 3, 1, (1, 12, 16), "T.vectorized(T.int64(16))"),
    ],
)
def test_prime_extents_of_windows_have_tiles(
    channels: tuple[int, int], kernel: int, padding: int, sizes: tuple[int, ...], vectors: str
) -> None:
    """Rows are padded, and channels to whole vectors; columns that none divides are channels."""
    func = convolution(
        2, channels, padding=padding, kernel=kernel, sizes=sizes, index_dtype="int64"
    )
    check(func, [(sizes[0], channels[0], *sizes[1:])], padding=padding)
    text = str(scheduled(func).mod)
    assert vectors in text
    unrolled = [int(one) for one in re.findall(r"T.unroll\(T.int64\((\d+)\)\)", text)]
    assert max(unrolled) > 1
