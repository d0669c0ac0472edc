"""Divided iterators: channels of groups are columns of tiles, phases are read in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.divisions import groups_of, with_divisions
from te_sched.dlight.structure import blocks_of, node_of
from te_sched.ir.stmt import PrimFunc
from te_sched.tir.schedule import Schedule
from te_sched.topi.nn.conv_transpose import conv_transpose_in_phases
from tests.topi.reference import transposed

LLVM = te_sched.target.Target("llvm")


def grouped(
    channels: tuple[int, int], groups: int, kernel: int, stride: int, dtype: str, end: Any = None
) -> PrimFunc:
    """A convolution of (2, channels, 9, 10) in groups, without padding, and what follows it."""
    into, out = channels
    data = te.placeholder((2, into, 9, 10), dtype, "data")
    weight = te.placeholder((out, into // groups, kernel, kernel), dtype, "weight")
    result = topi.nn.group_conv2d_nchw(data, weight, stride, 0, 1, groups)
    return te.create_prim_func([data, weight, result if end is None else end(result)])


def reference(data: Any, weight: Any, groups: int, stride: int) -> Any:
    kernel = weight.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(data, (kernel, kernel), (2, 3))
    windows = windows[:, :, ::stride, ::stride]
    parts = [
        np.einsum("ncyxij,fcij->nfyx", part, filters)
        for part, filters in zip(
            np.split(windows, groups, 1), np.split(weight, groups), strict=True
        )
    ]
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("channels", "groups", "kernel", "stride"),
    [
        ((32, 32), 4, 3, 1),
        ((32, 32), 8, 3, 2),
        ((24, 48), 2, 1, 1),
        ((16, 48), 16, 3, 2),
        ((6, 10), 2, 2, 1),
        ((8, 8), 8, 3, 1),
    ],
)
def test_grouped_convolutions(
    channels: tuple[int, int], groups: int, kernel: int, stride: int, dtype: str
) -> None:
    rng = np.random.default_rng(0)
    for end in (None, topi.nn.relu, lambda x: topi.nn.relu(x) * x, lambda x: topi.sum(x, 1)):
        func = grouped(channels, groups, kernel, stride, dtype, end)
        schedule: Any = dlight.cpu.Default().apply(func, LLVM, False)
        shapes = [[int(size) for size in func.buffer_map[one].shape] for one in func.params]
        data, weight = [(rng.random(one) * 9 - 4).astype(dtype) for one in shapes[:2]]
        result = np.zeros(shapes[2], dtype)
        te_sched.build(schedule.mod, "llvm -opt-level=1")(data, weight, result)
        wanted = reference(data, weight, groups, stride)
        if end is not None:
            positive = np.maximum(wanted, 0)
            is_sum = result.ndim == 3
            wanted = (
                wanted.sum(1) if is_sum else positive if end is topi.nn.relu else positive * wanted
            )
        np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-4)


def test_the_channels_of_a_group_are_the_columns_of_tiles() -> None:
    schedule: Any = dlight.cpu.Default().apply(
        grouped((32, 32), 4, 3, 2, "float32", topi.nn.relu), LLVM, False
    )
    assert "weight_global = T.alloc_buffer((4, 1, 8, 3, 3, 8))" in str(schedule.mod)


def sums(func: PrimFunc) -> Any:
    sch = Schedule(func)
    return next(node_of(sch, one) for one in blocks_of(sch) if node_of(sch, one).init is not None)


def test_groups_of_blocks() -> None:
    assert groups_of(sums(grouped((32, 32), 4, 3, 1, "float32"))) == (1, 8)
    assert groups_of(sums(grouped((8, 8), 4, 3, 2, "float32"))) == (1, 2)
    assert groups_of(sums(grouped((8, 8), 4, 3, 1, "float32"))) is None
    assert groups_of(sums(grouped((8, 8), 1, 3, 1, "float32"))) is None
    x = te.placeholder((8, 8), name="x")
    assert groups_of(sums(te.create_prim_func([x, topi.sum(x, 1)]))) is None


def test_functions_without_groups_stay() -> None:
    sch = Schedule(grouped((8, 8), 1, 3, 1, "float32"))
    assert with_divisions(sch) is sch


@pytest.mark.parametrize(("kernel", "size"), [(2, 8), (4, 8), (3, 7)])
def test_phases_are_read_in_place(kernel: int, size: int) -> None:
    """Those of 15 results are not: two do not divide them."""
    data = te.placeholder((1, 8, size, size), name="data")
    weight = te.placeholder((8, 32, kernel, kernel), name="weight")
    extra = int(kernel == 3 and size == 8)
    result = conv_transpose_in_phases(
        data, weight, 2, kernel // 2 - (kernel == 2), "float32", extra, 2
    )
    func = te.create_prim_func([data, weight, topi.nn.relu(result)])
    schedule: Any = dlight.cpu.Default().apply(func, LLVM, False)
    is_even = int(result.shape[2]) % 2 == 0
    assert ("v_i2 // 2" not in str(schedule.mod)) == is_even
    rng = np.random.default_rng(0)
    x, w = [
        rng.standard_normal(one).astype("float32")
        for one in ((1, 8, size, size), (8, 32, kernel, kernel))
    ]
    found = np.zeros([int(one) for one in result.shape], "float32")
    te_sched.build(schedule.mod, "llvm")(x, w, found)
    wanted = transposed(x, w, 2, kernel // 2 - (kernel == 2), extra)
    np.testing.assert_allclose(found, np.maximum(wanted, 0), rtol=1e-4, atol=1e-4)
