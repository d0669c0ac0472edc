"""Pages of sequences: shared, copied when they are written, and free again."""

from __future__ import annotations

import pytest

from te_sched.errors import ArgumentError, CallError
from te_sched.relax.vm.page_tables import PageCopy, PageTables, Window


def _tables(pages: int = 8, page_size: int = 4, *lengths: int) -> PageTables:
    tables = PageTables(pages, page_size)
    for number, length in enumerate(lengths):
        tables.add(number)
        tables.append([number], [length])
    return tables


def test_tokens_fill_pages_and_removed_sequences_free_them() -> None:
    tables = _tables(8, 4, 5, 3)
    assert (tables.free_pages, tables.tokens) == (5, 8)
    tables.append([0, 1], [3, 1])
    assert tables.free_pages == 5
    tables.append([0], [1])
    assert tables.free_pages == 4
    tables.remove(0)
    assert (tables.free_pages, tables.tokens) == (7, 4)
    tables.clear()
    assert tables.free_pages == 8


def test_a_fork_shares_pages_until_it_is_appended_to() -> None:
    tables = _tables(8, 4, 6)
    tables.fork(0, 1)
    assert tables.free_pages == 6
    shared = tables[1].spans[-1].page
    assert tables.append([1], [1]) == [PageCopy(shared, tables[1].spans[-1].page)]
    assert tables[1].spans[0].page == tables[0].spans[0].page
    assert tables.append([0], [1]) == []  # it has the page for itself by now


def test_the_last_sequence_of_a_batch_keeps_a_shared_page() -> None:
    tables = _tables(3, 4, 6)
    tables.fork(0, 1)
    assert len(tables.append([0, 1], [1, 1])) == 1
    assert tables.free_pages == 0


def test_a_fork_of_a_part_ends_in_a_page() -> None:
    tables = _tables(8, 4, 10)
    tables.fork(0, 1, 5)
    tables.fork(0, 2, 0)
    assert [span.count for span in tables[1].spans] == [4, 1]
    assert tables[2].spans == []
    tables.remove(0)
    assert tables.free_pages == 6


def test_popped_tokens_free_whole_pages() -> None:
    tables = _tables(8, 4, 10)
    tables.pop(0, 3)
    assert (tables[0].length, tables.free_pages) == (7, 6)
    tables.pop(0, 7)
    assert (tables[0].length, tables.free_pages) == (0, 8)


def test_rows_tell_the_slots_that_have_tokens() -> None:
    tables = _tables(4, 20, 18)
    blocks = 2 * tables[0].spans[0].page
    assert tables.rows(0).tolist() == [[blocks, 0, 0, 16], [blocks + 1, 16, 0, 2]]
    assert tables.slots(0, 15, 18).tolist() == [16 * blocks + slot for slot in (15, 16, 17)]


def test_a_window_drops_tokens_after_its_sinks() -> None:
    tables = _tables(8, 4, 0)
    tables[0].window = Window(6, 1)
    tables.append([0], [13])
    tables.slide(0)
    spans = [(span.first, span.count) for span in tables[0].spans]
    assert spans == [(0, 1), (0, 4), (0, 1)]
    assert (tables[0].length, tables.free_pages) == (6, 5)
    assert tables.rows(0)[:, 1:].tolist() == [[0, 0, 1], [1, 0, 4], [5, 0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tables: tables.add(0), "has a sequence 0 already"),
        (lambda tables: tables.remove(7), "(?s)has no sequence 7.*its sequences are 0, 1"),
        (lambda tables: tables.fork(0, 2, 6), "(?s)forked at position 6.*it has 5 tokens"),
        (lambda tables: tables.fork(0, 1), "has a sequence 1 already"),
        (lambda tables: tables.pop(1, 4), "4 tokens of sequence 1 cannot be removed"),
        (lambda tables: tables.pop(1, -1), "-1 tokens of sequence 1 cannot be removed"),
    ],
)
def test_wrong_sequences_are_refused(call, message) -> None:  # type: ignore[no-untyped-def]
    tables = _tables(8, 4, 5, 3)
    with pytest.raises(ArgumentError, match=message):
        call(tables)
    assert (sorted(tables.sequences), tables.free_pages) == ([0, 1], 5)


def test_a_full_pool_is_refused_and_nothing_changes() -> None:
    tables = _tables(3, 4, 4, 3)
    with pytest.raises(CallError, match=r"(?s)has 1 free page, and 10 tokens need 3.*3 pages of 4"):
        tables.append([1, 0], [2, 8])
    assert (tables[0].length, tables[1].length, tables.free_pages) == (4, 3, 1)
