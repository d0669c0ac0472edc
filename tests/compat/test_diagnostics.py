"""Errors of scripts, given to renderers."""

from __future__ import annotations

import pytest

from te_sched import errors
from te_sched.compat import diagnostics
from te_sched.script import from_source


def test_errors_are_given_to_renderers() -> None:
    given: list[diagnostics.DiagnosticContext] = []
    diagnostics.override_renderer(given.append)
    try:
        with pytest.raises(errors.ScriptError) as caught:
            from_source("@T.prim_func\ndef f():\n    T.evaluate(x)\n")
    finally:
        diagnostics.override_renderer(None)
    (found,) = given[0].diagnostics
    assert (found.span.line, found.span.column) == (3, 16)
    assert (caught.value.line, caught.value.column) == (3, 16)
    assert found.message == caught.value.fault
    with pytest.raises(errors.ScriptError, match="undefined variable x"):
        from_source("@T.prim_func\ndef f():\n    T.evaluate(x)\n")
    assert len(given) == 1


def test_the_last_renderer_is_called() -> None:
    calls: list[str] = []
    diagnostics.override_renderer(lambda _: calls.append("first"))
    diagnostics.override_renderer(lambda _: calls.append("second"))
    try:
        with pytest.raises(errors.ScriptError, match="undefined variable x"):
            from_source("@T.prim_func\ndef f():\n    T.evaluate(x)\n")
    finally:
        diagnostics.override_renderer(None)
    assert calls == ["second"]


def test_levels_have_tvms_numbers() -> None:
    levels = diagnostics.DiagnosticLevel
    assert levels.BUG < levels.ERROR < levels.WARNING < levels.NOTE < levels.HELP
    assert int(levels.ERROR) == 20
