"""Paged caches against numpy: batches, forks, windows, random programs, and what is refused."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import ArgumentError, ArgumentTypeError, CallError
from te_sched.relax.vm.paged_cache import PagedAttentionCache, RopeMode
from tests.relax.vm.paged_caches import (
    HEADS,
    LAYERS,
    QUERY_HEADS,
    SIZE,
    Reference,
    check_contents,
    forward,
    machine_of,
    new_cache,
)

_ALL_HEADS = QUERY_HEADS + 2 * HEADS


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("mode", RopeMode)
def test_prefill_and_decode_of_several_sequences(mode: RopeMode, dtype: str) -> None:
    machine, reference = machine_of(mode, dtype), Reference(mode, dtype)
    cache, rng = new_cache(machine, 512), np.random.default_rng(0)
    for number in range(4):
        cache.add_sequence(number)
        reference.add(number)
    for batch in (
        [(0, 6)],
        [(1, 17), (2, 30)],
        [(3, 64)],
        [(2, 1), (0, 1), (3, 1), (1, 1)],
        [(3, 20), (0, 1)],
        [(3, 64)],
    ):
        forward(machine, cache, reference, batch, rng)
    check_contents(cache, reference)


def test_more_tokens_than_a_chunk_of_blocks() -> None:
    machine, reference = machine_of(), Reference(RopeMode.NORMAL, "float32")
    cache, rng = new_cache(machine, 400), np.random.default_rng(1)
    cache.add_sequence(0)
    reference.add(0)
    for count in (64, 64, 64, 64, 30, 1, 1):
        forward(machine, cache, reference, [(0, count)], rng)


@pytest.mark.parametrize("mode", [RopeMode.NORMAL, RopeMode.INLINE])
def test_a_part_of_a_head_is_rotated(mode: RopeMode) -> None:
    machine, reference = machine_of(mode, "float32", 8), Reference(mode, "float32", 8)
    cache, rng = new_cache(machine), np.random.default_rng(2)
    cache.add_sequence(0)
    reference.add(0)
    for count in (19, 1):
        forward(machine, cache, reference, [(0, count)], rng)
    check_contents(cache, reference)


def _random_program(seed: int, mode: RopeMode, dtype: str, page: int) -> None:
    """A random program of operations on a cache, beside numpy."""
    rng = np.random.default_rng(seed)
    machine, reference = machine_of(mode, dtype), Reference(mode, dtype)
    cache, numbers = new_cache(machine, 40 * page, page), iter(range(100))
    for _ in range(24):
        present = sorted(reference.tokens)
        operation = rng.choice(["add", "append", "decode", "decode", "fork", "pop", "remove"])
        if operation == "add" or not present:
            number = next(numbers)
            cache.add_sequence(number)
            reference.add(number)
        elif operation in ("append", "decode"):
            chosen = rng.permutation(present)[: rng.integers(1, 5)]
            counts = rng.integers(1, 14, len(chosen)) if operation == "append" else [1, 1, 1, 1]
            batch = [(int(n), int(count)) for n, count in zip(chosen, counts, strict=False)]
            if cache.tables.free_pages > sum(count for _, count in batch) // page + 2 * len(batch):
                forward(machine, cache, reference, batch, rng)
        else:
            source = int(rng.choice(present))
            length = int(rng.integers(0, len(reference.tokens[source][0]) + 1))
            if operation == "fork":
                child = next(numbers)
                is_whole = bool(rng.integers(2))
                cache.fork_sequence(source, child, -1 if is_whole else length)
                reference.keep(child, slice(None if is_whole else length), source)
            elif operation == "pop":
                kept = len(reference.tokens[source][0]) - length
                cache.pop(source, length)
                reference.keep(source, slice(kept))
            else:
                cache.remove_sequence(source)
                del reference.tokens[source]
        check_contents(cache, reference)
    for number in list(reference.tokens):
        cache.remove_sequence(number)
    assert cache.tables.free_pages == cache.tables.pages


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_equal_numpy(seed: int) -> None:
    mode, dtype = list(RopeMode)[seed % 3], ["float32", "float16"][seed % 2]
    _random_program(seed, mode, dtype, [16, 4, 20, 1][seed % 4])


@pytest.mark.parametrize("mode", [RopeMode.NONE, RopeMode.INLINE])
@pytest.mark.parametrize("page", [4, 16, 48])
def test_sliding_windows_keep_sinks_and_the_last_tokens(mode: RopeMode, page: int) -> None:
    machine, reference = machine_of(mode), Reference(mode, "float32")
    cache, rng = new_cache(machine, 8 * max(page, 32), page), np.random.default_rng(3)
    windows = {0: (20, 6), 1: (25, 0), 2: (1000, 3)}
    for number, window in windows.items():
        cache.add_sequence(number)
        cache.enable_sliding_window(number, *window)
        reference.add(number)
    batches = [[(0, 4), (1, 30), (2, 7)], [(0, 21)], *[[(1, 1), (0, 1), (2, 1)]] * 8, [(0, 9)]]
    for batch in batches:
        forward(machine, cache, reference, batch, rng)
        for number, _ in batch:
            size, sinks = windows[number]
            length = len(reference.tokens[number][0])
            if length > size:
                kept = [*range(sinks), *range(sinks + length - size, length)]
                reference.keep(number, kept)
        check_contents(cache, reference)
    cache.pop(0, 16)
    reference.keep(0, slice(4))
    cache.fork_sequence(1, 9)
    reference.keep(9, slice(None), 1)
    forward(machine, cache, reference, [(0, 3)], rng)
    check_contents(cache, reference)


def _attend(cache: PagedAttentionCache, layer: int = 0, **changes: Any) -> None:
    """Attention of a forward of 2 tokens, of zeros."""
    shape = (2, _ALL_HEADS, SIZE)
    qkv = changes.get("qkv", nd.zeros(shape))
    output = changes.get("output", nd.zeros((2, QUERY_HEADS, SIZE)))
    cache.attend(layer, 1.0, qkv, output)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda cache: _attend(cache, LAYERS),
            "(?s)layer 2 is computed.*has 2 layers.*from 0 to 1",
        ),
        (
            lambda cache: _attend(cache, qkv=nd.zeros((3, _ALL_HEADS, SIZE))),
            r"qkv has shape \(3, 10, 12\) and dtype float32, expected \(2, 10, 12\) and float32",
        ),
        (
            lambda cache: _attend(cache, qkv=nd.zeros((2, _ALL_HEADS, SIZE), "float16")),
            "qkv has shape .* and dtype float16, expected .* and float32",
        ),
        (
            lambda cache: _attend(cache, output=nd.zeros((2, 3, SIZE))),
            r"the output has shape \(2, 3, 12\)",
        ),
        (lambda cache: _attend(cache, qkv=[1]), "qkv is a list, expected an array"),
        (lambda cache: cache.read(0, 1, 3), "(?s)positions 1 to 3 of sequence 0.*has 2 tokens"),
    ],
)
def test_wrong_attention_is_refused(
    use: Callable[[PagedAttentionCache], None], message: str
) -> None:
    cache = new_cache(machine_of())
    cache.add_sequence(0)
    cache.begin_forward([0], [2])
    with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
        use(cache)
    _attend(cache)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (([0, 5], [1, 1]), "has no sequence 5"),
        (([0, 0], [1, 1]), r"sequences \(0, 0\) get \(1, 1\) tokens"),
        (([0], [0]), r"sequences \(0,\) get \(0,\) tokens"),
        (([0, 1], [1]), "2 sequences and 1 length"),
        (([0], [65]), "(?s)has 65 tokens.*prefill_chunk_size=64"),
        (([0, 1, 2], [1, 1, 1]), "(?s)has 3 sequences.*max_batch_size=2"),
        (([0, 1], [17, 16]), "has 2 free pages, and 33 tokens need 3"),
    ],
)
def test_wrong_batches_are_refused_and_change_nothing(
    batch: tuple[list[int], list[int]], message: str
) -> None:
    cache = new_cache(machine_of(), 32, 16, 2)
    for number in range(3):
        cache.add_sequence(number)
    with pytest.raises(CallError, match=message):
        cache.begin_forward(*batch)
    assert (cache.tables.tokens, cache.tables.free_pages) == (0, 2)
    cache.begin_forward([0, 1], [16, 16])


@pytest.mark.parametrize(
    "use",
    [
        lambda cache: cache.begin_forward([0], [1]),
        lambda cache: cache.add_sequence(1),
        lambda cache: cache.remove_sequence(0),
        lambda cache: cache.fork_sequence(0, 1),
        lambda cache: cache.pop(0, 1),
        lambda cache: cache.enable_sliding_window(0, 4, 0),
    ],
)
def test_a_forward_ends_before_sequences_change(
    use: Callable[[PagedAttentionCache], None],
) -> None:
    cache = new_cache(machine_of(RopeMode.NONE))
    cache.add_sequence(0)
    cache.begin_forward([0], [2])
    with pytest.raises(CallError, match=r"(?s)during a forward.*end it first"):
        use(cache)
    cache.end_forward()
    use(cache)


def test_a_forward_begins_before_attention() -> None:
    cache = new_cache(machine_of())
    for use in (_attend, PagedAttentionCache.end_forward, PagedAttentionCache.query_positions):
        with pytest.raises(CallError, match=r"(?s)outside of a forward.*kv_state_begin_forward"):
            use(cache)


def test_windows_are_refused_where_keys_have_fixed_positions() -> None:
    cache = new_cache(machine_of(RopeMode.NORMAL))
    cache.add_sequence(0)
    with pytest.raises(CallError, match=r"(?s)no sliding windows.*rotated to fixed positions"):
        cache.enable_sliding_window(0, 8, 0)
    cache = new_cache(machine_of(RopeMode.NONE))
    cache.add_sequence(0)
    with pytest.raises(ArgumentError, match="window of 8 tokens has 8 sinks"):
        cache.enable_sliding_window(0, 8, 8)


def test_caches_of_machines_are_used_by_several_threads() -> None:
    def generate(seed: int) -> None:
        machine, reference = machine_of(), Reference(RopeMode.NORMAL, "float32")
        cache, rng = new_cache(machine), np.random.default_rng(seed)
        for number in range(2):
            cache.add_sequence(number)
            reference.add(number)
        for count in (30, *[1] * 10):
            forward(machine, cache, reference, [(0, count), (1, 1)], rng)
        check_contents(cache, reference)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(generate, range(4)))


def test_caches_of_two_machines_are_apart_and_go_when_they_are_dropped() -> None:
    machines = [machine_of(), machine_of()]
    caches = [new_cache(machine) for machine in machines]
    references = [Reference(RopeMode.NORMAL, "float32") for _ in machines]
    rng = np.random.default_rng(5)
    for cache, reference in zip(caches, references, strict=True):
        cache.add_sequence(0)
        reference.add(0)
    for count in (5, 1, 20):
        for parts in zip(machines, caches, references, strict=True):
            forward(*parts, [(0, count)], rng)
    for cache, reference in zip(caches, references, strict=True):
        check_contents(cache, reference)
    gc.disable()
    try:
        alive = weakref.ref(caches[0])
        del cache, parts
        caches.clear()
        assert alive() is None
    finally:
        gc.enable()
