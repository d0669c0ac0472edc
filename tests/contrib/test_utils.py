"""Temporary folders."""

from pathlib import Path

import pytest

from te_sched.contrib import utils
from te_sched.errors import CallError


def test_tempdir_goes_with_its_object():
    folder = utils.tempdir()
    (folder / "a.txt").write_text("a")
    assert folder.listdir() == ["a.txt"]
    path = folder.path
    del folder
    assert not path.exists()


def test_a_path_keeps_its_temporary_folder():
    path = utils.tempdir().relpath("a.txt")
    Path(path).write_text("a")
    folder = Path(path).parent
    del path
    assert not folder.exists()


def test_tempdir_rejects_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CallError, match=r"cannot create the folder .*: File exists"):
        utils.tempdir(str(tmp_path / "file"))
    folder = utils.tempdir()
    folder.remove()
    with pytest.raises(CallError, match=r"cannot list the folder .*: No such file"):
        folder.listdir()
