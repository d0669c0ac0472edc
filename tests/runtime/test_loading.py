"""Files of modules that are loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from te_sched.errors import CallError
from te_sched.ir import ops
from te_sched.runtime import libraries, load_module
from tests.codegen.programs import build, elementwise
from tests.runtime.saved import KINDS, N, check, make, needs_compiler


@pytest.mark.parametrize("suffix", KINDS)
def test_loaded_module_runs_and_checks_its_arguments(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    make().export_library(path)
    loaded = load_module(path)
    check(loaded)
    with pytest.raises(CallError, match="expected 100 along axis 0"):
        loaded(np.zeros(3, "float32"), np.zeros(3, "float32"))
    with pytest.raises(
        CallError, match="cannot show the source of a loaded module: files contain machine"
    ):
        loaded.get_source()


@needs_compiler
def test_exporting_again_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "module.so"
    make().export_library(path)
    first = load_module(path)
    build(elementwise(lambda x: ops.add(x, 2.0), ["float32"], N)).export_library(path)
    check(first)
    a, b = np.zeros(N, "float32"), np.zeros(N, "float32")
    load_module(path)(a, b)
    assert b[0] == 2


def damaged(path: Path, old: bytes, new: bytes) -> Path:
    """Another content, as if it had been written so."""
    data = libraries.unseal(path.read_bytes(), "")
    assert old in data
    path.write_bytes(libraries.sealed(data.replace(old, new)))
    return path


def test_load_rejects_what_it_cannot_run(tmp_path: Path) -> None:
    path = tmp_path / "module.o"
    with pytest.raises(CallError, match="No such file or directory"):
        load_module(path)
    path.write_bytes(b"\x7fELF nothing")
    with pytest.raises(CallError, match="it was not made by te_sched"):
        load_module(path)
    make().export_library(path)
    with pytest.raises(CallError, match="its format is version 9"):
        load_module(damaged(path, b'{"version":6,', b'{"version":9,'))
    make().export_library(path)
    with pytest.raises(CallError, match="this processor lacks"):
        load_module(damaged(path, b'"features":"+', b'"features":"+x'))
