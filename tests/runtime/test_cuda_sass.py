"""Machine code of kernels as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from te_sched.errors import CallError
from te_sched.runtime import cuda_sass
from tests.runtime.cuda_programs import plus_one
from tests.runtime.fake_cuda import FakeDriver
from tests.runtime.fake_cuda import driver as driver


def test_sass_is_what_a_tool_prints(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = plus_one().imported_modules[0]
    monkeypatch.setattr(cuda_sass, "_folders", lambda: [str(tmp_path)])
    with pytest.raises(CallError, match=r"neither nvdisasm nor cuobjdump was found"):
        code.get_source("sass")
    tool = tmp_path / "nvdisasm"
    tool.write_text('#!/bin/sh\ntest "$1" = --print-code && echo "EXIT ;"\n')
    tool.chmod(0o755)
    assert code.get_source("sass") == "EXIT ;\n"
    tool.write_text("#!/bin/sh\necho no such architecture >&2; exit 1\n")
    with pytest.raises(CallError, match="no such architecture"):
        code.get_source("sass")


def test_tools_are_looked_for_where_the_toolkit_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "cuobjdump"
    tool.write_text('#!/bin/sh\n[ "$1" = -sass ] && /bin/cat "$2"\n')
    tool.chmod(0o755)
    assert cuda_sass.disassemble(b"code of kernels") == "code of kernels"


def test_a_tool_that_says_nothing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cuda_sass, "_folders", lambda: [str(tmp_path)])
    tool = tmp_path / "nvdisasm"
    tool.write_text("#!/bin/sh\nexit 3\n")
    tool.chmod(0o755)
    with pytest.raises(CallError, match=r"nvdisasm says: "):
        cuda_sass.disassemble(b"")
