"""Where errors say that a mistake was made."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from te_sched.errors import Place


def test_place_is_a_line_of_a_file():
    assert str(Place("prog.py", 3)) == "prog.py:3"
    assert str(Place()) == ""


def test_place_in_a_notebook_is_named_as_the_notebook_does(monkeypatch):
    names = {"/tmp/ipykernel_1/2.py": ("Cell", "In[5]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert str(Place("/tmp/ipykernel_1/2.py", 3)) == "In[5]:3"
    assert str(Place("prog.py", 3)) == "prog.py:3"
    shell.compile = object()  # an older IPython
    assert str(Place("/tmp/ipykernel_1/2.py", 3)) == "/tmp/ipykernel_1/2.py:3"
