"""What tuners call, and how numbers are shown."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from te_sched import autotvm
from te_sched.autotvm import record
from te_sched.autotvm.tuner import callback
from te_sched.errors import CallError
from tests.autotvm.templates import records_of, task_of


def test_a_log_is_appended(tmp_path: Path) -> None:
    log = callback.log_to_file(tmp_path / "a.log")
    for pair in records_of(task_of(8), [1.0, 2.0]):
        log(None, *([one] for one in pair))
    found = list(record.load_from_file(tmp_path / "a.log"))
    assert [result.costs for _, result in found] == [(1.0,), (2.0,)]


def test_a_log_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    log = callback.log_to_file(tmp_path / "none" / "a.log")
    inp, result = records_of(task_of(8), [1.0])[0]
    with pytest.raises(CallError, match=r"cannot write .*a\.log: No such file"):
        log(None, [inp], [result])


def test_a_log_that_is_no_file_is_refused_at_once() -> None:
    with pytest.raises(CallError, match="cannot write 3: it is not a path"):
        callback.log_to_file(3)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_is_told() -> None:
    inp, result = records_of(task_of(8), [1.0])[0]
    with pytest.raises(CallError, match=r"(?s)cannot write /dev/full: No space left.*free some"):
        callback.log_to_file("/dev/full")(None, [inp], [result])


def test_speeds_are_collected() -> None:
    monitor = callback.Monitor()
    inputs, results = zip(*records_of(task_of(8), [1.0, 2.0]), strict=True)
    monitor(None, inputs, [results[0], results[1]._replace(error_no=4)])
    assert monitor.trial_scores() == [1024.0, 0.0]
    assert monitor.trial_timestamps() == [10.0, 11.0]
    monitor.reset()
    assert monitor.trial_scores() == []


def test_progress_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    bar = callback.progress_bar(2, "[task 1]", "k")
    for pair in records_of(task_of(8), [1.0, 2.0]):
        bar(None, *([one] for one in pair))
    last = shown.getvalue().rsplit("\r", 1)[-1]
    assert last.startswith("[task 1] Current/Best:    0.51/   1.02 kFLOPS | Progress: (2/2)")
    assert last.endswith(" s Done.\n")


def test_progress_is_silent_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(autotvm.GLOBAL_SCOPE, "silent", True)
    inp, result = records_of(task_of(8), [1.0])[0]
    callback.progress_bar(1)(None, [inp], [result])
    assert shown.getvalue() == ""


@pytest.mark.parametrize("protocol", ["json", "pickle"])
def test_log_to_file_rejects_what_is_not_a_log(protocol: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("import torch\n")
    with pytest.raises(CallError, match="its first line is not one of an AutoTVM log"):
        callback.log_to_file(path, protocol)
    assert path.read_text() == "import torch\n"


def test_log_to_file_begins_a_new_line(tmp_path: Path) -> None:
    """After one that was not written to its end."""
    path = tmp_path / "a.log"
    inp, result = records_of(task_of(8), [1.0])[0]
    callback.log_to_file(path)(None, [inp], [result])
    path.write_text(path.read_text() + '{"input"')
    callback.log_to_file(path)(None, [inp], [result])
    first, partial, last = path.read_text().splitlines()
    assert (partial, last) == ('{"input"', first)
