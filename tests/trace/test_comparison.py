"""What differs between two schedules."""

from __future__ import annotations

from te_sched.trace.comparison import Comparison


def test_equal_schedules_have_no_difference() -> None:
    same = Comparison((), ())
    assert not same
    assert str(same) == "the schedules are the same"


def test_parts_without_a_difference_say_so() -> None:
    text = str(Comparison(("-a", "+b"), ()))
    assert text == "@@ trace @@\n-a\n+b\n@@ loops: the same @@"
