"""Saved modules and kept programs that were damaged: refused or built again, never a crash."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import pytest

import te_sched
from te_sched import config, te
from te_sched.driver import steps
from te_sched.errors import CallError
from te_sched.ir.intrinsic_table import EFFECTS
from te_sched.ir.op import RULES
from te_sched.runtime import csource, load_module
from te_sched.runtime.fingerprint import environment
from tests.runtime.test_cuda_launch import plus_one
from tests.runtime.test_export import check, make

PLACES = 60
needs_compiler = pytest.mark.skipif(csource.find_compiler() is None, reason="no C compiler")
KINDS = [".o", ".tar", pytest.param(".so", marks=needs_compiler)]


def damages(data: bytes) -> list[bytes]:
    """Content with a byte changed, and cut off, at many places."""
    choose = random.Random(len(data))
    places = [0, len(data) - 1, *(choose.randrange(len(data)) for _ in range(PLACES))]
    flipped = [
        data[:k] + bytes([data[k] ^ 1 << choose.randrange(8)]) + data[k + 1 :] for k in places
    ]
    cut = [data[:k] for k in (0, 1, 7, 64, len(data) // 3, len(data) // 2, len(data) - 1)]
    return [*flipped, *cut, data + b"\0", b"\0" * len(data), data[::-1], bytes(data[64:]) + data]


def refusal(path: Path, data: bytes) -> CallError | None:
    """Why a file of this content is not loaded."""
    path.write_bytes(data)
    try:
        load_module(path)
    except CallError as error:
        return error
    return None


@pytest.mark.parametrize("kind", ["llvm", "cuda"])
@pytest.mark.parametrize("suffix", KINDS)
def test_damaged_modules_are_refused(kind: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    (make() if kind == "llvm" else plus_one()).export_library(path)
    whole = path.read_bytes()
    found = [refusal(path, data) for data in damages(whole)]
    refused = [error for error in found if error is not None]
    assert all(error.fault.startswith("cannot load ") and error.help for error in refused)
    # what an archive has beside the module is not read
    assert len(refused) == len(found) if suffix != ".tar" else len(refused) > 10
    path.write_bytes(whole)
    load_module(path)


@pytest.mark.parametrize("suffix", [".o", ".so", ".tar"])
def test_foreign_files_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    path.write_bytes(Path(sys.executable).read_bytes()[:100_000])
    with pytest.raises(CallError, match=r"it was not made by te_sched|it cannot be read"):
        load_module(path)


def build_one() -> te_sched.runtime.Module:
    a = te.placeholder((100,), name="A")
    b = te.compute((100,), lambda i: a[i] + 1.0, name="B")
    return te_sched.build(te.create_schedule(b.op), [a, b])


@pytest.fixture
def settled(monkeypatch):
    """As if the files of te_sched were old enough for the cache."""
    monkeypatch.setattr(config, "STARTED", time.time_ns() + 10**10)
    environment.cache_clear()
    with (
        mock.patch.dict(RULES, clear=True),  # other tests register some
        mock.patch.dict(EFFECTS, steps._EFFECTS, clear=True),
    ):
        yield
    environment.cache_clear()


@pytest.mark.usefixtures("settled")
def test_damaged_entries_of_the_cache_are_built_again(tmp_path: Path) -> None:
    check(build_one())  # what a process links once is read once
    with config.scoped(cache=True, cache_dir=str(tmp_path / "cache"), verify_passes=False):
        build_one()
        entries = {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
        assert entries
        damaged = {path: damages(content)[:: len(entries)] for path, content in entries.items()}
        for path, contents in damaged.items():
            for content in contents[::3]:
                path.write_bytes(content)
                check(build_one())
                assert path.read_bytes() != content


_RUN = """
import time
from te_sched import config
config.STARTED = time.time_ns() + 10**10
from tests.runtime.test_damaged_files import build_one
from tests.runtime.test_export import check
check(build_one())
"""


def test_entries_of_another_te_sched_are_not_taken(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TE_SCHED_CACHE", "1")
    monkeypatch.setenv("TE_SCHED_CACHE_DIR", str(folder))
    monkeypatch.setenv("TE_SCHED_VERIFY", "0")
    subprocess.run([sys.executable, "-c", _RUN], check=True, timeout=60)
    before = {path.name for path in folder.iterdir()}
    code = "from te_sched.runtime import fingerprint\nfingerprint._FORMAT = 999\n" + _RUN
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    after = {path.name for path in folder.iterdir()}
    assert len(after) == 2 * len(before)
    assert before < after


def test_a_program_in_a_file_runs_nothing_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "module.o"
    plus_one().export_library(path)
    path.write_bytes(path.read_bytes().replace(b"te_sched.ir.expr", b"os.path.ir.wxyzz"))
    with pytest.raises(CallError, match="its digest does not fit"):
        load_module(path)
