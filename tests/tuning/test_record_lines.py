"""Torn lines of logs and databases."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from te_sched.autotvm.record import _BEGIN as LOG
from te_sched.meta_schedule.database.json_files import _BEGIN_OF_RECORD as RECORD
from te_sched.meta_schedule.database.json_files import _BEGIN_OF_WORKLOAD as WORKLOAD
from te_sched.tuning.record_lines import is_torn, line_end_of

LINES = [
    (LOG, '{"input": ["llvm", "f", [8], {}], "version": 0.2}'),
    (WORKLOAD, '["-4623", "text"]'),
    (RECORD, "[0, [[[], []], [0.5], {}]]"),
]


@pytest.mark.parametrize(("begin", "line"), LINES)
def test_each_beginning_of_a_line_is_torn(begin: re.Pattern[str], line: str) -> None:
    assert all(is_torn(line[:size], begin) for size in range(1, len(line)))
    assert not is_torn(line, begin)


@pytest.mark.parametrize(("begin", "_line"), LINES)
@pytest.mark.parametrize(
    "line", ["", "notes", "[1, 2", "{}", '{"a": 1', '["name", "Ada"', "[" * 99]
)
def test_other_lines_are_not_torn(begin: re.Pattern[str], _line: str, line: str) -> None:
    assert not is_torn(line, begin)


def test_a_line_that_is_nested_too_deeply_is_not_torn() -> None:
    assert not is_torn('{"input": ' + "[" * 100_000, LOG)


@pytest.mark.parametrize(("content", "end"), [(b"", b""), (b"a\n", b""), (b"a\nb", b"\n")])
def test_the_last_line_is_ended(content: bytes, end: bytes, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(content)
    with open(tmp_path / "log", "ab+") as file:
        assert line_end_of(file) == end
