import sys
from types import SimpleNamespace

import te_sched
from te_sched import progress as module
from te_sched.progress import Count, in_lines, progress


class Terminal:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


def watched(monkeypatch):
    """A terminal for the error stream; not a fixture, after which pytest puts its own there."""
    monkeypatch.setattr(module, "_DELAY", -1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_items_are_as_they_are_where_nobody_looks(monkeypatch):
    items = [1, 2]
    assert progress(items, "work") is items
    monkeypatch.setattr(sys, "stderr", None)
    assert progress(items, "work") is items


def test_fast_work_shows_nothing(monkeypatch):
    terminal = watched(monkeypatch)
    monkeypatch.setattr(module, "_DELAY", 60)
    assert list(progress(range(3), "work")) == [0, 1, 2]
    assert terminal.text == ""


def test_long_work_shows_a_bar_that_vanishes(monkeypatch):
    terminal = watched(monkeypatch)
    assert list(progress((k for k in range(3)), "work", total=3)) == [0, 1, 2]
    assert "work" in terminal.text
    assert "1/3" in terminal.text
    assert terminal.text.endswith("\r")


def test_bar_is_closed_when_the_work_fails(monkeypatch):
    terminal = watched(monkeypatch)
    steps = progress(range(5), "work")
    for step in steps:
        if step == 3:
            break
    steps.close()
    assert terminal.text.endswith("\r")


def test_switch_leaves_bars_out(monkeypatch):
    terminal = watched(monkeypatch)
    with te_sched.config(progress=False):
        assert list(progress(range(3), "work")) == [0, 1, 2]
    assert terminal.text == ""


def test_without_tqdm_there_is_a_line_that_vanishes(monkeypatch):
    terminal = watched(monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert list(progress(range(3), "work")) == [0, 1, 2]
    assert terminal.text == "\rwork: 1 of 3\rwork: 2 of 3\rwork: 3 of 3\r\x1b[K"


def test_notebooks_are_watched(monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=None))
    assert module._is_watched()


def test_count_shows_what_the_work_says(monkeypatch):
    terminal = watched(monkeypatch)
    with Count("tuning", 4) as count:
        count.add(1, "best 3 us")
        count.add(2, "best 2 us")
    assert "tuning" in terminal.text
    assert "3/4" in terminal.text
    assert "best 2 us" in terminal.text
    assert terminal.text.endswith("\r")


def test_count_is_silent_where_nobody_looks_and_for_fast_work(monkeypatch):
    terminal = watched(monkeypatch)
    monkeypatch.setattr(module, "_DELAY", 60)
    with Count("tuning", 4) as count:
        count.add(3, "note")
    assert terminal.text == ""
    monkeypatch.setattr(sys, "stderr", None)
    with Count("tuning", 4) as count:
        count.add(3, "note")


def test_line_without_tqdm_has_the_note(monkeypatch):
    terminal = watched(monkeypatch)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with Count("tuning", 4) as count:
        count.add(1, "best 3 us")
        count.add()
    assert "\rtuning: 2 of 4, best 3 us" in terminal.text
    assert terminal.text.endswith("\r\x1b[K")


def test_lines_where_there_is_no_terminal(monkeypatch, capsys):
    """At the start, every few seconds, and at the end."""
    monkeypatch.setattr(module, "_LINE_DELAY", 0.0)
    with in_lines(), Count("tuning", 4, is_long=True) as count:
        count.add(1, "best 3 us")
        monkeypatch.setattr(module, "_LINE_DELAY", 60.0)
        count.add(1, "best 2 us")
        count.add(2, "best 1 us")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["tuning: 0 of 4", "tuning: 1 of 4", "tuning: 4 of 4, best 1 us"]
    with Count("tuning", 4, is_long=True) as count:
        count.add(4)
    assert capsys.readouterr().err == ""


def test_lines_are_not_repeated(monkeypatch, capsys):
    with in_lines(), Count("tuning", 2, is_long=True):
        pass
    with in_lines(), te_sched.config(progress=False), Count("tuning", 2, is_long=True):
        pass
    assert capsys.readouterr().err == "tuning: 0 of 2\n"
