"""Dependences of blocks, complete and reduction blocks, affine bindings."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.expr import IntImm, Range, Var
from te_sched.ir.visitor import replace
from te_sched.tensorir.blocks import (
    accessed_outside,
    advice_to_initialize,
    buffers_of,
    conflict,
    consumers,
    first_not_compact,
    has_affine_binding,
    is_affine,
    is_group,
    loop_ranges,
    loops_around,
    output_buffers,
    predicate_of,
    producers,
    run_once,
    siblings,
    stated_blocks,
    why_not_complete,
    why_not_dominant,
    why_not_exact,
    why_not_reduction,
    writers,
    written_results,
)
from tests.tensorir.programs import MATMUL, OTHERS, function
from tests.tensorir.schedules import scheduled


def key_in(sch: Any, name: str) -> Any:
    return sch.get_block(name).key


def names_of(keys: Any) -> list[str]:
    return [key.name for key in keys]


def test_dependences_of_blocks() -> None:
    sch = scheduled(MATMUL)
    c, d = [key_in(sch, name) for name in "CD"]
    assert (names_of(consumers(sch, c)), names_of(producers(sch, d))) == (["D"], ["C"])
    assert (consumers(sch, d), producers(sch, c)) == ([], [])
    assert siblings(sch, c) == [c, d]
    assert siblings(sch, key_in(sch, "root")) == []
    (buffer,) = buffers_of(sch.block(c).writes)
    assert writers(sch, d, buffer) == [c]
    assert conflict(sch, [c], [d]) == ("C", c, d)
    assert conflict(sch, [d], [d]) is not None  # it writes D, and so does itself
    assert conflict(sch, [c], []) is None


def test_results_of_functions() -> None:
    sch = scheduled(MATMUL)
    c, d = [key_in(sch, name) for name in "CD"]
    assert sorted(buffer.name for buffer in output_buffers(sch, c)) == ["A", "B", "D"]
    assert (written_results(sch, c), written_results(sch, d)) == (
        [],
        [*buffers_of(sch.block(d).writes)],
    )


GROUPED = function(
    "A:8,8 B:8",
    """
for i in range(8):
    with T.block("group"):
        T.where(i < 7)
        T.reads()
        T.writes()
        for k in range(8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]
""",
)


def test_groups_have_the_blocks_in_them() -> None:
    sch = scheduled(GROUPED)
    root, group, inner = [key_in(sch, name) for name in ("root", "group", "B")]
    assert [is_group(sch, key) for key in (root, group, inner)] == [False, True, False]
    assert stated_blocks(sch, [group]) == [inner]
    assert [loop.name for loop in loops_around(sch, inner)] == ["i", "k"]
    assert str(predicate_of(sch, inner)).splitlines()[-1] == "i < 7"
    assert "groups blocks" in why_not_complete(sch, group)
    assert why_not_reduction(sch, inner) == ""
    assert is_affine(sch, inner)
    assert accessed_outside(sch, loops_around(sch, inner)[0]) == set()


def kind_of(body: str, parameters: str = "A:8 B:8", block: str = "B") -> tuple[str, str]:
    """Why a block is not complete, and not a reduction."""
    sch = scheduled(function(parameters, body))
    key = key_in(sch, block)
    return why_not_complete(sch, key), why_not_reduction(sch, key)


COPY = """
for i in range(8):
    with T.block("{name}"):
        vi = T.axis.{kind}(8, i)
        {store}
"""


@pytest.mark.parametrize(
    ("body", "complete", "reduction"),
    [
        (COPY.format(name="B", kind="spatial", store="B[vi] = A[vi]"), "", "it has no T.init"),
        (
            COPY.format(name="B", kind="reduce", store="B[vi] = A[vi]"),
            *("its iterator vi is not data parallel", "it has no T.init"),
        ),
        (
            COPY.format(name="B", kind="spatial", store="B[vi] = B[vi] + A[vi]"),
            *("it reads and writes B", "it has no T.init"),
        ),
        (
            COPY.format(name="B", kind="spatial", store="B[vi] = A[vi]")
            + COPY.format(name="C", kind="spatial", store="B[vi] = 1.0"),
            *("block C writes B, too", "it has no T.init"),
        ),
        (
            COPY.format(name="C", kind="spatial", store="A[vi] = B[vi]")
            + COPY.format(name="B", kind="spatial", store="B[vi] = 1.0"),
            *("block C reads B before it is written", "it has no T.init"),
        ),
    ],
)
def test_kinds_of_blocks(body: str, complete: str, reduction: str) -> None:
    assert kind_of(body) == (complete, reduction)


def test_reductions_write_elements_that_do_not_depend_on_their_iterators() -> None:
    text = """
for i, k in T.grid(8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[{0}] = 0.0
        B[{0}] = B[{0}] + A[vi, vk]
"""
    parameters = "A:8,8 B:8"
    complete = "its iterator vk is not data parallel"
    assert kind_of(text.format("vi"), parameters) == (complete, "")
    why = "its reduction iterator vk is an index of B"
    assert kind_of(text.format("vk"), parameters) == (complete, why)


def test_the_first_block_that_is_neither() -> None:
    sch = scheduled(OTHERS["twice"].replace('T.block("B")', 'T.block("C")', 1))
    keys = [key_in(sch, name) for name in "CB"]
    refuted = first_not_compact(sch, keys)
    assert refuted is not None
    assert refuted[0] is keys[0]
    assert "block C is neither complete (block B writes B, too)" in refuted[1]
    assert first_not_compact(sch, keys[:1]) is None
    assert "block B writes B, too" in why_not_dominant(sch, keys[0])


def test_advice_for_updates_without_init() -> None:
    sch = scheduled(MATMUL)
    c = key_in(sch, "C")
    assert advice_to_initialize(sch, c, "other") == "other"
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    advice = advice_to_initialize(sch, key_in(sch, "C_update"), "other")
    assert advice.startswith("apply this before decompose_reduction, or write `with T.init(): C")


@pytest.mark.parametrize(
    ("values", "is_legal"),
    [
        (lambda i, j: (i, j), True),
        (lambda i, j: (i, i), False),
        (lambda i, j: (i * 8 + j, IntImm(0)), True),
        (lambda i, j: (i * 4 + j, IntImm(0)), True),
        (lambda i, j: (i * 2, j), False),
    ],
)
def test_bindings_that_are_sums_of_parts_of_loops(values: Any, is_legal: bool) -> None:
    i, j = Var("i", "int32"), Var("j", "int32")
    ranges = {var: Range(IntImm(0), IntImm(8)) for var in (i, j)}
    sch = scheduled(MATMUL)
    realize = replace(sch.realize(key_in(sch, "D")), iter_values=values(i, j))
    assert has_affine_binding(realize, ranges) == is_legal


def test_conditions_that_hold_once() -> None:
    sch = scheduled(MATMUL)
    loops = [loop.key for loop in sch.get_loops("C")]
    i, j, _ = loops
    assert [
        run_once(sch, loops[:2], condition) for condition in (i < 1, i * 8 + j < 1, i * 8 + j < 2)
    ] == [*(False, True, False)]
    assert [int(bound.extent) for bound in loop_ranges(sch, loops).values()] == [8, 8, 8]


def test_stated_regions_may_not_be_exact() -> None:
    sch = scheduled(MATMUL)
    c = key_in(sch, "C")
    assert why_not_exact(sch, [c]) == ""
    sch.annotate_buffer_access("C", 0, "write", lambda i, j, k: [i, (0, 8)])
    assert "block C has a region that annotate_buffer_access states" in why_not_exact(sch, [c])
