"""Windows of single channels: rows of sums in registers."""

import re

import pytest

from te_sched import dlight, te, topi
from te_sched.dlight.cpu.channel_windows import channel_windows_of, tile_of_windows
from te_sched.dlight.cpu.vectors import VectorRegisters, vectors_of
from te_sched.dlight.structure import node_of
from te_sched.target import Target
from te_sched.tir import Schedule
from tests.dlight.functions import scheduled, tensor

WIDE, NARROW = Target("llvm -mcpu=znver4"), Target("llvm -mcpu=haswell")


def filtered(shape, kernel, stride=1, padding=0, *, multiplier=1, dtype="float32"):
    """A depthwise convolution with a bias and an activation."""
    x = te.placeholder(shape, dtype, "x")
    w = te.placeholder((shape[1] * multiplier, 1, *kernel), dtype, "w")
    b = te.placeholder((shape[1] * multiplier, *[1] * len(kernel)), dtype, "b")
    layouts = ("NCW", "OIW") if len(kernel) == 1 else ("NCHW", "OIHW")
    pads, ones = [padding] * (2 * len(kernel)), [1] * len(kernel)
    y = topi.nn.conv(x, w, [stride] * len(kernel), pads, ones, shape[1], *layouts)
    return [x, w, b, topi.nn.relu(topi.add(y, b))]


def windows_of(declared):
    sch = Schedule(te.create_prim_func(declared))
    name = next(
        one
        for one in ("group_conv2d_nchw", "conv2d_nchw", "group_conv1d_ncw", "C")
        if f'"{one}"' in str(sch.mod)
    )
    return channel_windows_of(node_of(sch, sch.get_block(name)))


def test_rows_of_a_channel_share_what_windows_read():
    windows = windows_of(filtered((1, 8, 20, 20), (3, 5), 1, 1))
    assert windows[:2] + windows[3:] == (3, 2, 3, 5)


def test_sequences_have_no_rows():
    windows = windows_of(filtered((2, 8, 100), (5,), 1, 2))
    assert windows[:2] + windows[3:] == (2, None, 1, 5)


def test_channels_that_several_filters_read_are_left():
    x, w = tensor(1, 3, 20, 32), tensor(8, 3, 3, 3, name="w")
    assert windows_of([x, w, topi.nn.conv2d_nchw(x, w, 1, 0, 1)]) is None


def test_large_windows_are_left():
    assert windows_of(filtered((1, 8, 40, 40), (9, 9), 1, 4)) is None


def test_images_without_channels_are_left():
    x, w = tensor(20, 32), tensor(3, 3, name="w")
    i, j = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 3), name="j")
    y = te.compute((18, 30), lambda a, b: te.sum(x[a + i, b + j] * w[i, j], [i, j]), name="C")
    assert windows_of([x, w, y]) is None


@pytest.mark.parametrize("vectors", [VectorRegisters(16, 32), VectorRegisters(8, 16)])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 3000), (7, 7), (13, 40), (112, 112)])
def test_tiles_fit_in_registers(rows, columns, vectors):
    height, width = tile_of_windows(rows, columns, (3, 3), vectors)
    assert height <= rows
    assert width % vectors.lanes == 0
    assert height * width // vectors.lanes < vectors.registers


