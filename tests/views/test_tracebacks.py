"""Tracebacks of errors in IPython."""

from __future__ import annotations

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell

from te_sched import te
from te_sched.errors import InternalError, ScheduleError
from tests.tracebacks import failed
from tests.views.programs import tiled


def test_notebooks_show_the_users_lines_of_an_error():
    shell = InteractiveShell()
    s, _, _, C = tiled()
    shell.user_ns.update(s=s, C=C)
    result = shell.run_cell("def apply(s):\n    s[C].split(C.op.axis[0], factor=4)\n\napply(s)")
    assert isinstance(result.error_in_exec, ScheduleError)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("IPython.get_ipython", lambda: shell)
        shown = "\n".join(result.error_in_exec._render_traceback_())
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert plain.count("\nFile ") == 2  # of the cell; none of te_sched
    assert "te_sched/schedule" not in plain
    assert "----> 4 apply(s)" in plain
    assert plain.rstrip().endswith("C = ...")


def test_errors_without_ipython_have_their_traceback(monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: None)
    error = failed(lambda: te.placeholder("x"))
    assert error._render_traceback_()[0].startswith("Traceback")


def test_internal_errors_show_all_frames(monkeypatch):
    def fail(i):
        raise InternalError("a bug")

    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    error = failed(lambda: te.compute((4,), fail))
    assert "te_sched/te/declare.py" in "".join(error._render_traceback_())
