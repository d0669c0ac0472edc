"""Scripts that are refused, and what their errors show."""

from __future__ import annotations

import re

import pytest

from te_sched.errors import ScriptError
from te_sched.script import from_source

IN_FUNCTION = "@T.prim_func\ndef f(A: T.Buffer((16, 16), 'float32'), p: T.handle):\n"


def failed(text: str) -> ScriptError:
    with pytest.raises(ScriptError) as caught:
        from_source(text)
    return caught.value


def check(text: str, fault: str, under: str | None) -> None:
    error = failed(text)
    assert re.match(fault, str(error)), str(error)
    line, carets = error.excerpt.splitlines()[1:3]
    start = carets.index("^")
    shown = line[start : start + carets.count("^")]
    if under is not None:
        assert shown == under
    assert error.help
