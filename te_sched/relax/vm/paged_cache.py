"""A cache of the keys and values of many sequences, in pages of one pool, with attention.

A call of a model is a forward: `begin_forward` says how many tokens each sequence gets, `attend`
keeps the new keys and values of a layer and computes its attention, `end_forward` ends it. Two
kernels of the executable compute: one rotates queries and keys, and stores keys and values in
pages; the other is the attention of tiles of queries over the pages of their sequence. Must not
know how kernels are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from te_sched.errors import ArgumentError, ArgumentTypeError, CallError, counted, kind_of
from te_sched.relax.vm.bytecode import VmFunction
from te_sched.relax.vm.page_tables import BLOCK, PageTables, Window
from te_sched.runtime.ndarray import NDArray, array, array_inside, empty

_TILE = 16  # vectors of queries that a kernel treats at once
_ALIGNED = 16  # elements of 4 bytes from one array to the next


class RopeMode(IntEnum):
    """Where positions are rotated into queries and keys: nowhere, before keys are stored, or when
    attention reads them, so that positions follow a sliding window.
    """

    NONE = 0
    NORMAL = 1
    INLINE = 2


def rows_of_tile(group: int) -> int:
    """The tokens of a tile of queries, of which `group` heads share a head of keys.

    >>> rows_of_tile(1), rows_of_tile(4), rows_of_tile(32)
    (16, 4, 1)
    """
    return max(1, _TILE // group)


@dataclass(frozen=True, slots=True)
class CacheSizes:
    """The sizes of a cache, and what it computes."""

    max_batch_size: int
    max_total_seq_len: int
    prefill_chunk_size: int
    page_size: int
    layers: int
    query_heads: int
    heads: int
    head_dim: int
    dtype: str
    rope_mode: RopeMode
    has_windows: bool = False

    @property
    def group(self) -> int:
        """The heads of queries that share a head of keys."""
        return self.query_heads // self.heads


@dataclass(frozen=True, slots=True)
class Forward:
    """What the layers of a forward have in common."""

    sequence_ids: tuple[int, ...]
    positions: npt.NDArray[np.int32]  # of each token
    slots: NDArray
    tiles: NDArray
    rows: NDArray
    waves: tuple[NDArray, ...]  # cosines and sines of the tokens
    queries: NDArray  # rotated and scaled, by head of keys


class PagedAttentionCache:
    """Keys and values of sequences, in pages.

    Parameters
    ----------
    sizes : its sizes.
    frequencies : the angles by which a token is rotated more than the one before it.
    append, attention : its kernels (`relax.frontend.nn.llm.attention_kernels`).
    """

    def __init__(
        self,
        sizes: CacheSizes,
        frequencies: npt.NDArray[np.float32],
        append: VmFunction,
        attention: VmFunction,
    ) -> None:
        self.sizes = sizes
        pages = -(-sizes.max_total_seq_len // sizes.page_size)
        self.tables = PageTables(pages, sizes.page_size)
        blocks, heads, size = pages * self.tables.blocks, sizes.heads, sizes.head_dim
        self._keys = empty((sizes.layers, blocks, heads, size, BLOCK), sizes.dtype)
        self._values = empty((sizes.layers, blocks, heads, BLOCK, size), sizes.dtype)
        self._key_layers, self._value_layers = map(_layers, (self._keys, self._values))
        self._frequencies = frequencies.astype(np.float64)
        self._append, self._attention = append, attention
        self._forward: Forward | None = None
        self._queries: NDArray | None = None
        self._waves: tuple[NDArray, ...] = ()  # by frequency and position, for keys
        self._reserve_waves(0)

    # Sequences

    def add_sequence(self, sequence_id: int) -> None:
        """Add a sequence without tokens."""
        self._refuse_forward("a sequence is added")
        self.tables.add(sequence_id)

    def remove_sequence(self, sequence_id: int) -> None:
        """Remove a sequence."""
        self._refuse_forward("a sequence is removed")
        self.tables.remove(sequence_id)

    def fork_sequence(self, parent_id: int, child_id: int, position: int = -1) -> None:
        """Add a sequence that begins as another one, up to a position, and shares its pages."""
        self._refuse_forward("a sequence is forked")
        self.tables.fork(parent_id, child_id, position)

    def pop(self, sequence_id: int, count: int) -> None:
        """Remove the last tokens of a sequence."""
        self._refuse_forward("tokens are removed")
        self.tables.pop(sequence_id, count)

    def clear(self) -> None:
        """Remove all sequences, and end a forward."""
        self._forward = None
        self.tables.clear()

    def enable_sliding_window(self, sequence_id: int, size: int, sinks: int) -> None:
        """Keep the first `sinks` tokens of a sequence, and the last ones up to `size` in all."""
        self._refuse_forward("a sliding window is enabled")
        if not self.sizes.has_windows or self.sizes.rope_mode == RopeMode.NORMAL:
            is_normal = self.sizes.rope_mode == RopeMode.NORMAL
            raise CallError(
                "the cache has no sliding windows",
                "it stores keys that are rotated to fixed positions"
                if is_normal
                else "it was made with support_sliding_window=0",
                "make it with rope_mode=RopeMode.INLINE or NONE, and support_sliding_window=1",
            )
        if not 0 <= sinks < size:
            raise ArgumentError(
                f"a sliding window of {counted(size, 'token')} has {sinks} sinks",
                "sinks are the first tokens of it",
                "give a number of sinks from 0 to before the size of the window",
            )
        self.tables[sequence_id].window = Window(size, sinks)

    # Forwards

    def begin_forward(self, sequence_ids: Sequence[int], counts: Sequence[int]) -> None:
        """Append tokens to sequences; the rows of the layers' tensors are these tokens, sequence
        by sequence.
        """
        self._refuse_forward("a forward begins")
        self._check_batch(sequence_ids, counts)
        begins = [self.tables[sequence_id].length for sequence_id in sequence_ids]
        for copy in self.tables.append(sequence_ids, counts):
            self._copy_page(copy.source, copy.target)
        ends = [begin + count for begin, count in zip(begins, counts, strict=True)]
        spans = list(zip(sequence_ids, begins, ends, strict=True))
        slots = [self.tables.slots(*span) for span in spans]
        positions = np.concatenate([np.arange(*span[1:], dtype=np.int32) for span in spans])
        rows = [self.tables.rows(sequence_id) for sequence_id in sequence_ids]
        tiles = np.array(self._tiles(spans), np.int32)
        tables = _packed([np.concatenate(slots), tiles, np.concatenate(rows)], "int32")
        self._reserve_waves(max(ends))
        self._forward = Forward(
            sequence_ids=tuple(sequence_ids),
            positions=positions,
            slots=tables[0],
            tiles=tables[1],
            rows=tables[2],
            waves=tuple(_packed(self._waves_of(positions), "float32")),
            queries=self._queries_for(len(positions)),
        )

    def end_forward(self) -> None:
        """End a forward: sequences slide along their windows."""
        for sequence_id in self._current("a forward ends").sequence_ids:
            self.tables.slide(sequence_id)
        self._forward = None

    def attend(self, layer: int, scale: float, qkv: object, output: object) -> None:
        """Store the keys and values of a layer, and write its attention.

        Parameters
        ----------
        scale : scores are multiplied by scale / sqrt(head_dim).
        qkv : [tokens, heads of queries, of keys and of values, head_dim].
        output : [tokens, heads of queries, head_dim].
        """
        forward, sizes = self._current(f"attention of layer {layer} is computed"), self.sizes
        self._check_layer(layer)
        total, size = len(forward.positions), sizes.head_dim
        all_heads = sizes.query_heads + 2 * sizes.heads
        _check_array("qkv", qkv, (total, all_heads, size), sizes.dtype)
        _check_array("the output", output, (total, sizes.query_heads, size), sizes.dtype)
        keys, values = self._key_layers[layer], self._value_layers[layer]
        factor = scale * sizes.head_dim**-0.5
        self._append(qkv, *forward.waves, forward.slots, forward.queries, keys, values, factor)
        pages = (keys, values, forward.tiles, forward.rows, *self._waves)
        self._attention(forward.queries, *pages, output)

    def query_positions(self) -> NDArray:
        """The position of each token of a forward in its sequence."""
        return array(self._current("positions are read").positions)

    def read(self, sequence_id: int, begin: int, end: int) -> tuple[NDArray, NDArray]:
        """Copies of the keys and values of a sequence, from a position to before another one, as
        they are stored: [layers, tokens, heads, head_dim].
        """
        length = self.tables[sequence_id].length
        if not 0 <= begin <= end <= length:
            raise ArgumentError(
                f"positions {begin} to {end} of sequence {sequence_id} are read",
                f"it has {counted(length, 'token')}",
                "give positions from 0 to the number of tokens",
            )
        slots = self.tables.slots(sequence_id, begin, end)
        blocks, places = slots // BLOCK, slots % BLOCK
        keys = np.stack([pages._array[blocks, :, :, places] for pages in self._key_layers])
        values = np.stack([pages._array[blocks, :, places] for pages in self._value_layers])
        return array(keys, dtype=self.sizes.dtype), array(values, dtype=self.sizes.dtype)

    def _tiles(self, spans: Sequence[tuple[int, int, int]]) -> list[tuple[int, ...]]:
        """For each tile the first token and the number of tokens, the first row of the table and
        the one after the last, and the position of the first token.
        """
        tiles: list[tuple[int, ...]] = []
        size, token, row = rows_of_tile(self.sizes.group), 0, 0
        for sequence_id, begin, end in spans:
            rows = self.tables.rows(sequence_id)
            for position in range(begin, end, size):
                count, used = min(size, end - position), len(rows)
                if position + count < end:  # later rows are hidden from these tokens
                    starts = np.where(rows[:, 2] < rows[:, 3], rows[:, 1] + rows[:, 2], end)
                    visible = starts < position + count
                    used = int(np.flatnonzero(visible)[-1]) + 1
                tiles.append((token, count, row, row + used, position))
                token += count
            row += len(rows)
        return tiles

    def _queries_for(self, tokens: int) -> NDArray:
        """Memory for queries: that of the last forward, if it had as many tokens."""
        sizes = self.sizes
        shape = (sizes.heads, tokens * sizes.group, sizes.head_dim)
        if self._queries is None or self._queries.shape != shape:
            self._queries = empty(shape, "float32")
        return self._queries

    def _waves_of(self, positions: npt.NDArray[np.int32]) -> list[npt.NDArray[np.float64]]:
        """The cosines and sines of the angles of tokens."""
        if self.sizes.rope_mode == RopeMode.NONE:
            return []
        angles = positions[:, None] * self._frequencies
        return [np.cos(angles), np.sin(angles)]

    def _reserve_waves(self, length: int) -> None:
        """Make the cosines and sines for keys up to a length; a block may begin before them."""
        if self.sizes.rope_mode != RopeMode.INLINE:
            return
        needed = length + 2 * BLOCK
        if self._waves and self._waves[0].shape[1] >= needed:
            return
        count = max(needed, 2 * self._waves[0].shape[1] if self._waves else 0)
        angles = self._frequencies[:, None] * (np.arange(count) - BLOCK)
        self._waves = tuple([array(wave(angles).astype(np.float32)) for wave in (np.cos, np.sin)])

    def _copy_page(self, source: int, target: int) -> None:
        count = self.tables.blocks
        for pages in (self._keys._array, self._values._array):
            blocks = pages[:, source * count : (source + 1) * count]
            pages[:, target * count : (target + 1) * count] = blocks

    # Checks

    def _current(self, use: str) -> Forward:
        if self._forward is None:
            raise CallError(
                f"{use} outside of a forward",
                "the cache knows the sequences of the tokens from the beginning of a forward on",
                "call vm.builtin.kv_state_begin_forward(cache, sequences, lengths) first",
            )
        return self._forward

    def _refuse_forward(self, use: str) -> None:
        if self._forward is not None:
            raise CallError(
                f"{use} during a forward",
                "it has begun and not ended, perhaps since the model raised an error",
                "end it first: vm.builtin.kv_state_end_forward(cache)",
            )

    def _check_batch(self, sequence_ids: Sequence[int], counts: Sequence[int]) -> None:
        sizes = self.sizes
        if len(sequence_ids) != len(counts) or not counts:
            raise ArgumentError(
                f"a forward has {counted(len(sequence_ids), 'sequence')} and "
                f"{counted(len(counts), 'length')}",
                "each sequence gets tokens",
                "give a length for each sequence, and at least one sequence",
            )
        if len(set(sequence_ids)) < len(sequence_ids) or min(counts) < 1:
            raise ArgumentError(
                f"the sequences {tuple(sequence_ids)} get {tuple(counts)} tokens",
                "a forward appends tokens to different sequences",
                "name each sequence once, with a length of 1 or more",
            )
        if len(counts) > sizes.max_batch_size:
            raise ArgumentError(
                f"a forward has {counted(len(counts), 'sequence')}",
                f"the cache was made with max_batch_size={sizes.max_batch_size}",
                "give the sequences in several forwards",
            )
        most = max(sizes.prefill_chunk_size, sizes.max_batch_size)
        if sum(counts) > most:
            raise ArgumentError(
                f"a forward has {counted(sum(counts), 'token')}",
                f"the cache was made with prefill_chunk_size={sizes.prefill_chunk_size}",
                "append the tokens in several forwards",
            )

    def _check_layer(self, layer: int) -> None:
        if not 0 <= layer < self.sizes.layers:
            raise ArgumentError(
                f"attention of layer {layer} is computed",
                f"the cache has {counted(self.sizes.layers, 'layer')}",
                f"give a number from 0 to {self.sizes.layers - 1}",
            )


def _layers(memory: NDArray) -> list[NDArray]:
    """The parts of an array along the first dimension."""
    layers, *shape = memory.shape
    size = memory._array.nbytes // layers
    return [array_inside(memory, n * size, tuple(shape), memory.dtype) for n in range(layers)]


def _packed(
    parts: Sequence[npt.NDArray[np.int32] | npt.NDArray[np.float64]], dtype: str
) -> list[NDArray]:
    """Arrays of elements of 4 bytes with some values, in one memory: it is made once."""
    offsets = np.cumsum([0, *[-(-part.size // _ALIGNED) * _ALIGNED for part in parts]]).tolist()
    memory, arrays = empty((max(offsets[-1], 1),), dtype), list[NDArray]()
    for part, offset in zip(parts, offsets, strict=False):
        arrays.append(array_inside(memory, 4 * offset, part.shape, dtype))
        arrays[-1]._array[...] = part
    return arrays


def _check_array(name: str, value: object, shape: tuple[int, ...], dtype: str) -> None:
    if not isinstance(value, NDArray):
        raise ArgumentTypeError(
            f"{name} is {kind_of(value)}, expected an array",
            f"the attention of a cache has arrays of shape {shape} and dtype {dtype}",
            "pass an array of te_sched",
        )
    if (value.shape, value.dtype) != (shape, dtype):
        raise ArgumentError(
            f"{name} has shape {tuple(value.shape)} and dtype {value.dtype}, expected {shape} "
            f"and {dtype}",
            "the first size is the number of tokens of the forward, the others are of the cache",
            "give an array of this shape and dtype",
        )
