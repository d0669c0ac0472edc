"""Page tables: which pages of a pool have the tokens of each sequence.

A page has memory for `page_size` tokens. Sequences that were forked share pages, which are copied
when a sequence that shares them is appended to. Kernels read a table with a row for each block of
`BLOCK` tokens of a page: the number of the block, the position of its first slot in the sequence (0
without tokens), and the slots that have tokens, from one to before another. Must not know keys and
values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from te_sched.errors import ArgumentError, CallError, counted, listing

BLOCK = 16  # tokens that a kernel treats at once; a page has whole blocks of memory
ROW = 4  # the columns of a table

Table = npt.NDArray[np.int32]


def blocks_of(page_size: int) -> int:
    """The number of blocks of a page.

    >>> blocks_of(16), blocks_of(20)
    (1, 2)
    """
    return -(-page_size // BLOCK)


@dataclass(slots=True)
class Span:
    """Tokens in consecutive slots of a page."""

    page: int
    first: int
    count: int


class Window(NamedTuple):
    """A sliding window: how many tokens are kept, of which the first `sinks` stay."""

    size: int
    sinks: int


class PageCopy(NamedTuple):
    """A page whose tokens are copied into another one."""

    source: int
    target: int


@dataclass(slots=True)
class PagedSequence:
    """The pages of a sequence, and its table."""

    spans: list[Span] = field(default_factory=list)
    length: int = 0
    window: Window | None = None
    rows: Table = field(default_factory=lambda: np.zeros((0, ROW), np.int32))

    def end(self) -> int:
        """The slot after the last token, in its page; 0 without tokens."""
        return self.spans[-1].first + self.spans[-1].count if self.spans else 0


class PageTables:
    """The sequences that share a pool of pages.

    >>> tables = PageTables(8, 16)
    >>> tables.add(0)
    >>> tables.append([0], [20])
    []
    >>> tables.fork(0, 1)
    >>> tables.append([1], [1]), tables.free_pages
    ([PageCopy(source=1, target=2)], 5)
    """

    def __init__(self, pages: int, page_size: int) -> None:
        self.page_size, self.blocks = page_size, blocks_of(page_size)
        self.sequences: dict[int, PagedSequence] = {}
        self._uses = [0] * pages  # the spans of each page
        self._free = list(range(pages - 1, -1, -1))

    @property
    def pages(self) -> int:
        """The number of pages of the pool."""
        return len(self._uses)

    @property
    def free_pages(self) -> int:
        """The number of pages without tokens."""
        return len(self._free)

    @property
    def tokens(self) -> int:
        """The tokens of all sequences; those that several share count for each."""
        return sum([sequence.length for sequence in self.sequences.values()])

    def __getitem__(self, sequence_id: int) -> PagedSequence:
        sequence = self.sequences.get(sequence_id)
        if sequence is None:
            raise ArgumentError(
                f"the cache has no sequence {sequence_id}",
                f"its sequences are {listing([str(n) for n in sorted(self.sequences)]) or 'none'}",
                "add it first: vm.builtin.kv_state_add_sequence(cache, sequence)",
            )
        return sequence

    # Sequences

    def add(self, sequence_id: int) -> None:
        """Add a sequence without tokens."""
        self._check_new(sequence_id)
        self.sequences[sequence_id] = PagedSequence()

    def remove(self, sequence_id: int) -> None:
        """Remove a sequence; pages that no other one shares become free."""
        for span in self[sequence_id].spans:
            self._release(span.page)
        del self.sequences[sequence_id]

    def clear(self) -> None:
        """Remove all sequences."""
        for sequence_id in list(self.sequences):
            self.remove(sequence_id)

    def fork(self, parent_id: int, child_id: int, position: int = -1) -> None:
        """Add a sequence that begins with the tokens of another one before a position, of which it
        shares the pages; -1 takes all tokens.
        """
        parent = self[parent_id]
        self._check_new(child_id)
        length = parent.length if position == -1 else position
        if not 0 <= length <= parent.length:
            raise ArgumentError(
                f"sequence {parent_id} is forked at position {position}",
                f"it has {counted(parent.length, 'token')}",
                "give a position from 0 to the number of tokens, or -1 for all of them",
            )
        child = PagedSequence(window=parent.window)
        for span in parent.spans:
            if child.length < length:
                count = min(span.count, length - child.length)
                child.spans.append(Span(span.page, span.first, count))
                child.length += count
                self._uses[span.page] += 1
        self._write_rows(child, 0)
        self.sequences[child_id] = child

    def pop(self, sequence_id: int, count: int) -> None:
        """Remove the last tokens of a sequence."""
        sequence = self[sequence_id]
        if not 0 <= count <= sequence.length:
            raise ArgumentError(
                f"{counted(count, 'token')} of sequence {sequence_id} cannot be removed",
                f"it has {counted(sequence.length, 'token')}",
                "give a number from 0 to this one",
            )
        sequence.length -= count
        while count:
            last = sequence.spans[-1]
            dropped = min(count, last.count)
            last.count -= dropped
            count -= dropped
            if not last.count:
                self._release(sequence.spans.pop().page)
        self._write_rows(sequence, max(len(sequence.spans) - 1, 0))

    def slide(self, sequence_id: int) -> None:
        """Remove the tokens of a sequence that its window has left behind."""
        sequence = self[sequence_id]
        window = sequence.window
        if window is None or sequence.length <= window.size:
            return
        kept: list[Span] = []
        begin, dropped = 0, range(window.sinks, window.sinks + sequence.length - window.size)
        for span in sequence.spans:
            end = begin + span.count
            before = max(min(end, dropped.start) - begin, 0)
            after = max(end - max(begin, dropped.stop), 0)
            parts = [Span(span.page, span.first, before)] if before else []
            if after:
                parts.append(Span(span.page, span.first + span.count - after, after))
            self._uses[span.page] += len(parts)
            self._release(span.page)
            kept += parts
            begin = end
        sequence.spans, sequence.length = kept, window.size
        self._write_rows(sequence, 0)

    # Tokens

    def append(self, sequence_ids: Sequence[int], counts: Sequence[int]) -> list[PageCopy]:
        """Append slots for tokens to sequences; the copies of shared pages that are needed first.

        Raises
        ------
        CallError if the free pages do not suffice; nothing is changed then.
        """
        sequences = [self[sequence_id] for sequence_id in sequence_ids]
        needed = self._pages_for(sequences, counts)
        if needed > self.free_pages:
            raise CallError(
                f"the cache has {counted(self.free_pages, 'free page')}, and "
                f"{counted(sum(counts), 'token')} need {needed}",
                f"its pool has {counted(self.pages, 'page')} of {self.page_size} tokens",
                "remove sequences, or make a cache with a greater max_total_seq_len",
            )
        copies: list[PageCopy] = []
        for sequence, count in zip(sequences, counts, strict=True):
            copies += self._append(sequence, count)
        return copies

    def slots(self, sequence_id: int, begin: int, end: int) -> npt.NDArray[np.int32]:
        """The slots of the tokens of a sequence from one position to before another: block times
        BLOCK plus the place in it.
        """
        parts: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
        stop = self[sequence_id].length
        for span in reversed(self[sequence_id].spans):  # the tokens that are new are at the end
            start = stop - span.count
            low, high = max(begin, start), min(end, stop)
            if low < high:
                slot = span.page * self.blocks * BLOCK + span.first + low - start
                parts.append(np.arange(slot, slot + high - low, dtype=np.int32))
            stop = start
            if stop <= begin:
                break
        return np.concatenate(parts[::-1])

    def rows(self, sequence_id: int) -> Table:
        """The table of a sequence."""
        sequence = self[sequence_id]
        return sequence.rows[: len(sequence.spans) * self.blocks]

    # Pages

    def _check_new(self, sequence_id: int) -> None:
        if sequence_id in self.sequences:
            raise ArgumentError(
                f"the cache has a sequence {sequence_id} already",
                f"it has {counted(self[sequence_id].length, 'token')}",
                "give another number, or remove it first: vm.builtin.kv_state_remove_sequence",
            )

    def _pages_for(self, sequences: Sequence[PagedSequence], counts: Sequence[int]) -> int:
        """The number of pages that sequences need for more tokens."""
        pages, written = 0, Counter[int]()
        for sequence, count in zip(sequences, counts, strict=True):
            room = self._room(sequence)
            pages += -(-max(count - room, 0) // self.page_size)
            if room and count:
                written[sequence.spans[-1].page] += 1
        # The last sequence that shares a page keeps it.
        return pages + sum([min(n, self._uses[page] - 1) for page, n in written.items()])

    def _room(self, sequence: PagedSequence) -> int:
        return self.page_size - sequence.end() if sequence.spans else 0

    def _append(self, sequence: PagedSequence, count: int) -> list[PageCopy]:
        copies: list[PageCopy] = []
        begin = max(len(sequence.spans) - 1, 0)
        sequence.length += count
        room = min(self._room(sequence), count)
        if room:
            last = sequence.spans[-1]
            if self._uses[last.page] > 1:
                copies.append(PageCopy(last.page, self._take()))
                self._release(last.page)
                last.page = copies[0].target
            last.count += room
            count -= room
        while count:
            sequence.spans.append(Span(self._take(), 0, min(count, self.page_size)))
            count -= sequence.spans[-1].count
        self._write_rows(sequence, begin)
        return copies

    def _take(self) -> int:
        page = self._free.pop()
        self._uses[page] = 1
        return page

    def _release(self, page: int) -> None:
        self._uses[page] -= 1
        if not self._uses[page]:
            self._free.append(page)

    def _write_rows(self, sequence: PagedSequence, begin: int) -> None:
        """Write the rows of the spans from one on."""
        count = len(sequence.spans) * self.blocks
        if len(sequence.rows) < count:
            grown = np.zeros((max(count, 2 * len(sequence.rows)), ROW), np.int32)
            grown[: len(sequence.rows)] = sequence.rows
            sequence.rows = grown
        rows: list[tuple[int, int, int, int]] = []
        position = sequence.length - sum([span.count for span in sequence.spans[begin:]])
        for span in sequence.spans[begin:]:
            for n in range(self.blocks):
                slot = n * BLOCK
                low = min(max(span.first - slot, 0), BLOCK)
                high = min(max(span.first + span.count - slot, low), BLOCK)
                start = position + slot - span.first if low < high else 0
                rows.append((span.page * self.blocks + n, start, low, high))
            position += span.count
        if rows:
            sequence.rows[begin * self.blocks : count] = rows
