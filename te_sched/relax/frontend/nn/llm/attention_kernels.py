"""The kernels of a paged cache: storing tokens in pages, and attention over the pages.

    keys     [blocks, heads, head_dim, BLOCK]   the tokens of a block are a vector
    values   [blocks, heads, BLOCK, head_dim]
    queries  [heads, tokens * group, head_dim]  rotated and scaled, in float32

The attention of a tile of queries reads its sequence in chunks of blocks: scores of a chunk, their
softmax with the greatest score so far (online softmax, Milakov and Gimelshein 2018), and the sum of
values. Must not know which pages belong to whom: tables say it (`relax.vm.page_tables`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce

from te_sched.ir import builder, intrinsics, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.builder import BufferVar, IRBuilder
from te_sched.ir.expr import Buffer, Expr, Var
from te_sched.ir.stmt import PrimFunc
from te_sched.relax.vm.page_tables import BLOCK, ROW
from te_sched.relax.vm.paged_cache import RopeMode, rows_of_tile

_CHUNK = 16  # blocks of a chunk
_ROTATED_CHUNK = 4  # blocks of a chunk whose keys are rotated first
_VECTORS = 4  # queries that are multiplied with a block at once
_WIDTH = 32  # elements of a value that are summed up at once
_TILE_COLUMNS = 5
_LEAST = -math.inf


@dataclass(frozen=True, slots=True)
class KernelSizes:
    """The sizes that kernels are compiled for."""

    query_heads: int
    heads: int
    head_dim: int
    rotary_dim: int
    dtype: str
    rope_mode: RopeMode

    @property
    def group(self) -> int:
        """The heads of queries that share a head of keys."""
        return self.query_heads // self.heads

    @property
    def waves(self) -> int:
        """The number of angles of a token; 0 without rotation."""
        return 0 if self.rope_mode == RopeMode.NONE else self.rotary_dim // 2

    def pages(self) -> tuple[Buffer, Buffer]:
        """The keys and the values of a layer."""
        blocks = Var("blocks", "int32")
        keys = decl_buffer((blocks, self.heads, self.head_dim, BLOCK), self.dtype, "keys")
        values = decl_buffer((blocks, self.heads, BLOCK, self.head_dim), self.dtype, "values")
        return keys, values

    def queries(self, tokens: Var) -> Buffer:
        """The queries of a forward."""
        shape = (self.heads, tokens * self.group, self.head_dim)
        return decl_buffer(shape, "float32", "queries")


def _function(ib: IRBuilder, buffers: Sequence[Buffer], numbers: Sequence[Var] = ()) -> PrimFunc:
    handles = [Var(f"{buffer.name}_handle", "handle") for buffer in buffers]
    return PrimFunc(
        [*handles, *numbers],
        ib.get(),
        buffer_map=dict(zip(handles, buffers, strict=True)),
        attrs={"tir.noalias": True, "tir.is_scheduled": True},
    )


def _number(value: float) -> Expr:
    return ops.const(value, "float32")


@contextmanager
def _vector(ib: IRBuilder, extent: int) -> Iterator[Var]:
    """A vectorized loop."""
    with ib.for_range(0, extent, name="lane", kind="vectorize") as lane:
        yield lane


# Storing tokens


def append_kernel(sizes: KernelSizes) -> PrimFunc:
    """The function that rotates and scales queries, and stores keys and values in their slots:

    (qkv, [cosines, sines,] slots, queries, keys, values, scale)
    """
    ib, tokens, scale = builder.create(), Var("tokens", "int32"), Var("scale", "float32")
    all_heads = sizes.query_heads + 2 * sizes.heads
    qkv = decl_buffer((tokens, all_heads, sizes.head_dim), sizes.dtype, "qkv")
    waves = [
        decl_buffer((tokens, sizes.waves), "float32", name)
        for name in ("cosines", "sines")
        if sizes.waves
    ]
    slots = decl_buffer((tokens,), "int32", "slots")
    queries, (keys, values) = sizes.queries(tokens), sizes.pages()
    source, target = ib.buffer_ptr(qkv), ib.buffer_ptr(queries)
    rotating = _Rotation(ib, source, [ib.buffer_ptr(wave) for wave in waves], sizes)
    with ib.for_range(0, tokens, name="token") as token:
        with ib.for_range(0, sizes.query_heads, name="head") as head:
            row = token * sizes.group + head % sizes.group

            def store_query(element: Expr, value: Expr) -> None:
                target[head // sizes.group, row, element] = value * scale

            rotating.write(token, head, bool(waves), store_query)
        slot = ib.let("slot", ib.buffer_ptr(slots)[token])
        _store_page(ib, sizes, rotating, token, slot, (keys, values))
    return _function(ib, [qkv, *waves, slots, queries, keys, values], [scale])


def _store_page(
    ib: IRBuilder,
    sizes: KernelSizes,
    rotating: _Rotation,
    token: Var,
    slot: Var,
    pages: tuple[Buffer, Buffer],
) -> None:
    """Store the keys and values of a token."""
    keys, values = map(ib.buffer_ptr, pages)
    block, offset = ib.let("block", slot // BLOCK), ib.let("place", slot % BLOCK)
    with ib.for_range(0, sizes.heads, name="head") as head:

        def store_key(element: Expr, value: Expr) -> None:
            keys[block, head, element, offset] = value.astype(sizes.dtype)

        is_rotated = sizes.rope_mode == RopeMode.NORMAL
        rotating.write(token, head + sizes.query_heads, is_rotated, store_key)
        with _vector(ib, sizes.head_dim) as element:
            value = rotating.source[token, head + sizes.query_heads + sizes.heads, element]
            values[block, head, offset, element] = value


@dataclass(frozen=True, slots=True)
class _Rotation:
    """Rotates pairs of elements of a vector by the angles of a token: an element of the first half
    with one of the second.
    """

    ib: IRBuilder
    source: BufferVar
    waves: list[BufferVar]
    sizes: KernelSizes

    def write(
        self, token: Expr, head: Expr, is_rotated: bool, store: Callable[[Expr, Expr], None]
    ) -> None:
        """Store the elements of a head, as float32."""
        half = self.sizes.waves if is_rotated else 0
        if half:
            cosines, sines = self.waves
            with _vector(self.ib, half) as lane:
                low = self.source[token, head, lane].astype("float32")
                high = self.source[token, head, lane + half].astype("float32")
                cosine, sine = cosines[token, lane], sines[token, lane]
                store(lane, low * cosine - high * sine)
                store(lane + half, high * cosine + low * sine)
        if 2 * half < self.sizes.head_dim:
            with _vector(self.ib, self.sizes.head_dim - 2 * half) as lane:
                value = self.source[token, head, lane + 2 * half]
                store(lane + 2 * half, value.astype("float32"))


# Attention


def attention_kernel(sizes: KernelSizes) -> PrimFunc:
    """The function of attention: (queries, keys, values, tiles, rows, [cosines, sines,] output).

    A tile has its first token, the number of tokens, the first row of the table and the one after
    the last, and the position of the first token.
    """
    ib, tokens = builder.create(), Var("tokens", "int32")
    queries, (keys, values) = sizes.queries(tokens), sizes.pages()
    tiles = decl_buffer((Var("tiles", "int32"), _TILE_COLUMNS), "int32", "tile_table")
    rows = decl_buffer((Var("rows", "int32"), ROW), "int32", "row_table")
    length = Var("length", "int32")
    names = ("cosines", "sines") if sizes.rope_mode == RopeMode.INLINE else ()
    waves = [decl_buffer((sizes.waves, length), "float32", name) for name in names]
    output = decl_buffer((tokens, sizes.query_heads, sizes.head_dim), sizes.dtype, "output")
    buffers = [queries, keys, values, tiles, rows, *waves, output]
    pointers = [ib.buffer_ptr(buffer) for buffer in buffers]
    work = tiles.shape[0] * sizes.heads
    with ib.for_range(0, work, name="work", kind="parallel") as number:
        _Tile(ib, sizes, number, pointers).write()
    return _function(ib, buffers)


class _Tile:
    """The attention of a tile of queries, for a head of keys: statements of its loops."""

    def __init__(
        self, ib: IRBuilder, sizes: KernelSizes, number: Var, pointers: Sequence[BufferVar]
    ) -> None:
        self.ib, self.sizes = ib, sizes
        self.queries, self.keys, self.values, tiles, self.rows, *self.waves = pointers[:-1]
        self.output = pointers[-1]
        self.tile = ib.let("tile", number // sizes.heads)
        self.head = ib.let("head", number % sizes.heads)
        most = rows_of_tile(sizes.group)
        self.vectors = most * sizes.group  # the most queries of a tile
        count = ops.maximum(ops.minimum(tiles[self.tile, 1], most), 0)
        self.first = ib.let("first", tiles[self.tile, 0])
        self.count = ib.let("count", count * sizes.group)
        self.begin = ib.let("begin", tiles[self.tile, 2])
        self.end = ib.let("end", tiles[self.tile, 3])
        self.position = ib.let("position", tiles[self.tile, 4])
        self.chunk = _ROTATED_CHUNK if self.waves else _CHUNK
        self.scores = self._memory("scores", self.vectors, self.chunk, BLOCK)
        self.sums = self._memory("sums", self.vectors, sizes.head_dim)
        self.greatest = self._memory("greatest", self.vectors)
        self.total = self._memory("total", self.vectors)
        if self.waves:
            self.rotated = self._memory("rotated", self.chunk, sizes.head_dim, BLOCK)

    def _memory(self, name: str, *shape: int) -> BufferVar:
        return self.ib.allocate("float32", shape, name, scope="local")

    def write(self) -> None:
        """Emit the loops."""
        ib = self.ib
        with ib.for_range(0, self.count, name="query") as query:
            self.greatest[query], self.total[query] = _number(_LEAST), _number(0)
            with _vector(ib, self.sizes.head_dim) as lane:
                self.sums[query, lane] = _number(0)
        chunks = (self.end - self.begin + self.chunk - 1) // self.chunk
        with ib.for_range(0, chunks, name="chunk") as chunk:
            first = ib.let("first_row", self.begin + chunk * self.chunk)
            blocks = ib.let("blocks_of_chunk", ops.minimum(self.end - first, self.chunk))
            if self.waves:
                self._rotate_keys(first, blocks)
            self._by_vectors(lambda query, many: self._score(query, many, first, blocks))
            with ib.for_range(0, self.count, name="query") as query:
                self._weigh(query, blocks)
            self._by_vectors(lambda query, many: self._add_values(query, many, first, blocks))
        with ib.for_range(0, self.count, name="query") as query:
            token = self.first + query // self.sizes.group
            head = self.head * self.sizes.group + query % self.sizes.group
            with _vector(ib, self.sizes.head_dim) as lane:
                value = self.sums[query, lane] / self.total[query]
                self.output[token, head, lane] = value.astype(self.sizes.dtype)

    def _by_vectors(self, write: Callable[[Expr, int], None]) -> None:
        """Emit statements for several queries at once, and for those that are left."""
        many = _VECTORS
        with self.ib.for_range(0, self.count // many, name="queries") as number:
            write(number * many, many)
        with self.ib.for_range(0, self.count % many, name="query") as number:
            write(self.count // many * many + number, 1)

    def _rotate_keys(self, first: Var, blocks: Var) -> None:
        ib, half = self.ib, self.sizes.waves
        cosines, sines = self.waves
        with ib.for_range(0, blocks, name="block") as block_index:
            block = ib.let("block", self.rows[first + block_index, 0])
            start = ib.let("start", ops.maximum(self.rows[first + block_index, 1] + BLOCK, 0))
            with ib.for_range(0, half, name="pair") as pair, _vector(ib, BLOCK) as lane:
                low = self.keys[block, self.head, pair, lane].astype("float32")
                high = self.keys[block, self.head, pair + half, lane].astype("float32")
                cosine, sine = cosines[pair, start + lane], sines[pair, start + lane]
                self.rotated[block_index, pair, lane] = low * cosine - high * sine
                self.rotated[block_index, pair + half, lane] = high * cosine + low * sine
            rest = self.sizes.head_dim - 2 * half
            if rest:
                with ib.for_range(0, rest, name="element") as element, _vector(ib, BLOCK) as lane:
                    key = self.keys[block, self.head, element + 2 * half, lane]
                    self.rotated[block_index, element + 2 * half, lane] = key.astype("float32")

    def _score(self, query: Expr, many: int, first: Var, blocks: Var) -> None:
        """The products of queries and the keys of each block, -inf for those that are hidden."""
        ib, size = self.ib, self.sizes.head_dim
        parts = 1 if many > 1 else math.gcd(size, _VECTORS)  # sums that do not wait for each other
        with ib.for_range(0, blocks, name="block") as block_index:
            block = ib.let("block", self.rows[first + block_index, 0])
            sums = self._memory("products", many * parts, BLOCK)
            for number in range(many * parts):
                with _vector(ib, BLOCK) as lane:
                    sums[number, lane] = _number(0)
            row = self.first * self.sizes.group + query
            with ib.for_range(0, size // parts, name="element") as element:
                for number in range(many * parts):
                    at = element * parts + number % parts
                    with _vector(ib, BLOCK) as lane:
                        key = self._key(block_index, block, at, lane)
                        product = self.queries[self.head, row + number // parts, at] * key
                        sums[number, lane] = sums[number, lane] + product
            for number in range(many):
                position = self.position + (query + number) // self.sizes.group
                with _vector(ib, BLOCK) as lane:
                    terms = [sums[number * parts + part, lane] for part in range(parts)]
                    score = reduce(ops.add, terms, _number(0))
                    is_visible = self._is_visible(first + block_index, lane, position)
                    masked = intrinsics.select(is_visible, score, _number(_LEAST))
                    self.scores[query + number, block_index, lane] = masked

    def _key(self, block_index: Var, block: Var, element: Expr, lane: Var) -> Expr:
        if self.waves:
            return self.rotated[block_index, element, lane]
        return self.keys[block, self.head, element, lane].astype("float32")

    def _is_visible(self, row: Expr, lane: Var, position: Expr) -> Expr:
        """Whether a slot has a token that is not after a position."""
        is_token = ops.logical_and(lane >= self.rows[row, 2], lane < self.rows[row, 3])
        return ops.logical_and(is_token, self.rows[row, 1] + lane <= position)

    def _weigh(self, query: Var, blocks: Var) -> None:
        """Turn scores into weights, and scale the sums so far to the new greatest score."""
        ib = self.ib
        lanes, number = self._memory("lanes", BLOCK), self._memory("number", 2)
        with _vector(ib, BLOCK) as lane:
            lanes[lane] = _number(_LEAST)
        with ib.for_range(0, blocks, name="block") as block_index, _vector(ib, BLOCK) as lane:
            lanes[lane] = ops.maximum(lanes[lane], self.scores[query, block_index, lane])
        number[0] = self.greatest[query]
        with ib.for_range(0, BLOCK, name="lane") as lane:
            number[0] = ops.maximum(number[0], lanes[lane])
        with _vector(ib, BLOCK) as lane:
            lanes[lane] = _number(0)
        with ib.for_range(0, blocks, name="block") as block_index, _vector(ib, BLOCK) as lane:
            weight = intrinsics.exp(self.scores[query, block_index, lane] - number[0])
            self.scores[query, block_index, lane] = weight
            lanes[lane] = lanes[lane] + self.scores[query, block_index, lane]
        number[1] = intrinsics.exp(self.greatest[query] - number[0])
        self.greatest[query] = number[0]
        self.total[query] = self.total[query] * number[1]
        with ib.for_range(0, BLOCK, name="lane") as lane:
            self.total[query] = self.total[query] + lanes[lane]
        with _vector(ib, self.sizes.head_dim) as lane:
            self.sums[query, lane] = self.sums[query, lane] * number[1]

    def _add_values(self, query: Expr, many: int, first: Var, blocks: Var) -> None:
        """Add up values by their weights, in parts that fit into registers."""
        ib, width = self.ib, math.gcd(self.sizes.head_dim, _WIDTH)
        with ib.for_range(0, self.sizes.head_dim // width, name="part") as part:
            sums = self._memory("parts", many, width)
            for number in range(many):
                with _vector(ib, width) as lane:
                    sums[number, lane] = self.sums[query + number, part * width + lane]
            with ib.for_range(0, blocks, name="block") as block_index:
                row = first + block_index
                block = ib.let("block", self.rows[row, 0])
                low = ib.let("low", ops.maximum(self.rows[row, 2], 0))
                high = ib.let("high", ops.minimum(self.rows[row, 3], BLOCK))
                with ib.for_range(low, high, name="slot") as slot:
                    for number in range(many):
                        with _vector(ib, width) as lane:
                            value = self.values[block, self.head, slot, part * width + lane]
                            weight = self.scores[query + number, block_index, slot]
                            term = weight * value.astype("float32")
                            sums[number, lane] = sums[number, lane] + term
            for number in range(many):
                with _vector(ib, width) as lane:
                    self.sums[query + number, part * width + lane] = sums[number, lane]
