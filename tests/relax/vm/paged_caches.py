"""Paged caches of small models, beside numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from te_sched.relax.vm import ShapeTuple
from te_sched.relax.vm.paged_cache import PagedAttentionCache

LAYERS, QUERY_HEADS, HEADS, SIZE = 2, 6, 2, 12
Array = npt.NDArray[Any]


class CacheModel(nn.Module):
    """Attention of all layers on the same tensor."""

    def __init__(self, mode: RopeMode, dtype: str, rotary_dim: int) -> None:
        self.mode, self.dtype, self.rotary_dim = mode, dtype, rotary_dim

    def run(self, qkv: nn.Tensor, cache: PagedKVCache) -> object:
        outputs = [
            cache.attention_with_fused_qkv(layer, qkv, QUERY_HEADS, 1.0 + layer)
            for layer in range(LAYERS)
        ]
        return (*outputs, cache.get_query_positions(qkv.shape[1]), cache)

    def create(self, batch: Any, total: Any, chunk: Any, page: Any) -> PagedKVCache:
        return TIRPagedKVCache(
            max_batch_size=batch,
            max_total_seq_len=total,
            prefill_chunk_size=chunk,
            page_size=page,
            support_sliding_window=1,
            num_hidden_layers=LAYERS,
            num_attention_heads=QUERY_HEADS,
            num_key_value_heads=HEADS,
            head_dim=SIZE,
            rotary_dim=self.rotary_dim,
            rope_mode=self.mode,
            dtype=self.dtype,
        )


@cache
def executable(mode: RopeMode, dtype: str, rotary_dim: int) -> Any:
    """The model, built."""
    plain = {"param_mode": "none", "effect_mode": "none"}
    qkv = nn.spec.Tensor([1, "n", QUERY_HEADS + 2 * HEADS, SIZE], dtype)
    model = CacheModel(mode, dtype, rotary_dim)
    module, _ = model.export_tvm(
        {
            "run": {"qkv": qkv, "cache": nn.spec.Object(PagedKVCache), "$": plain},
            "create": {**dict.fromkeys(("batch", "total", "chunk", "page"), int), "$": plain},
        }
    )
    return relax.build(module, "llvm")


def machine_of(
    mode: RopeMode = RopeMode.NORMAL, dtype: str = "float32", rotary_dim: int = SIZE
) -> relax.VirtualMachine:
    """A machine of the model."""
    return relax.VirtualMachine(executable(mode, dtype, rotary_dim), te_sched.cpu())


def new_cache(
    machine: relax.VirtualMachine, total: int = 256, page: int = 16, batch: int = 8
) -> PagedAttentionCache:
    """An empty cache of a machine."""
    sizes = [ShapeTuple([size]) for size in (batch, total, 64, page)]
    made: PagedAttentionCache = machine["create"](*sizes)
    return made


class Reference:
    """The same cache in numpy: all tokens of each sequence, and its window."""

    def __init__(self, mode: RopeMode, dtype: str, rotary_dim: int = SIZE) -> None:
        self.mode, self.dtype, self.rotary_dim = mode, dtype, rotary_dim
        self.tokens: dict[int, tuple[Array, Array]] = {}  # keys as they are stored, and values

    def add(self, number: int) -> None:
        """A sequence without tokens."""
        empty = np.zeros((0, HEADS, SIZE), self.dtype)
        self.tokens[number] = empty, empty

    def keep(self, number: int, kept: Any, source: int | None = None) -> None:
        """The tokens of a sequence, or of another one, that an index selects."""
        keys, values = self.tokens[number if source is None else source]
        self.tokens[number] = keys[kept], values[kept]

    def rotated(self, x: Array, begin: int) -> Array:
        """Vectors of positions from one on, rotated."""
        half = self.rotary_dim // 2
        powers = -np.arange(0, self.rotary_dim, 2) / self.rotary_dim
        angles = (begin + np.arange(len(x)))[:, None, None] * 10000.0**powers
        low, high, rest = np.split(x.astype("float32"), [half, 2 * half], -1)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin, rest], -1)

    def attention(self, number: int, qkv: Array, factor: float) -> Array:
        """The attention of new tokens, which are appended."""
        queries, keys, values = np.split(qkv, [QUERY_HEADS, QUERY_HEADS + HEADS], 1)
        old = self.tokens[number]
        begin = len(old[0])
        if self.mode != RopeMode.NONE:
            queries = self.rotated(queries, begin)
        if self.mode == RopeMode.NORMAL:
            keys = self.rotated(keys, begin).astype(self.dtype)
        all_keys, all_values = np.concatenate([old[0], keys]), np.concatenate([old[1], values])
        self.tokens[number] = all_keys, all_values
        read = self.rotated(all_keys, 0) if self.mode == RopeMode.INLINE else all_keys
        read, weighed = (np.repeat(x, QUERY_HEADS // HEADS, 1) for x in (read, all_values))
        scores = np.einsum("ihd,jhd->hij", queries.astype("float32"), read.astype("float32"))
        positions = np.arange(len(read))
        hidden = positions > begin + np.arange(len(qkv))[:, None]
        scores = np.where(hidden, -np.inf, scores * factor * SIZE**-0.5)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return np.einsum("hij,jhd->ihd", weights, weighed.astype("float32"))


def forward(
    machine: relax.VirtualMachine,
    cache: PagedAttentionCache,
    reference: Reference,
    batch: Sequence[tuple[int, int]],
    rng: np.random.Generator,
) -> None:
    """Append tokens to sequences, and compare the attention of all layers with numpy."""
    dtype = reference.dtype
    total = sum(count for _, count in batch)
    qkv = rng.standard_normal((total, QUERY_HEADS + 2 * HEADS, SIZE)).astype(dtype)
    cache.begin_forward(*map(list, zip(*batch, strict=True)))
    *outputs, positions, same = machine["run"](nd.array(qkv[None]), cache)
    cache.end_forward()
    assert same is cache
    begins = {number: len(reference.tokens[number][0]) for number, _ in batch}
    expected = [np.arange(begins[number], begins[number] + count) for number, count in batch]
    np.testing.assert_array_equal(positions.numpy(), np.concatenate(expected))
    token = 0
    tolerance = 1e-5 if dtype == "float32" else 4e-3
    for number, count in batch:
        before = reference.tokens[number]
        for layer, output in enumerate(outputs):
            reference.tokens[number] = before
            rows = slice(token, token + count)
            wanted = reference.attention(number, qkv[rows], 1.0 + layer)
            np.testing.assert_allclose(output.numpy()[0, rows], wanted, tolerance, tolerance)
        token += count


def check_contents(cache: PagedAttentionCache, reference: Reference) -> None:
    """Compare the keys and values of all sequences with numpy, and count the pages."""
    assert sorted(cache.tables.sequences) == sorted(reference.tokens)
    tolerance = 1e-5 if reference.dtype == "float32" else 2e-3
    pages: set[int] = set()
    for number, expected in reference.tokens.items():
        arrays = cache.read(number, 0, len(expected[0]))
        for array, values in zip(arrays, expected, strict=True):
            assert array.shape == (LAYERS, *values.shape)
            for layer in array.numpy():
                np.testing.assert_allclose(layer, values, tolerance, tolerance)
        pages.update(span.page for span in cache.tables[number].spans)
    assert cache.tables.free_pages == cache.tables.pages - len(pages)
