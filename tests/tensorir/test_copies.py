"""Statements that copy elements of a buffer, and the indices at which a block accesses one."""

from __future__ import annotations

import pytest

from te_sched.ir.expr import BufferRegion, IntImm, IterVar, Range, Var
from te_sched.tensorir.copies import (
    copied_in_loops,
    copy_block,
    copy_nest,
    copying,
    is_unit,
    point_of,
)
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL
from te_sched.tir import decl_buffer
from tests.tensorir.programs import function
from tests.tensorir.schedules import scheduled

A, B = decl_buffer((16, 8), "float32", "A"), decl_buffer((4, 2), "float32", "B")


def axis(name: str, extent: int, kind: str = SPATIAL, begin: int = 0) -> IterVar:
    return IterVar(Range(IntImm(begin), IntImm(extent)), Var(name, "int32"), kind)


def lines_of(statement: object) -> list[str]:
    return [line.strip() for line in str(statement).splitlines()]


@pytest.mark.parametrize(
    ("is_back", "store"),
    [(False, "B[v0, v1] = A[n + v0, 3 + v1]"), (True, "A[n + v0, 3 + v1] = B[v0, v1]")],
)
def test_a_region_is_copied_to_a_buffer_that_begins_at_it(is_back: bool, store: str) -> None:
    n = Var("n", "int32")
    region = [Range(n + 1, IntImm(3)), Range(IntImm(3), IntImm(2))]
    lines = lines_of(copying(A, B, region, [n, IntImm(3)], is_back, n < 4))
    assert "for ax0, ax1 in T.grid(3, 2):" in lines
    assert "v0 = T.axis.spatial(4, 1 + ax0)" in lines
    assert "v1 = T.axis.spatial(2, ax1)" in lines
    assert "T.where(n < 4)" in lines
    assert store in lines


def test_elements_without_a_condition_are_zero() -> None:
    axes = [axis("i", 4), axis("j", 2)]
    i, j = [axis.var for axis in axes]
    there = (i * 4, j + 1)
    lines = lines_of(copy_nest("pad", axes, B, A, there, loop_name="l", condition=i > 1))
    assert "for l0, l1 in T.grid(4, 2):" in lines
    assert 'with T.block("pad"):' in lines
    assert "B[i, j] = T.if_then_else(1 < i, A[i * 4, j + 1], T.float32(0))" in lines or (
        "B[i, j] = T.if_then_else(i > 1, A[i * 4, j + 1], T.float32(0))" in lines
    )


def test_a_block_copies_an_element() -> None:
    i = axis("i", 4)
    zero = IntImm(0)
    realize = copy_block("copy", [i], [IntImm(2)], (A, (i.var, zero)), (B, (zero, i.var)))
    block = realize.block
    assert [str(region) for region in (*block.reads, *block.writes)] == ["A[i, 0]", "B[0, i]"]
    assert isinstance(block.reads[0], BufferRegion)
    assert (realize.iter_values[0].value, realize.predicate.value) == (2, 1)


def test_units() -> None:
    assert [is_unit(unit) for unit in (axis("i", 1), axis("j", 2), axis("k", 1, begin=3))] == [
        *(True, False, True)
    ]


class RefusedError(Exception):
    """The reason why a block has no copy."""


def refused(why: str, help: str) -> Exception:
    return RefusedError(f"{why}: {help}")


TEXT = """
for i, j, k in T.grid(4, 4, 4):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        B[vi, {column}] = A[vi{row}, vk] + {other}
"""


def schedule_of(column: str = "vj", row: str = " + 1", other: str = "1.0") -> object:
    text = TEXT.format(column=column, row=row, other=other)
    return scheduled(function("A:8,8 B:8,8", text))


@pytest.mark.parametrize(
    ("buffer", "writes", "indices", "axes"),
    [("A", False, "vi + 1 vk", "vi vk"), ("B", True, "vi vj", "vi vj")],
)
def test_indices_of_an_access(buffer: str, writes: bool, indices: str, axes: str) -> None:
    sch = schedule_of()
    key = sch.get_block("B").key
    regions = sch.block(key).writes if writes else sch.block(key).reads
    starts, used = point_of(sch, key, regions[0].buffer, writes, refused)
    assert " ".join(map(str, starts)) == indices
    assert " ".join(axis.var.name for axis in used) == axes


@pytest.mark.parametrize(
    ("options", "writes", "message"),
    [
        ({"other": "A[vi, vk + 1]"}, False, r"it accesses it at vi \+ 1, vk and at vi, vk \+ 1"),
        ({"column": "vj + vk"}, True, "its reduction iterator vk is an index"),
        ({"column": "0"}, True, "its iterator vj is not an index"),
        ({"row": "+ T.Cast('int32', B[0, 0])"}, False, "an index is an element of a buffer"),
    ],
)
def test_accesses_without_indices_are_refused(
    options: dict[str, str], writes: bool, message: str
) -> None:
    sch = schedule_of(**options)
    key = sch.get_block("B").key
    regions = sch.block(key).writes if writes else sch.block(key).reads
    buffer = next(
        region.buffer for region in regions if region.buffer.name == ("B" if writes else "A")
    )
    with pytest.raises(RefusedError, match=message):
        point_of(sch, key, buffer, writes, refused)


def test_copies_have_the_loops_on_which_they_depend() -> None:
    sch = schedule_of()
    key = sch.get_block("B").key
    i, _, k = [loop.key for loop in sch.get_loops("B")]
    vi, _, vk = sch.block(key).iter_vars
    source, target = (A, (vi.var, vk.var)), (B, (vi.var, vk.var))
    for parent, loops in ((sch.scope(key), "for i, k in T.grid(4, 4):"), (i, "for k in range(4):")):
        nest = copied_in_loops(sch, key, parent, "copy", [vi, vk], source, target, refused)
        lines = lines_of(nest)
        assert loops in lines
        assert nest.loop_var not in (i, k)  # they are new ones
        assert "B[vi, vk] = A[vi, vk]" in lines
    assert vk.kind == REDUCTION
