"""The order of loops over tiles: what stays in the cache, and what processors share."""

import re

import pytest

from te_sched import dlight, te
from te_sched.dlight.cpu import tile_loops
from te_sched.target import Target
from tests.dlight.functions import convolution, product, scheduled

WIDE = Target("llvm -mcpu=skylake-avx512")


def loops_of_sums(declared, processors, monkeypatch, tolerance=1e-3):
    """The extent of the parallel loop over tiles, and the loops inside."""
    monkeypatch.setattr(tile_loops, "usable_processors", lambda: processors)
    lines = str(scheduled(declared, WIDE, [1], tolerance).mod).splitlines()
    at = next(at for at, line in enumerate(lines) if '"dlight.scheduled": 1}' in line)
    inside = re.findall(r"T\.int64\((\d+)\)", lines[at + 1].partition(" in ")[2])
    return int(re.findall(r"T\.int64\((\d+)\)", lines[at])[0]), [int(one) for one in inside]


def test_rows_pass_by_panels_of_large_weights(monkeypatch):
    """Weights of 2.4 MB and an image of 0.26 MB: each processor reads half of the weights."""
    parts, inside = loops_of_sums(convolution(1, 256, 14, 256, 3), 2, monkeypatch, 0.1)
    assert parts == 8  # panels of 32 channels
    assert inside == [1, 7, 2, 1]  # images, lines in two loops, rows of a tile


def test_panels_pass_by_rows_of_small_weights(monkeypatch):
    parts, inside = loops_of_sums(convolution(1, 64, 56, 64, 3), 2, monkeypatch, 0.1)
    assert parts == 14
    assert inside[0] == 8  # lines


@pytest.mark.parametrize("processors", [2, 3, 4, 8])
@pytest.mark.parametrize("lines", [14, 28, 24])
def test_processors_share_parts_evenly(lines, processors, monkeypatch):
    parts, _ = loops_of_sums(convolution(1, 64, lines, 64, 3), processors, monkeypatch, 0.1)
    longest = -(-parts // processors) * processors
    assert parts >= processors
    assert longest <= 1.2 * parts


def test_products_of_few_rows_are_shared_by_panels(monkeypatch):
    parts, _ = loops_of_sums(product(8, 1024, 64), 4, monkeypatch)
    assert parts % 4 == 0


@pytest.mark.parametrize(
    ("columns", "depth", "are_rows"), [(320, 64, True), (256, 64, False), (320, 1024, False)]
)
def test_rows_of_open_number_are_shared_where_panels_are_not_even(
    columns, depth, are_rows, monkeypatch
):
    """Five panels of 64 columns are three for one of two processors; large ones stay in a cache."""
    monkeypatch.setattr(tile_loops, "usable_processors", lambda: 2)
    declared = product(te.var("n", "int64"), columns, depth)
    func = te.create_prim_func(declared, index_dtype_override="int64")
    func = func.with_attr("layout_free_buffers", [1])
    text = str(dlight.cpu.Default().apply(func, WIDE, False).mod)
    sums = next(line for line in text.splitlines() if '"dlight.scheduled": 1, "pragma' in line)
    extent = sums.partition("T.parallel(")[2].partition(", annotations")[0]
    assert ("//" in extent) == are_rows
