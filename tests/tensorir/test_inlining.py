"""Blocks put into their producers: reverse_compute_inline."""

from __future__ import annotations

import pytest

from te_sched.errors import ScheduleError
from tests.tensorir.programs import function
from tests.tensorir.test_partitioning import check_same, scheduled


def read(element: str, columns: int = 8) -> str:
    """A program whose second block reads a part of what its first one writes."""
    return function(
        f"A:4,8 C:1,{columns}",
        f"""
B = T.alloc_buffer((4, 8), "float32")
for i, j in T.grid(4, 8):
    with T.block("B"):
        wi, wj = T.axis.remap("SS", [i, j])
        B[wi, wj] = A[wi, wj] * 2.0
for i, j in T.grid(1, {columns}):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[{element}] + 1.0
""",
    )


# Condition and element of each; TVM 0.19 prints the first two, and drops the condition of a
# constant index.
@pytest.mark.parametrize(
    ("element", "columns", "condition", "written"),
    [
        ("vi, vj", 8, "i < 1", "C[wi, wj]"),
        ("vi + 1, vj", 8, "1 <= i and i < 2", "C[wi - 1, wj]"),
        ("2, vj", 8, "i == 2", "C[0, wj]"),
        ("0, 7 - vj", 8, "i == 0", "C[0, (wj - 7) * -1]"),
        ("vi, vj * 2", 4, "i < 1 and j == j // 2 * 2", "C[wi, wj // 2]"),
    ],
)
def test_only_elements_that_are_read_are_computed(
    element: str, columns: int, condition: str, written: str
) -> None:
    text = read(element, columns)
    sch = scheduled(text)
    sch.reverse_compute_inline("C")
    assert f"T.where({condition})" in sch.mod.script()
    assert str(sch.get(sch.get_block("B")).writes[0]) == written
    check_same(sch, text)


def test_an_element_read_by_several_instances_is_not_inlined() -> None:
    sch = scheduled(read("vj % 4, vj"))
    with pytest.raises(ScheduleError, match="is not a one-to-one affine map of its iterators"):
        sch.reverse_compute_inline("C")


def test_iterators_of_one_value_are_those_of_the_producer() -> None:
    text = read("vi, vj").replace("(4, 8)", "(1, 8)").replace("T.grid(4, 8)", "T.grid(1, 8)")
    sch = scheduled(text)
    sch.reverse_compute_inline("C")
    assert str(sch.get(sch.get_block("B")).writes[0]) == "C[wi, wj]"
    check_same(sch, text)
