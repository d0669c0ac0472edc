"""Trees of schedules that cannot be lowered."""

from __future__ import annotations

from te_sched import te
from te_sched.views.loop_tree import loop_tree, tree_text
from te_sched.views.stage_tree import stage_lines
from tests.views.programs import broken


def test_schedule_that_cannot_be_lowered_says_why_and_shows_its_stages():
    lines = loop_tree(broken())
    text = tree_text(lines)
    assert lines[1].text.startswith("not lowered: ")
    assert "stage C" in text
    assert text.endswith(
        "├─ stage C\n│  └─ for i  0:8\n│     └─ stage B\n│        └─ for i  0:8\n"
        "└─ stage D\n   └─ for i  0:8"
    )
    assert str(broken()) == text


def test_a_stage_has_a_line_for_each_axis():
    A = te.placeholder((8, 6), name="A")
    B = te.compute((8, 6), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    outer, _ = s[B].split(B.op.axis[0], 4)
    s[B].parallel(outer)
    lines = stage_lines(s.stages[1])
    assert [line.text.partition("  ")[0] for line in lines] == [
        "stage B",
        "parallel i.outer",
        "for i.inner",
        "for j",
    ]
    assert [line.depth for line in lines] == [0, 1, 2, 3]


def test_inlined_stages_say_so():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    C = te.compute((8,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    assert stage_lines(s.stages[1])[0].text == "stage B, inlined"
