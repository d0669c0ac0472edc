"""The kernels of paged caches, on tables that are written by hand."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd
from te_sched.errors import AccessError
from te_sched.relax.frontend.nn.llm.attention_kernels import (
    KernelSizes,
    append_kernel,
    attention_kernel,
)
from te_sched.relax.vm.paged_cache import RopeMode, rows_of_tile


@pytest.mark.parametrize(("query_heads", "size"), [(2, 64), (6, 7), (8, 40)])
def test_attention_reads_blocks_in_the_order_of_the_table(query_heads: int, size: int) -> None:
    rng = np.random.default_rng(0)
    sizes = KernelSizes(query_heads, 2, size, size, "float32", RopeMode.NONE)
    keys = rng.standard_normal((3, 2, size, 16)).astype("float32")
    values = rng.standard_normal((3, 2, 16, size)).astype("float32")
    queries = rng.standard_normal((2, sizes.group, size)).astype("float32")
    keys[2, :, :, 5:] = np.nan  # without tokens
    values[2, :, 5:] = np.nan
    tiles, rows = np.int32([[0, 1, 0, 2, 20]]), np.int32([[1, 0, 0, 16], [2, 16, 0, 5]])
    output = nd.empty((1, query_heads, size))
    te_sched.build(attention_kernel(sizes), target="llvm")(
        *map(nd.array, (queries, keys, values, tiles, rows)), output
    )
    read = np.concatenate([keys[1], keys[2, :, :, :5]], -1)
    weights = np.exp(np.einsum("hgd,hdt->hgt", queries, read))
    weights /= weights.sum(-1, keepdims=True)
    weighed = np.concatenate([values[1], values[2, :, :5]], 1)
    expected = np.einsum("hgt,htd->hgd", weights, weighed).reshape(1, query_heads, size)
    np.testing.assert_allclose(output.numpy(), expected, 1e-4, 1e-5)


def test_blocks_outside_of_the_pool_are_found() -> None:
    sizes = KernelSizes(1, 1, 4, 4, "float32", RopeMode.NONE)
    kernel = te_sched.build(attention_kernel(sizes), target="llvm")
    arrays = [nd.zeros((1, 1, 4)), nd.zeros((1, 1, 4, 16)), nd.zeros((1, 1, 16, 4))]
    tables = [nd.array(np.int32([[0, 1, 0, 1, 0]])), nd.array(np.int32([[1, 0, 0, 1]]))]
    with pytest.raises(AccessError, match="read keys at 1 in dimension 0"):
        kernel(*arrays, *tables, nd.empty((1, 1, 4)))


def test_tokens_are_stored_in_their_slots_and_queries_are_scaled() -> None:
    rng = np.random.default_rng(1)
    sizes = KernelSizes(2, 1, 5, 4, "float32", RopeMode.NORMAL)
    qkv = rng.standard_normal((2, 4, 5)).astype("float32")
    cosines, sines = (rng.standard_normal((2, 2)).astype("float32") for _ in range(2))
    keys, values, queries = nd.zeros((2, 1, 5, 16)), nd.zeros((2, 1, 16, 5)), nd.empty((1, 4, 5))
    slots = nd.array(np.int32([15, 16]))
    kernel = te_sched.build(append_kernel(sizes), target="llvm")
    kernel(*map(nd.array, (qkv, cosines, sines)), slots, queries, keys, values, 0.5)
    low, high, rest = np.split(qkv, [2, 4], -1)
    cos, sin = cosines[:, None], sines[:, None]
    rotated = np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], -1)
    np.testing.assert_allclose(queries.numpy()[0], rotated[:, :2].reshape(4, 5) / 2, 1e-5)
    stored = [keys.numpy()[block, 0, :, slot] for block, slot in ((0, 15), (1, 0))]
    np.testing.assert_allclose(stored, rotated[:, 2], 1e-5)
    np.testing.assert_array_equal(values.numpy()[1, 0, 0], qkv[1, 3])
    assert np.count_nonzero(keys.numpy()) == np.count_nonzero(values.numpy()) == 10


def test_a_tile_has_about_as_many_queries_for_all_groups() -> None:
    assert [rows_of_tile(group) * group for group in (1, 2, 3, 8, 20)] == [16, 16, 15, 16, 20]
