"""Built candidates in files."""

import os
from pathlib import Path

import pytest

import te_sched
from te_sched.contrib import cc
from te_sched.errors import BuildError, TeSchedError
from te_sched.tuning.artifacts import Artifact, export, remove_artifact, temporary_folder
from tests.meta_schedule.programs import MODULE


def test_each_module_has_a_folder_of_its_own(tmp_path):
    module = te_sched.build(MODULE, target="llvm")
    first, second = (export(module, str(tmp_path)) for _ in range(2))
    assert Path(first).name == "module.o"
    assert Path(first).parent != Path(second).parent
    assert Path(first).parent.parent == tmp_path
    assert te_sched.runtime.load_module(first).entry_name == "main"
    remove_artifact(first)
    assert not os.path.exists(first)
    assert os.path.exists(second)


def test_a_linker_of_the_user_makes_libraries(tmp_path):
    path = export(te_sched.build(MODULE, target="llvm"), str(tmp_path), cc.create_shared)
    assert path.endswith("module.so")


class Unwritable:
    def export_library(self, path, fcompile):
        raise BuildError("cannot write")


def test_what_cannot_be_written_leaves_no_folder(tmp_path):
    with pytest.raises(TeSchedError, match="cannot write"):
        export(Unwritable(), str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_not_removed(tmp_path):
    path = tmp_path / "module.o"
    path.write_bytes(b"")
    remove_artifact(str(path))
    assert path.exists()


def test_artifacts_travel_as_bytes(tmp_path):
    path = tmp_path / "module.o"
    path.write_bytes(b"code")
    artifact = Artifact(str(path))
    copy = artifact.written()
    assert (Path(copy).name, Path(copy).read_bytes()) == ("module.o", b"code")
    remove_artifact(copy)
    assert not os.path.exists(copy)


def test_temporary_folders_are_removed_when_they_are_not_used_any_more():
    folder = temporary_folder("te_sched-test-")
    path = folder.name
    assert os.path.isdir(path)
    del folder
    assert not os.path.exists(path)
