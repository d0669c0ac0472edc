"""The installed LLVM has each quirk that te_sched works around, and no other of the table."""

from __future__ import annotations

import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from te_sched.codegen.llvm import quirks
from tests.codegen.llvm_quirks import REPRODUCERS, ROOT

MAJOR = llvm.llvm_version_info[0]
ROWS = {name: row for name, row in vars(quirks).items() if isinstance(row, quirks.Quirk)}


def run(name: str, *options: str) -> tuple[float, bool]:
    """The time that a reproducer takes, infinite where that is too long, and whether it is true."""
    command = [sys.executable, "-m", "tests.codegen.llvm_quirks", name, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode < 0:  # the limit of its time ends it
        return float("inf"), False
    assert done.returncode == 0, done.stderr
    seconds, is_shown = done.stdout.split()
    return float(seconds), is_shown == "True"


def test_every_quirk_has_a_reproducer() -> None:
    assert set(ROWS) == set(REPRODUCERS)
    assert all(set(row.versions) <= set(quirks.CHECKED) for row in ROWS.values())


def test_the_installed_llvm_was_checked() -> None:
    assert MAJOR in quirks.CHECKED, "run this file, and add the version to the rows that it has"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of time are Linux's")
@pytest.mark.parametrize("name", REPRODUCERS)
def test_the_installed_llvm_has_the_quirks_of_its_rows(name: str) -> None:
    seconds, is_shown = run(name)
    if name == "COPIED_BODIES":
        is_shown = seconds > 1.4 * run(name, "remedied")[0]
    is_shown = is_shown or seconds == float("inf")
    assert is_shown == (MAJOR in ROWS[name].versions)


@pytest.mark.parametrize("name", ROWS)
def test_a_version_that_was_not_checked_gets_the_remedies(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llvm, "llvm_version_info", (99, 0, 0))
    assert ROWS[name].is_here
