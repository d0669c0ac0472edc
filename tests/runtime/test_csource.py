"""The C compiler: sources, and links of libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from te_sched.contrib import cc
from te_sched.errors import BuildError
from te_sched.runtime import csource, load_module
from tests.runtime.saved import check, make, needs_compiler


@needs_compiler
def test_link_rejects_a_compiler_that_writes_nothing(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CC", "true")
    with pytest.raises(BuildError, match="check what the compiler writes"):
        make().export_library(tmp_path / "module.so")


@needs_compiler
def test_a_compiler_may_be_called_by_several_words(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CC", f"env {csource.find_compiler()}")
    make().export_library(tmp_path / "module.so")
    check(load_module(tmp_path / "module.so"))
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    cc.create_shared(str(tmp_path / "one.so"), str(tmp_path / "one.c"))


def test_link_tells_of_a_compiler_that_fails_without_a_word(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(BuildError, match="false says: nothing, and ended with code 1"):
        make().export_library(tmp_path / "module.so")
