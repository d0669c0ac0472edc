"""Buffers that blocks access, by place, name or object."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import ScheduleError
from te_sched.tensorir.accesses import (
    BUFFER,
    allocating,
    check_scope,
    place_from,
    place_of,
    region_of,
)
from te_sched.tensorir.handles import BufferPlace
from tests.tensorir.programs import MATMUL, function
from tests.tensorir.schedules import scheduled

SCH = scheduled(MATMUL)
C = SCH.get_block("C").key
A_BUFFER = SCH.block(C).reads[0].buffer

TWICE = function(
    "A:8 B:4",
    """
for i in range(4):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        T.reads(A[vi], A[vi + 4])
        T.writes(B[vi])
        B[vi] = A[vi] + A[vi + 4]
""",
)


@pytest.mark.parametrize(
    ("given", "writes", "place"),
    [(1, False, 1), ("B", False, 1), (A_BUFFER, False, 0), ("C", True, 0)],
)
def test_places_by_number_name_and_buffer(given: Any, writes: bool, place: int) -> None:
    assert place_of(SCH, C, given, writes) == place
    regions = SCH.block(C).writes if writes else SCH.block(C).reads
    assert region_of(SCH, C, given, writes) is regions[place]


@pytest.mark.parametrize(
    ("given", "place"),
    [
        (("read", 1), BufferPlace("read", 1)),
        (BufferPlace("write", 0), BufferPlace("write", 0)),
        ("C", BufferPlace("write", 0)),
        ("B", BufferPlace("read", 1)),
        (A_BUFFER, BufferPlace("read", 0)),
    ],
)
def test_places_of_reads_and_writes(given: Any, place: BufferPlace) -> None:
    assert place_from(SCH, C, given) == place
    packed = BUFFER.packed(place)
    assert packed == [place.number, int(place.kind == "write")]
    assert BUFFER.unpacked(packed) == place


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (2, r"block C has no buffer number 2 that it reads"),
        (-1, "has no buffer number -1"),
        ("D", "block C has no buffer D that it reads"),
        (1.5, "a buffer of a block must be an integer"),
    ],
)
def test_unknown_places_are_rejected(given: Any, message: str) -> None:
    with pytest.raises(ScheduleError, match=message) as error:
        place_of(SCH, C, given, writes=False)
    assert given == 1.5 or "it reads 0 (A), 1 (B)" in str(error.value)


def test_what_is_not_a_place_is_rejected() -> None:
    with pytest.raises(ScheduleError, match=r"the buffer of block C is \('reads', 0\)"):
        place_from(SCH, C, ("reads", 0))
    with pytest.raises(ScheduleError, match="block C has no buffer D that it accesses"):
        place_from(SCH, C, "D")
    sch = scheduled(TWICE)
    with pytest.raises(ScheduleError, match="block B reads several A"):
        place_of(sch, sch.get_block("B").key, "A", writes=False)


def test_the_block_that_allocates() -> None:
    root = SCH.get_block("root").key
    assert allocating(SCH, C, SCH.block(C).writes[0].buffer, "align") is root
    with pytest.raises(ScheduleError, match="cannot align A of block C"):
        allocating(SCH, C, A_BUFFER, "align")


@pytest.mark.parametrize("scope", ["", "shard", 3, None])
def test_scopes(scope: Any) -> None:
    assert check_scope("shared.dyn") == "shared.dyn"
    with pytest.raises(ScheduleError, match="there is no storage scope"):
        check_scope(scope)
