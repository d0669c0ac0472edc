"""Saved modules and kept programs that were damaged: refused or built again, never a crash."""

from __future__ import annotations

import copy
import importlib
import pickle
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import te_sched
from te_sched import config, te
from te_sched.driver import steps
from te_sched.errors import CallError, TeSchedError
from te_sched.ir.argument_sizes import Size
from te_sched.ir.expr import PointerType, Var
from te_sched.ir.intrinsic_table import EFFECTS
from te_sched.ir.op import RULES
from te_sched.runtime import csource, libraries, load_module
from te_sched.runtime.fingerprint import environment
from tests.runtime.cuda_programs import plus_one
from tests.runtime.saved import check, make

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
from tests.runtime.saved import check
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


def forged(path: Path, data: bytes) -> Path:
    """A file with a whole seal, whose pickled program is `data`."""
    magic = libraries._MAGIC + len(data).to_bytes(8, "little")
    path.write_bytes(libraries.sealed(magic + data))
    return path


def plain(**changes: object) -> tuple[int, dict[str, object]]:
    """An executable of graphs without kernels."""
    whole = {"kind": "relax", "has_kernels": False, "functions": [], "constants": [], "plans": []}
    return 2, {**whole, **changes}


CODE = ["f", ["x"], False, [["ret", ["r", 0]]]]
FORGED = [
    *((2, {"kind": "relax", "has_kernels": False}), (2, {"kind": "other", "has_kernels": False})),
    *((2, {}), (2, {"kind": "relax"}), (2, {"kind": ["relax"], "has_kernels": True})),
    *(
        (2, ()),
        (2, (1, 2, 3)),
        (2, 5),
        (2, "text"),
        (2, ({}, "cuda", None)),
        2,
        (),
        (1, 2, 3),
        "ab",
    ),
    *((3, None), ("2", None)),
    *(plain(functions=5), plain(functions=[CODE[:2]]), plain(constants=[["array", "float32"]])),
    *(plain(constants=5), plain(plans=[{"name": "f"}]), plain(plans=[5]), plain(functions=None)),
    plain(functions=[["f", ["x"], False, [["ret", ["r", 1 << 40]]]]]),
    plain(functions=[["f", ["x"], False, [["ret", ["c", 0]]]]]),
    plain(functions=[["f", ["x"], False, [["call", 1, [], ["r", 0]]]]]),
    plain(functions=[["f", ["x"], False, [["goto", 1 << 40]]]]),
    plain(functions=[["f", ["x"], False, [["other", 1]]]]),
    plain(constants=[["array", "float32", [1 << 50], b""]]),
]


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_forged_programs_are_refused(number: int, tmp_path: Path) -> None:
    with pytest.raises(CallError, match=r"cannot load .*g\.so"):
        load_module(forged(tmp_path / "g.so", pickle.dumps(FORGED[number])))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("te_sched.runtime.object_cache", "Path"),
        ("te_sched.worker_pool", "subprocess.Popen"),
        ("te_sched.ir.stmt", "dataclass"),
        ("te_sched.ir.expr", "Var.__init__"),
        ("te_sched.runtime.loading", "load_module"),
        ("os", "system"),
        ("builtins", "eval"),
    ],
)
def test_forged_names_are_refused(module: str, name: str, tmp_path: Path) -> None:
    data = b"\x80\x04K\x02\x8c" + bytes([len(module)]) + module.encode()
    data += b"\x8c" + bytes([len(name)]) + name.encode() + b"\x93\x8c\x01a\x85R\x86."
    with pytest.raises(CallError, match="is not part of a program"):
        load_module(forged(tmp_path / "g.so", data))


def test_classes_that_moved_are_read_from_files_of_older_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = Size("dimension 0 of A", Var("n"))
    monkeypatch.setattr(Size, "__module__", "te_sched.analysis.schedules.sizes")
    data = libraries.packed(size)
    assert b"te_sched.analysis.schedules.sizes" in data
    monkeypatch.undo()
    read = libraries.unpack(data, "here")
    assert (type(read), read.what) == (Size, size.what)


def test_damaged_pickles_are_refused(tmp_path: Path) -> None:
    """Bytes of programs that were changed before they were sealed."""
    programs = (libraries.packed((plus_one().program, "cuda", None)), libraries.packed(plain()[1]))
    for content in programs:
        data = content[len(libraries._MAGIC) + 8 :]
        for damaged in damages(data)[::3]:
            with suppress(TeSchedError):
                load_module(forged(tmp_path / "g.so", damaged))


def changed(node: Any, **fields: object) -> Any:
    """A node with other fields, which its constructor would refuse."""
    copied = copy.copy(node)
    for name, value in fields.items():
        setattr(copied, name, value)
    return copied


def with_dtype(func: Any, dtype: str) -> Any:
    """A function whose buffers, or whose pointers, have another data type."""
    buffers = {var: changed(buffer, dtype=dtype) for var, buffer in func.buffer_map.items()}
    pointers = [changed(var, pointer=PointerType(dtype)) for var in func.params[:2]]
    if buffers:
        return changed(func, buffer_map=buffers)
    return changed(func, params=(*pointers, *func.params[2:]))


@pytest.mark.parametrize(
    "change",
    [
        lambda host, kernel: {},
        lambda host, kernel: {"main": host},
        lambda host, kernel: {
            "main": host,
            "main_kernel": changed(kernel, params=(changed(kernel.params[0], pointer="float32"),)),
        },
        lambda host, kernel: {"main_kernel": kernel},
        lambda host, kernel: {5: host},
        lambda host, kernel: {"main": 5},
        lambda host, kernel: {"main": changed(host, body=5), "main_kernel": kernel},
        lambda host, kernel: {"main": changed(host, buffer_map={1: 2}), "main_kernel": kernel},
        lambda host, kernel: {"main": host, "main_kernel": changed(kernel, params=(1, 2))},
        lambda host, kernel: {"main": with_dtype(host, "float33"), "main_kernel": kernel},
        lambda host, kernel: {"main": host, "main_kernel": with_dtype(kernel, "float33")},
        lambda host, kernel: {
            "main": changed(host, attrs={"te_sched.sizes": [5]}),
            "main_kernel": kernel,
        },
    ],
)
def test_forged_kernels_are_refused(change: Any, tmp_path: Path) -> None:
    program = plus_one().program
    functions = change(program["main"], program["main_kernel"])
    data = pickle.dumps((2, (changed(program, functions=functions), "cuda", None)))
    with pytest.raises(CallError, match=r"cannot load .*g\.so: its program is damaged"):
        load_module(forged(tmp_path / "g.so", data))


def test_all_classes_of_programs_are_listed() -> None:
    for module, names in libraries._CLASSES.items():
        for name in names:
            assert getattr(importlib.import_module(module), name).__module__ == module
