"""Index expressions that are computed in blocks of their own."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import ScheduleError
from tests.tensorir.programs import function
from tests.tensorir.schedules import check_same, scheduled

GATHERED = function(
    "A:8,8 B:8,8",
    """
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[(vi * 3 + vj) // 4, (vi * 3 + vj) // 4 % 8] + A[vj // 2, vi]
""",
)


def cached(sch: Any, *args: Any) -> list[str]:
    """The values of the blocks that cache_index makes."""
    return [str(sch.get(block).body.value) for block in sch.cache_index("B", *args)]


def test_the_largest_expressions_are_first() -> None:
    sch = scheduled(GATHERED)
    values = cached(sch, "global")
    assert values == ["(v0 * 3 + v1) // 4 % 8", "(v0 * 3 + v1) // 4", "v0 // 2"]
    assert "A[index_var_1[vi, vj], index_var_0[vi, vj]] + A[index_var_2[vj], vi]" in str(
        sch.get(sch.get_block("B")).body
    )
    check_same(sch, GATHERED)


def test_expressions_occur_often_enough() -> None:
    sch = scheduled(GATHERED)
    assert cached(sch, "local", 2) == ["(v0 * 3 + v1) // 4"]
    buffers = sch.get(sch.get_block("root")).alloc_buffers
    assert [(buffer.name, buffer.scope()) for buffer in buffers] == [("index_var_0", "local")]
    check_same(sch, GATHERED)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sch.cache_index('B', 'global', 9)", "that occurs 9 times"),
        ("sch.cache_index('B', 'global', -1)", "cse_thresh is -1"),
        ("sch.cache_index('B', 'globe')", "there is no storage scope 'globe'"),
        ("sch.cache_index('root', 'global')", "the root block"),
    ],
)
def test_cache_index_rejects(code: str, message: str) -> None:
    sch = scheduled(GATHERED)
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": sch})
    assert sch.mod.script() == before
