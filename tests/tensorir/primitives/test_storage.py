"""Memory of buffers that blocks write: scopes, alignment, dtypes, hidden accesses."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import ScheduleError
from te_sched.tensorir.primitives.storage import copy_of
from te_sched.tir import decl_buffer
from tests.tensorir.programs import MATMUL, STAGES
from tests.tensorir.schedules import check_same, scheduled


@pytest.mark.parametrize("given", [0, "B", None])
def test_a_scope_is_that_of_all_accesses(given: Any) -> None:
    sch = scheduled(STAGES)
    buffer = sch.get(sch.get_block("B")).writes[0].buffer if given is None else given
    sch.set_scope("B", buffer, "shared")
    assert sch.get(sch.get_block("C")).reads[0].buffer.scope() == "shared"
    assert 'B_shared = T.alloc_buffer((8, 8), scope="shared")' in sch.mod.script()
    sch.set_scope("B", 0, "shared")  # it has it
    assert "B_shared_shared" not in sch.mod.script()


def test_a_dtype_is_cast_where_it_is_read_and_written() -> None:
    sch = scheduled(STAGES)
    sch.unsafe_set_dtype("B", 0, "float64")
    stored, read = [str(sch.get(sch.get_block(name)).body) for name in "BC"]
    assert 'B[vi, vj] = T.Cast("float64", A[vi, vj] * T.float32(2))' in stored
    assert 'T.Cast("float32", B[vi, vj])' in read
    check_same(sch, STAGES)


def test_alignments_of_dimensions() -> None:
    sch = scheduled(MATMUL)
    sch.storage_align("C", 0, axis=-2, factor=32, offset=8)
    sch.storage_align("C", 0, axis=0, factor=16, offset=4)  # in place of it
    sch.storage_align("C", 0, axis=1, factor=2, offset=0)
    annotations = sch.get(sch.get_block("C")).annotations
    assert annotations == {"buffer_dim_align": [[0, 0, 16, 4], [0, 1, 2, 0]]}


def test_accesses_are_hidden() -> None:
    sch = scheduled(MATMUL)
    sch.unsafe_hide_buffer_access("C", "read", [1])
    sch.unsafe_hide_buffer_access("D", "write", ["D"])
    assert [str(region) for region in sch.get(sch.get_block("C")).reads] == ["A[vi, vk]"]
    assert sch.get(sch.get_block("D")).writes == ()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sch.set_scope('D', 0, 'shared')", "cannot set the scope of D of block D"),
        ("sch.set_scope('C', 1, 'shared')", "block C has no buffer number 1 that it writes"),
        ("sch.set_scope('C', 0, 'shard')", "there is no storage scope 'shard'"),
        ("sch.storage_align('C', 0, 2, 8, 0)", "C has no dimension 2"),
        ("sch.storage_align('C', 0, 0, 0, 0)", "alignment must be at least 1, got 0"),
        ("sch.storage_align('D', 0, 0, 8, 0)", "cannot align D of block D"),
        ("sch.unsafe_hide_buffer_access('C', 'reads', [0])", "buf_type is 'reads'"),
        ("sch.unsafe_set_dtype('D', 0, 'float16')", "cannot set the dtype of D of block D"),
    ],
)
def test_storage_rejects(code: str, message: str) -> None:
    sch = scheduled(MATMUL)
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": sch})
    assert sch.mod.script() == before


def test_copies_of_buffers_have_their_groups_of_dimensions() -> None:
    buffer = decl_buffer((4, 8, 2), "int8", "A", axis_separators=[1])
    copy = copy_of(buffer, "B", "shared", "int32")
    assert (copy.name, copy.dtype, copy.scope()) == ("B", "int32", "shared")
    assert [int(size) for size in copy.shape] == [4, 8, 2]
    assert [*copy.axis_separators] == [*buffer.axis_separators] != []
