from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from tests.tensorir.programs import MATMUL, program
from tests.views.programs import broken, product, tiled


def test_difference_shows_traces_and_loops():
    one, other = product()[0], product()[0]
    C = other.stages[-1]
    C.parallel(C.op.axis[0])
    difference = one.diff(other)
    assert difference
    assert "+s[C].parallel(i)" in difference.trace
    assert str(difference) == (
        "@@ trace @@\n"
        " \n"
        " s = te.create_schedule([C.op])\n"
        "+i, j = s[C].op.axis\n"
        "+s[C].parallel(i)\n"
        "@@ loops @@\n"
        " main(A: float32[64, 32], B: float32[32, 64], C: float32[64, 64])\n"
        " └─ stage C\n"
        "-   └─ for i  0:64\n"
        "+   └─ parallel i  0:64\n"
        "       └─ for j  0:64\n"
        "          ├─ C[i, j] = 0.0"
    )


def test_no_difference_is_said():
    difference = tiled()[0].diff(tiled()[0])
    assert not difference
    assert str(difference) == "the schedules are the same"
    assert "the schedules are the same" in difference._repr_html_()


def test_difference_of_the_trace_alone():
    one, other = product()[0], product()[0]
    C = other.stages[-1]
    C.reorder(*C.op.axis)
    text = str(one.diff(other))
    assert text.endswith("@@ loops: the same @@")


def test_difference_is_colored():
    one, other = product()[0], tiled()[0]
    assert '<span class="gi">+' in one.diff(other)._repr_html_()


def test_difference_of_what_cannot_be_lowered():
    assert "not lowered" in str(product()[0].diff(broken()))


def test_difference_rejects_other_things():
    with pytest.raises(DeclarationError, match="compare a schedule with None"):
        product()[0].diff(None)


def test_schedules_of_blocks_are_compared() -> None:
    sch = tir.Schedule(program(MATMUL))
    other = sch.copy()
    assert not sch.diff(other)
    other.parallel(other.get_loops("D")[0])
    assert "+  sch.parallel(loop=l1)" in sch.diff(other).trace
    assert "+└─ parallel i  0:8" in sch.diff(other).loops
