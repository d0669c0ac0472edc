"""Every mistake of the table is refused with a message in four parts, and every cure works."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import te_sched
from te_sched import config
from te_sched.errors import (
    BuildError,
    InternalError,
    LoweringError,
    Place,
    ScheduleError,
    TeSchedError,
)
from tests.mistakes.all import TABLE
from tests.mistakes.checked_build import checked_build
from tests.mistakes.table import Mistake

HERE = str(Path(__file__).parent)


def run(program: Callable[..., Any], folder: Path) -> None:
    with config.scoped(verify_passes=False):  # as users run it
        program(*[folder for _ in inspect.signature(program).parameters])


@pytest.mark.parametrize("one", TABLE, ids=lambda one: one.name)
def test_mistake_is_refused(one: Mistake, tmp_path: Path) -> None:
    with pytest.raises(TeSchedError, match=one.match) as caught:
        run(one.wrong, tmp_path)
    error = caught.value
    assert type(error) is one.error
    assert type(error) is not InternalError
    assert error.what
    assert error.why
    assert error.cure
    assert f"{HERE}/{one.wrong.__module__.rpartition('.')[2]}.py:" in error.where


@pytest.mark.parametrize("one", TABLE, ids=lambda one: one.name)
def test_mistake_names_what_is_concerned(one: Mistake, tmp_path: Path) -> None:
    with pytest.raises(TeSchedError, match=one.match) as caught:
        run(one.wrong, tmp_path)
    if not isinstance(caught.value, ScheduleError | LoweringError | BuildError):
        return
    named = re.findall(r"\b(?:stage|axis) [A-Za-z]\S*", caught.value.what)
    assert not named or any(type(one) is not Place for one in caught.value.about)


@pytest.mark.parametrize("one", TABLE, ids=lambda one: one.name)
def test_cure_works(one: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(te_sched, "build", checked_build)
    assert one.right is not None, "add the program as the cure says: @name.cure"
    run(one.right, tmp_path)


def test_table_is_long_enough() -> None:
    assert len(TABLE) >= 80
    assert len({one.title for one in TABLE}) == len({one.name for one in TABLE}) == len(TABLE)
