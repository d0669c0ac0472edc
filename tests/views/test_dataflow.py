from __future__ import annotations

import random
import re
import time
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.views.dataflow import dataflow_svg
from tests.tensorir.programs import STAGES, program
from tests.views.programs import scheduled, tiled

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg):
    """The corners of the boxes, and the places where texts begin and end."""
    root = ElementTree.fromstring(svg)
    found = {}
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        found[group.get("data-stages")] = (x, y, x + width, y + height)
        for label in group.iter(f"{SVG}text"):
            left, base = float(label.get("x")), float(label.get("y"))
            assert x <= left
            assert left + 7 * len(label.text) <= x + width
            assert y < base < y + height
    return found


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def many(count, seed):
    """A schedule of stages that read each other at random."""
    rng = random.Random(seed)
    values = [te.placeholder((8, 8), name=f"in{number}") for number in range(3)]
    for number in range(count):
        a, b = rng.choice(values), rng.choice(values[-5:])
        name = f"T{number}" if number % 7 else f"stage_{number}_with_a_name_that_is_rather_long"
        values.append(te.compute((8, 8), lambda i, j, a=a, b=b: a[i, j] + b[i, j], name=name))
    read = {tensor for value in values for tensor in value.op.input_tensors}
    return te.create_schedule(
        [one.op for one in values if one not in read and one.op.input_tensors]
    )


def test_picture_has_a_title_and_says_in_words_what_is_read():
    s, *_ = tiled()
    root = ElementTree.fromstring(dataflow_svg(s))
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext(f"{SVG}title") == "Dataflow of C"
    assert root.findtext(f"{SVG}desc") == "C.local reads A, B; C reads C.local"


def test_boxes_say_what_a_stage_is():
    s, *_ = tiled()
    root = ElementTree.fromstring(dataflow_svg(s))
    kinds = {g.get("data-stages"): g.get("class") for g in root.iter(f"{SVG}g")}
    assert kinds == {"A": "te-input", "B": "te-input", "C.local": "te-stage", "C": "te-output"}
    texts = [[one.text for one in g.iter(f"{SVG}text")] for g in root.iter(f"{SVG}g")]
    assert ["C.local", "float32[64, 64]", "at C: j.outer", "in local"] in texts
    assert dataflow_svg(s).count('class="te-at"') == 1


@pytest.mark.parametrize("seed", range(4))
def test_boxes_do_not_overlap(seed):
    found = list(boxes(dataflow_svg(many(40, seed))).values())
    assert len(found) > 20
    assert not [(a, b) for k, a in enumerate(found) for b in found[:k] if overlap(a, b)]


def test_arrows_go_to_the_right():
    for path in re.findall(
        r'd="M([-\d.]+) [-\d.]+C[-\d. ]+?([-\d.]+) [-\d.]+"', dataflow_svg(many(40, 1))
    ):
        assert float(path[0]) <= float(path[1])


def test_same_schedule_gives_the_same_picture():
    assert dataflow_svg(many(40, 2)) == dataflow_svg(many(40, 2))


def test_two_hundred_stages_are_drawn_at_once():
    s = many(200, 3)
    start = time.process_time()
    assert len(dataflow_svg(s)) < 400_000
    assert time.process_time() - start < 2


def test_names_are_cut_and_escaped():
    A = te.placeholder((4,), name="<b>&" + "x" * 40)
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    picture = dataflow_svg(te.create_schedule(B.op))
    ElementTree.fromstring(picture)
    assert "<b>" not in picture
    assert "…</text>" in picture
    assert "x" * 40 + "\n" in picture  # in the title, whole


def test_an_input_alone_is_a_picture():
    A = te.placeholder((4,), name="A")
    assert len(boxes(dataflow_svg(te.create_schedule(A.op)))) == 1


def test_other_things_have_no_dataflow():
    with pytest.raises(DeclarationError, match="cannot make a dataflow of a list"):
        dataflow_svg([])


def drawn(what: Any) -> tuple[dict[str, list[str]], str, int]:
    """The labels of the boxes by name, what is said of the reads, and the dashed arrows."""
    svg = dataflow_svg(what)
    root = ElementTree.fromstring(svg)
    labels = [[one.text or "" for one in box.iter(f"{SVG}text")] for box in root.iter(f"{SVG}g")]
    return {name: rest for name, *rest in labels}, root.findtext(f"{SVG}desc"), svg.count('te-at"')


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
