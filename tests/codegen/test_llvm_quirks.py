"""The installed LLVM has each quirk that te_sched works around, and no other of the table."""

from __future__ import annotations

import signal
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from te_sched.codegen.llvm import quirks
from tests.codegen.llvm_quirks import REPRODUCERS, ROOT

MAJOR = llvm.llvm_version_info[0]
ROWS = {name: row for name, row in vars(quirks).items() if isinstance(row, quirks.Quirk)}


def has_quirk(name: str) -> bool:
    """Whether a reproducer shows its quirk, if only by the time that it takes."""
    command = [sys.executable, "-m", "tests.codegen.llvm_quirks", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGPROF:
        return True
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() == "True"


def test_every_quirk_has_a_reproducer() -> None:
    assert set(ROWS) == set(REPRODUCERS)
    assert all(set(row.versions) <= set(quirks.CHECKED) for row in ROWS.values())


def test_the_installed_llvm_was_checked() -> None:
    assert MAJOR in quirks.CHECKED, "run this file, and add the version to the rows that it has"


@pytest.mark.skipif(sys.platform != "linux", reason="the timer is Linux's")
@pytest.mark.parametrize("name", REPRODUCERS)
def test_the_installed_llvm_has_the_quirks_of_its_rows(name: str) -> None:
    assert has_quirk(name) == (MAJOR in ROWS[name].versions)


@pytest.mark.parametrize("name", ROWS)
def test_a_version_that_was_not_checked_gets_the_remedies(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llvm, "llvm_version_info", (99, 0, 0))
    assert ROWS[name].is_here