def test_tiles_of_padded_windows_divide_them():
    vectors = VectorRegisters(16, 32)
    height, width = tile_of_windows(13, 40, (3, 3), vectors)
    padded = -(-13 // height) * height, -(-40 // width) * width
    tile = tile_of_windows(*padded, (3, 3), vectors, is_padded=True)
    assert (padded[0] % tile[0], padded[1] % tile[1]) == (0, 0)
    assert tile_of_windows(13, 40, (3, 3), vectors, is_padded=True) is None


@pytest.mark.parametrize("target", [WIDE, NARROW])
@pytest.mark.parametrize(
    ("shape", "kernel", "stride", "padding", "multiplier"),
    [
        ((1, 3, 13, 21), (3, 3), 1, 1, 1),
        ((2, 24, 10, 14), (3, 3), 1, 1, 1),
        ((1, 5, 17, 33), (5, 5), 2, 2, 1),
        ((1, 4, 1, 7), (1, 3), 1, 0, 2),
        ((1, 2, 150, 130), (7, 7), 1, 3, 1),
        ((2, 6, 70), (5,), 3, 2, 1),
        ((1, 16, 16, 16), (4, 2), 1, 0, 1),
    ],
)
def test_windows_are_added_in_registers(shape, kernel, stride, padding, multiplier, target):
    declared = filtered(shape, kernel, stride, padding, multiplier=multiplier)
    text = str(scheduled(declared, target).mod)
    if padding:
        widths = re.findall(r"T.vectorized\((?:T.int64\()?(\d+)", text.split("_init", 1)[1])
        assert widths
        assert not any(int(width) % vectors_of(target).lanes for width in widths)


def test_what_is_copied_for_an_iteration_fits_in_the_cache():
    """Parts of large channels, and several small ones."""
    large = str(scheduled(filtered((1, 2, 150, 130), (3, 3), 1, 1), WIDE).mod)
    small = str(scheduled(filtered((1, 64, 14, 14), (3, 3), 1, 1), WIDE).mod)
    for text, buffer in ((large, (1, 2, 152, 160)), (small, (1, 64, 16, 32))):
        assert f"pad_temp_pad = T.alloc_buffer({buffer}" in re.sub(r"T.int64\((\d+)\)", r"\1", text)
        start = text.index("dlight.scheduled")
        assert start < text.index('T.block("pad_temp")')


def test_copies_without_a_border_are_not_made():
    """Where a tile divides the results, the image is read in place."""
    text = str(scheduled(filtered((1, 8, 34, 34), (3, 3)), WIDE).mod)
    assert "pad_temp" not in text


def test_narrow_images_and_groups_are_left():
    """Copies of wider rows, or several channels that filters share, would take longer."""
    text = str(scheduled(filtered((1, 64, 7, 7), (3, 3), 1, 1), WIDE).mod)
    assert "pad_temp_pad" not in text
    x, w = tensor(1, 8, 20, 20), tensor(8, 4, 3, 3, name="w")
    groups = topi.nn.group_conv2d_nchw(x, w, 1, 1, 1, 2)
    assert windows_of([x, w, groups]) is None


@pytest.mark.parametrize("vectors", [VectorRegisters(16, 32), VectorRegisters(8, 16)])
def test_tiles_of_open_sizes_have_one_vector_of_columns(vectors):
    height, width = tile_of_windows(None, None, (3, 3), vectors)
    assert width == vectors.lanes
    assert 1 < height <= vectors.registers // 2
    assert tile_of_windows(height, width, (3, 3), vectors, is_padded=True)


def test_rows_of_open_sizes_are_copied_in_whole_vectors():
    """In the loop over channels, of which processors run some if a call has enough work."""
    text = str(scheduled_open((8, 3), 1).mod)
    start, copy = text.index("dlight.scheduled"), text.index('T.block("pad_temp")')
    assert start < copy
    assert "pragma_parallel_work" in text
    before = text[start:copy]
    assert "in T.vectorized(T.int64(16))" in before
    assert "T.where" not in text[copy : text.index("T.reads", copy)]


def scheduled_open(channels_and_kernel, padding):
    """The schedule of a depthwise convolution of images of any height and width."""
    channels, kernel = channels_and_kernel
    height, width = te.var("h", "int64"), te.var("w", "int64")
    func = te.create_prim_func(
        filtered((1, channels, height, width), (kernel, kernel), 1, padding),
        index_dtype_override="int64",
    )
    return dlight.cpu.Default().apply(func, WIDE, False)
