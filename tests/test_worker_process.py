"""The program of a worker process: what it sends and answers."""

from __future__ import annotations

import pickle
import resource
import sys
import threading
from typing import Any

import pytest

from te_sched.errors import SourceLocation, WorkerError, WorkerMemoryError
from te_sched.worker_process import (
    WorkerAnswer,
    WorkerCall,
    WorkerSettings,
    _answer,
    _call,
    _portable,
    _prepare,
    packed,
)

HERE = SourceLocation(__file__, 1)


class Local(Exception):
    """An exception that needs two arguments, so that pickle cannot make it again."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def answer_to(function: Any, *args: Any) -> WorkerAnswer:
    answer: WorkerAnswer = pickle.loads(_answer(_call, packed(WorkerCall(function, args, HERE))))
    return answer


def test_results_are_answers() -> None:
    assert answer_to(divmod, 17, 5) == WorkerAnswer(True, (3, 2))
    assert answer_to(pow, 2, 3) == WorkerAnswer(True, 8)


@pytest.mark.parametrize(
    ("function", "args", "kind", "text"),
    [
        (divmod, (1, 0), ZeroDivisionError, "division or modulo by zero"),
        (sys.exit, (3,), WorkerError, "a call in a worker process raised SystemExit"),
        (threading.Lock, (), WorkerError, "cannot send a call to or from a worker process"),
    ],
)
def test_exceptions_are_answers(function: Any, args: Any, kind: type, text: str) -> None:
    answer = answer_to(function, *args)
    assert not answer.succeeded
    assert type(answer.value) is kind
    assert text in str(answer.value)


def test_exceptions_keep_their_traceback_as_a_note() -> None:
    error = _portable(ValueError("x"))
    assert type(error) is ValueError
    assert error.__notes__ == ["in a worker process:\nValueError: x\n"]
    substitute = _portable(Local(1, 2))
    assert type(substitute) is WorkerError
    assert "raised Local" in str(substitute)
    assert "1 and 2" in str(substitute)
    assert "Local: 1 and 2" in substitute.__notes__[0]
    assert type(_portable(MemoryError())) is WorkerMemoryError


def test_what_belongs_to_the_main_program_is_sent_as_its_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("cloudpickle")
    monkeypatch.setattr(Local, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "Local", Local, raising=False)
    data = packed(Local)
    monkeypatch.delattr(sys.modules["__main__"], "Local")
    assert pickle.loads(data)(1, 2).args == ("1 and 2",)
    assert b"__main__" not in packed(len)


def test_settings_are_a_limit_and_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        _prepare(pickle.dumps(WorkerSettings(None, None)))
        assert resource.getrlimit(resource.RLIMIT_DATA) == limits
        _prepare(pickle.dumps(WorkerSettings(1 << 40, print)))
        assert resource.getrlimit(resource.RLIMIT_DATA) == (1 << 40, limits[1])
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
    assert capsys.readouterr().out == "\n"
