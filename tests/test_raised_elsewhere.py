"""Errors that are made in other processes, or by names that lead nowhere."""

from __future__ import annotations

import pytest

from te_sched.compat.absent import AbsentName
from te_sched.errors import WorkerError, WorkerMemoryError
from te_sched.worker_process import _portable


def test_errors_of_workers_are_portable() -> None:
    class Local(Exception):
        pass

    assert isinstance(_portable(MemoryError()), WorkerMemoryError)
    assert isinstance(_portable(Local()), WorkerError)


def test_absent_names_are_told_when_they_are_used() -> None:
    absent = AbsentName("tvm.nowhere", "name")
    with pytest.raises(AttributeError, match="name"):
        absent()
    with pytest.raises(AttributeError, match="name"):
        absent[0]
