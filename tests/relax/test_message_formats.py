"""Formats of messages have places for values, and nothing that reads their attributes."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphTypeError, ScriptError
from te_sched.relax.message_formats import check_format, fill
from te_sched.relax.op import assert_op, print
from te_sched.relax.vm import run_functions
from te_sched.script import from_source


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("{0.__class__.__mro__}", r"has the place \{0\.__class__"),
        ("{[0]}", r"has the place \{\[0\]\}"),
        ("{name}", r"has the place \{name\}"),
        ("{!a}", r"has the place \{!a\}"),
        ("{1}", r"has no value for \{1\}"),
        ("{} {}", r"has no value for \{\}"),
        ("{99999999999999999999}", "has no value for"),
        ("{:1000000000}", "is not valid"),
        ("{:{}}", "is not valid"),
        ("{:d}", "is not valid"),
        ("{0} {}", "is not valid"),
        ("{", "is not valid"),
        ("}", "is not valid"),
    ],
)
def test_formats_that_are_refused(message: str, fault: str) -> None:
    with pytest.raises(GraphTypeError, match=fault):
        check_format(message, 1)
    with pytest.raises(GraphTypeError, match=fault):
        print(1.0, format=message)
    with pytest.raises(GraphTypeError, match=fault):
        assert_op(True, 1.0, format=message)
    with pytest.raises(GraphTypeError, match=fault):
        run_functions.print_values(message, 1.0)


def test_formats_that_are_filled() -> None:
    assert fill("{:>3}|{!r}|{{}}", ["1", "b", "c"]) == "  1|'b'|{}"
    assert fill("{1} {0}", ["a", "b"]) == "b a"


def test_a_script_with_a_hostile_format_shows_its_line() -> None:
    text = '@R.function(pure=False)\ndef f(x: R.Tensor((4,), "float32")):\n    {}\n    return x\n'
    line = 'R.print(x, format="{0.__class__}")'
    with pytest.raises(ScriptError, match="has the place") as caught:
        from_source(text.format(line))
    assert "3 |" in str(caught.value)
