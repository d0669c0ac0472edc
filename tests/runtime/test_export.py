"""Saving modules and loading them again."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from te_sched.contrib import cc
from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.runtime import csource, libraries, load_module, loader, registry
from te_sched.runtime.module import Module
from tests.codegen.programs import build, elementwise

N = 100
needs_compiler = pytest.mark.skipif(csource.find_compiler() is None, reason="no C compiler")
KINDS = [".o", pytest.param(".so", marks=needs_compiler)]


def make(kind: str = "parallel") -> Module:
    return build(elementwise(lambda x: ops.add(x, 1.0), ["float32"], N, kind))


def check(module: Module) -> None:
    a, b = np.arange(N, dtype="float32"), np.zeros(N, "float32")
    module(a, b)
    np.testing.assert_array_equal(b, a + 1)


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


@pytest.mark.parametrize("suffix", KINDS)
def test_another_process_loads_it(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    make().export_library(str(path))
    program = f"from tests.runtime.test_export import *\ncheck(load_module({str(path)!r}))"
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


@needs_compiler
@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_c_source_travels_with_the_module(suffix: str, tmp_path: Path) -> None:
    program = elementwise(
        lambda x: E.Call("float32", "tir.call_extern", (E.StringImm("next_up"), x)), ["float32"], N
    )
    source = E.StringImm("float next_up(float x) { return x + 1; }\n")
    body = S.AttrStmt(E.StringImm(""), "pragma_import_c", source, program.body)
    build(S.PrimFunc(program.params, body, program.buffer_map, program.attrs)).export_library(
        tmp_path / f"m{suffix}"
    )
    check(load_module(tmp_path / f"m{suffix}"))


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
        load_module(damaged(path, b'{"version":5,', b'{"version":9,'))
    make().export_library(path)
    with pytest.raises(CallError, match="this processor lacks"):
        load_module(damaged(path, b'"features":"+', b'"features":"+x'))


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
