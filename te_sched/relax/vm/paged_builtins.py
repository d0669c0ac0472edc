"""Functions of executables and of their users for paged caches (`PagedAttentionCache`), with TVM's
names, as "vm.builtin.kv_state_add_sequence". Must not know how caches work.
"""

from __future__ import annotations

from typing import SupportsFloat, cast

import numpy as np

from te_sched.errors import ArgumentError, ArgumentTypeError, CallError, counted, kind_of, repr_of
from te_sched.relax.vm.builtins import as_value
from te_sched.relax.vm.bytecode import ShapeTuple, VmFunction
from te_sched.relax.vm.paged_cache import CacheSizes, PagedAttentionCache, RopeMode
from te_sched.runtime import registry
from te_sched.runtime.ndarray import NDArray

Cache = PagedAttentionCache

_CREATE = "vm.builtin.paged_attention_kv_cache_create"
# Its capacity, its shape, the rope mode, frequencies, a dtype and two kernels.
_Settings = tuple[ShapeTuple, ShapeTuple, int, NDArray, str, VmFunction, VmFunction]
_SETTINGS = 7


def _create(*args: object) -> Cache:
    """A cache."""
    if len(args) != _SETTINGS:
        raise CallError(
            f"{_CREATE} is called with {counted(len(args), 'argument')}, expected {_SETTINGS}",
            "te_sched has kernels of its own for paged caches, two of them",
            "make the cache in a model: relax.frontend.nn.llm.kv_cache.TIRPagedKVCache",
        )
    capacity, shape, mode, frequencies, dtype, append, attention = cast(_Settings, args)
    batch, total, chunk, page, has_windows = [int(size) for size in capacity]
    layers, query_heads, heads, head_dim = [int(size) for size in shape]
    if min(batch, total, chunk, page) < 1:
        raise ArgumentError(
            f"a cache is made with the sizes {(batch, total, chunk, page)}",
            "they are max_batch_size, max_total_seq_len, prefill_chunk_size and page_size",
            "give sizes of 1 or more",
        )
    sizes = CacheSizes(
        max_batch_size=batch,
        max_total_seq_len=total,
        prefill_chunk_size=chunk,
        page_size=page,
        layers=layers,
        query_heads=query_heads,
        heads=heads,
        head_dim=head_dim,
        dtype=str(dtype),
        rope_mode=RopeMode(mode),
        has_windows=bool(has_windows),
    )
    return Cache(sizes, frequencies.numpy(), append, attention)


def _cache_in(value: object) -> Cache:
    if not isinstance(value, Cache):
        raise ArgumentTypeError(
            f"the cache is {kind_of(value)}, expected a paged cache",
            "functions vm.builtin.kv_state_* take what a TIRPagedKVCache is when the model runs",
            "pass the value of the function of the model that makes the cache",
        )
    return value


def _number(value: object, name: str) -> int:
    if type(value) is int:
        return value
    if isinstance(value, np.integer):
        return int(value)
    raise ArgumentTypeError(
        f"{name} is {repr_of(value)}, expected an int", f"it is {kind_of(value)}", "pass an int"
    )


def _numbers(values: object, name: str) -> list[int]:
    if isinstance(values, tuple | list):
        return [_number(value, f"an element of {name}") for value in values]
    raise ArgumentTypeError(
        f"{name} is {kind_of(values)}, expected a ShapeTuple",
        "there is a number for each sequence of a forward",
        "pass relax.vm.ShapeTuple(numbers)",
    )


def _add_sequence(cache: object, sequence_id: object) -> None:
    _cache_in(cache).add_sequence(_number(sequence_id, "the sequence"))


def _remove_sequence(cache: object, sequence_id: object) -> None:
    _cache_in(cache).remove_sequence(_number(sequence_id, "the sequence"))


def _fork_sequence(cache: object, parent: object, child: object, position: object = -1) -> None:
    _cache_in(cache).fork_sequence(
        _number(parent, "the parent"),
        _number(child, "the child"),
        _number(position, "the position"),
    )


def _popn(cache: object, sequence_id: object, count: object) -> None:
    _cache_in(cache).pop(_number(sequence_id, "the sequence"), _number(count, "the count"))


def _clear(cache: object) -> None:
    _cache_in(cache).clear()


def _begin_forward(
    cache: object, sequence_ids: object, counts: object, tree: object = None
) -> None:
    if tree is not None:
        raise CallError(
            "a forward has a tree of tokens",
            "te_sched appends tokens to sequences one after the other",
            "leave the tree out, and fork a sequence for each branch",
        )
    numbers = _numbers(sequence_ids, "the sequences"), _numbers(counts, "the lengths")
    _cache_in(cache).begin_forward(*numbers)


def _end_forward(cache: object) -> None:
    _cache_in(cache).end_forward()


def _enable_window(cache: object, sequence_id: object, size: object, sinks: object) -> None:
    _cache_in(cache).enable_sliding_window(
        _number(sequence_id, "the sequence"), _number(size, "the size"), _number(sinks, "the sinks")
    )


def _attend(
    cache: object, layer: object, scale: SupportsFloat, qkv: object, output: object
) -> None:
    number = _number(layer, "the layer")
    _cache_in(cache).attend(number, float(scale), as_value(qkv), as_value(output))


def _query_positions(cache: object) -> NDArray:
    return _cache_in(cache).query_positions()


def _debug_get_kv(
    cache: object, sequence_id: object, begin: object, end: object, keys: NDArray, values: NDArray
) -> None:
    """Copy the keys and values of a sequence into arrays [layers, tokens, heads, head_dim]."""
    span = [_number(value, "a position") for value in (sequence_id, begin, end)]
    for source, target in zip(_cache_in(cache).read(*span), (keys, values), strict=True):
        source.copyto(target)


def _is_empty(cache: object) -> bool:
    tables = _cache_in(cache).tables
    return not tables.sequences and tables.free_pages == tables.pages


def _free_pages(cache: object) -> int:
    return _cache_in(cache).tables.free_pages


def _tokens(cache: object) -> int:
    return _cache_in(cache).tables.tokens


_OF_STATES, _OF_CACHES = "vm.builtin.kv_state_", "vm.builtin.attention_kv_cache_"

PAGED_BUILTINS: dict[str, VmFunction] = {
    _CREATE: _create,
    f"{_OF_STATES}add_sequence": _add_sequence,
    f"{_OF_STATES}remove_sequence": _remove_sequence,
    f"{_OF_STATES}fork_sequence": _fork_sequence,
    f"{_OF_STATES}popn": _popn,
    f"{_OF_STATES}clear": _clear,
    f"{_OF_STATES}begin_forward": _begin_forward,
    f"{_OF_STATES}end_forward": _end_forward,
    f"{_OF_CACHES}attention_with_fused_qkv": _attend,
    f"{_OF_CACHES}enable_sliding_window_for_seq": _enable_window,
    f"{_OF_CACHES}get_query_positions": _query_positions,
    f"{_OF_CACHES}debug_get_kv": _debug_get_kv,
    f"{_OF_CACHES}empty": _is_empty,
    f"{_OF_CACHES}get_num_available_pages": _free_pages,
    f"{_OF_CACHES}get_total_sequence_length": _tokens,
}
registry.bring(PAGED_BUILTINS)
