"""Loop trees, dataflow and notebook displays of functions of blocks and their schedules."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from te_sched import tir
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source
from te_sched.views.dataflow import dataflow_svg
from te_sched.views.loop_tree import loop_tree, tree_text
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES, function, program
from tests.views.test_notebook import html_of, text_of

SVG = "{http://www.w3.org/2000/svg}"


def scheduled() -> Any:
    """A product in local memory, with its initialization apart."""
    sch = tir.Schedule(program(MATMUL))
    i, _, k = sch.get_loops("C")
    outer, _ = sch.split(i, [None, 4])
    sch.parallel(outer)
    sch.cache_read("C", 0, "local")
    sch.decompose_reduction("C", k)
    return sch


def drawn(what: Any) -> tuple[dict[str, list[str]], str, int]:
    """The labels of the boxes by name, what is said of the reads, and the dashed arrows."""
    svg = dataflow_svg(what)
    root = ElementTree.fromstring(svg)
    labels = [[one.text or "" for one in box.iter(f"{SVG}text")] for box in root.iter(f"{SVG}g")]
    return {name: rest for name, *rest in labels}, root.findtext(f"{SVG}desc"), svg.count('te-at"')


def test_a_tree_shows_blocks_with_the_values_of_their_iterators() -> None:
    text = """\
main(A: float32[8, 8], B: float32[8, 8], D: float32[8, 8])
├─ C: float32[8, 8] global, 256 bytes
├─ for i  0:8
│  └─ for j  0:8
│     └─ for k  0:8
│        └─ block C  vi = i, vj = j, reduce vk = k
│           ├─ init
│           │  └─ C[vi, vj] = 0.0
│           └─ C[vi, vj] += A[vi, vk] * B[vk, vj]
└─ for i  0:8
   └─ for j  0:8
      └─ block D  vi = i, vj = j
         └─ D[vi, vj] = max(C[vi, vj], 0.0)"""
    func = program(MATMUL)
    assert tree_text(loop_tree(func)) == text
    assert str(tir.Schedule(func)) == text
    kinds = [line.kind for line in loop_tree(func)]
    assert kinds.count("block") == 2
    assert "stage" not in kinds


def test_a_tree_shows_conditions_annotations_and_memory_of_blocks() -> None:
    sch = scheduled()
    sch.annotate("D", "note", 3)
    sch.split(sch.get_loops("A_local")[0], [None, 3])
    lines = [line.text for line in loop_tree(sch)]
    assert "A_local: float32[8, 8] local, 256 bytes" in lines
    assert "where ax0_0 * 3 + ax0_1 < 8" in lines
    assert "parallel i_0  0:2" in lines
    assert "block D  vi = i, vj = j  note=3" in lines


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (OTHERS["view"], ["V = A[vi]", "B[vi] = V[]"]),
        (OTHERS["scan"], ["block B  vi = i, scan vj = j"]),
        (OTHERS["opaque"], ["block B", "B[i] = A[i]"]),
        (function("A:8", "V = T.decl_buffer((4,), data=A.data)\nV[0] = 1.0"), ["A[0] = 1.0"]),
        (
            function(
                "A:2",
                'C = T.allocate_const([1.0, 2.0], "float32", [2])\n'
                "V = T.decl_buffer((2,), data=C)\nA[0] = V[1]",
            ),
            ["V: float32[2] global, 8 bytes", "A[0] = V[1]"],
        ),
    ],
)
def test_a_tree_shows_views_kinds_of_iterators_and_constants(body: str, shown: list[str]) -> None:
    lines = [line.text for line in loop_tree(program(body))]
    assert [one for one in shown if one not in lines] == []


def test_a_module_has_the_trees_of_its_functions() -> None:
    module = from_source(GIVEN + OTHERS["two functions"])
    heads = [line.text for line in loop_tree(module) if line.kind == "function"]
    assert [head.partition("(")[0] for head in heads] == ["f", "g"]
    private = IRModule({"f": program(MATMUL).without_attr("global_symbol")})
    assert loop_tree(private)[0].text.startswith("f(")


def test_dataflow_is_between_blocks() -> None:
    sch = scheduled()
    boxes, said, _ = drawn(sch)
    assert boxes["A"] == ["float32[8, 8]", "input"]
    assert boxes["A_local"] == ["float32[8, 8]", "in local"]
    assert boxes["C_init"] == ["float32[8, 8]", "in loop j"]
    assert boxes["D"] == ["float32[8, 8]", "output"]
    assert said == ("A_local reads A; C_update reads C_init, A_local, B; D reads C_update")
    assert dataflow_svg(sch.mod) == dataflow_svg(sch)
    assert dataflow_svg(sch.mod["main"]) == dataflow_svg(sch)


def test_dataflow_shows_blocks_computed_in_loops_of_their_readers() -> None:
    sch = tir.Schedule(program(STAGES))
    assert drawn(sch)[2] == 0
    sch.compute_at("B", sch.get_loops("C")[0])
    boxes, said, dashed = drawn(sch)
    assert (boxes["B"], said, dashed) == (
        ["float32[8, 8]", "in loop i"],
        "B reads A; C reads B",
        1,
    )


def test_a_block_schedule_is_shown_with_its_dataflow_and_trace() -> None:
    sch = scheduled()
    text = text_of(html_of(sch))
    assert "block C_update" in text
    assert "Dataflow of D" in text
    assert "sch.parallel(loop=l4)" in text


def test_many_blocks_have_no_picture() -> None:
    body = "".join(f"with T.block('b{n}'):\n    A[{n}] = 0.0\n" for n in range(210))
    text = text_of(html_of(tir.Schedule(program(function("A:256", body)))))
    assert "211 blocks are too many for a picture" in text


def test_an_entry_is_shown_as_its_instruction() -> None:
    sch = scheduled()
    entry = sch.trace.entries[-1]
    assert repr(entry) == "_ = sch.decompose_reduction(block=_, loop=_)"
    assert "decompose_reduction(block=_, loop=_)" in text_of(html_of(entry))


def test_schedules_of_blocks_are_compared() -> None:
    sch = tir.Schedule(program(MATMUL))
    other = sch.copy()
    assert not sch.diff(other)
    other.parallel(other.get_loops("D")[0])
    assert "+  sch.parallel(loop=l1)" in sch.diff(other).trace
    assert "+└─ parallel i  0:8" in sch.diff(other).loops
