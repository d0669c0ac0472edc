"""Code of files that is linked into this process."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.runtime import load_module, loader, registry
from tests.codegen.programs import build, elementwise
from tests.runtime.saved import KINDS, N, check, make


@pytest.mark.parametrize("suffix", KINDS)
def test_another_process_loads_it(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    make().export_library(str(path))
    program = (
        "from te_sched.runtime import load_module\nfrom tests.runtime.saved import check\n"
        f"check(load_module({str(path)!r}))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("suffix", KINDS)
def test_two_loads_of_one_file_live_apart(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    registry.register_extern("plus_one", lambda x: x + 1)
    call = ops.const(0.0)
    del call
    plus = elementwise(
        lambda x: E.Call("float32", "tir.call_extern", (E.StringImm("plus_one"), x)), ["float32"], N
    )
    build(plus).export_library(path)
    first, second = load_module(path), load_module(path)
    del first
    gc.collect()
    check(second)
    registry.remove_extern("plus_one")


@pytest.mark.parametrize("suffix", KINDS)
def test_missing_extern_is_named_when_loading(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the code is unloaded again."""
    unloaded = []
    monkeypatch.setattr(
        loader, "_unload", lambda *args, unload=loader._unload: unloaded.append(unload(*args))
    )
    path = tmp_path / f"module{suffix}"
    registry.register_extern("soon_gone", lambda x: x)
    program = elementwise(
        lambda x: E.Call("float32", "tir.call_extern", (E.StringImm("soon_gone"), x)),
        ["float32"],
        N,
    )
    build(program).export_library(path)
    registry.remove_extern("soon_gone")
    gc.collect()
    unloaded.clear()
    with pytest.raises(BuildError, match="external function soon_gone is not registered"):
        load_module(path)
    gc.collect()
    assert len(unloaded) == 1
