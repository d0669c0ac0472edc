"""Files that modules are saved in, and their seals."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from te_sched.errors import BuildError, CallError
from te_sched.runtime import load_module
from tests.runtime.saved import KINDS, make


def test_export_rejects_wrong_places(tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"'\.txt' is not a kind of library"):
        make().export_library(tmp_path / "module.txt")
    with pytest.raises(CallError, match="its folder does not exist"):
        make().export_library(tmp_path / "none" / "module.o")


@pytest.mark.parametrize("suffix", [*KINDS, ".tar", ".ll"])
def test_a_save_that_fails_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))
    try:
        with pytest.raises((CallError, BuildError), match=r"File too large|says: "):
            make().save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", [*KINDS, ".tar", ".ll"])
def test_pipes_are_neither_saved_to_nor_loaded(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    os.mkfifo(path)
    with pytest.raises(CallError, match="No such device"):
        make().save(path)
    with pytest.raises(CallError, match=r"cannot load .*: it is a pipe"):
        load_module(path)
    assert path.is_fifo()
