"""Every call of the table is refused with a message in four parts; every help works."""

from __future__ import annotations

import inspect
import re
import sys
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
    ScheduleError,
    SourceLocation,
    TeSchedError,
)
from tests.refusals.all import TABLE
from tests.refusals.checked_build import checked_build
from tests.refusals.table import Refusal
from tests.schedule.programs import snapshot

MISTAKES = [one for one in TABLE if one.title]
FEWEST = 600
# What builds and prints programs that are written by hand.
HELPERS = ("tests/codegen/programs.py", "tests/codegen/cuda/kernels.py")


def run(call: Callable[..., Any], **given: Any) -> None:
    """Call with what the parameters name."""
    call(*[given[name] for name in inspect.signature(call).parameters if name in given])


def named(one: Refusal) -> str:
    return f"{one.area}.{one.name}"


@pytest.mark.parametrize("one", TABLE, ids=named)
def test_is_refused(one: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p = one.program() if one.program is not None else None
    before = snapshot(p.s) if p is not None else []
    with (
        config.scoped(verify_passes=not one.title),  # mistakes as users run them
        pytest.raises(TeSchedError, match=one.match) as caught,
    ):
        run(one.call, folder=tmp_path, patch=monkeypatch, p=p)
    error = caught.value
    assert type(error) is one.error
    assert type(error) is not InternalError
    assert error.fault
    assert error.help
    own = str(sys.modules[one.call.__module__].__file__)
    assert any(f"{place}:" in error.where for place in (own, *HELPERS))
    if p is not None:
        assert all(a is b or a == b for a, b in zip(before, snapshot(p.s), strict=True))
    if one.title:
        check_names(error)


def check_names(error: TeSchedError) -> None:
    """What an error is about is told in `where`."""
    if not isinstance(error, ScheduleError | LoweringError | BuildError):
        return
    found = re.findall(r"\b(?:stage|axis) [A-Za-z]\S*", error.fault)
    assert not found or any(type(one) is not SourceLocation for one in error.about)


@pytest.mark.parametrize("one", MISTAKES, ids=named)
def test_cure_works(one: Refusal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(te_sched, "build", checked_build)
    assert one.right is not None, "add the program as the help says: @name.help"
    with config.scoped(verify_passes=False):
        run(one.right, folder=tmp_path)


def test_table_is_whole() -> None:
    assert len(TABLE) >= FEWEST
    assert len({one.title for one in MISTAKES}) == len({named(one) for one in MISTAKES})
    assert len(MISTAKES) == len({one.title for one in MISTAKES}) >= 80
