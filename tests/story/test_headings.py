"""Headings of steps."""

from __future__ import annotations

import inspect

import pytest

import te_sched
from te_sched import te
from te_sched.tensorir.handles import PRIMITIVES
from tests.story.schedules import matmul


def test_headings_name_the_loops_with_their_extents() -> None:
    s, A, B, C = matmul()
    outer, inner = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(outer, *C.op.axis, inner)
    cached = s.cache_read(A, "global", [C])
    s[cached].compute_at(s[C], outer)
    headings = [step.heading for step in te_sched.explain(s, [A, B, C], measure=False).steps]
    assert headings[0] == ""
    assert headings[1] == "Split k (16) into k.outer (4) and k.inner (4)"
    assert headings[2].startswith("Reorder the loops to k.outer (4), ")
    assert headings[3] == "Cache reads of A by C as A.global, scope global"
    assert headings[4] == "Compute A.global in the loop k.outer (4) of C"


def test_every_primitive_has_a_heading() -> None:
    for kind in (te.Schedule, te.Stage):
        for name, method in inspect.getmembers(kind, lambda one: hasattr(one, "declared")):
            assert method.declared.heading, name


@pytest.mark.parametrize("name", [name for name, one in PRIMITIVES.items() if not one.is_naming])
def test_every_instruction_has_a_heading(name: str) -> None:
    declared = PRIMITIVES[name]
    assert declared.heading, f'give {declared.name} one: @instruction("...")'
    names = {one.name: "x" for one in declared.parameters}
    assert declared.heading.format(results="y", **names)
