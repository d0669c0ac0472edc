"""Files that users name: read and written whole, refused otherwise, never waited for."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from te_sched import files
from te_sched.errors import BuildError, CallError

posix = pytest.mark.skipif(os.name != "posix", reason="no pipes among files here")


def special(folder: Path) -> dict[str, tuple[Path, str]]:
    """Paths that are no regular file, and what reading and writing them both say."""
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "dangling").symlink_to(folder / "none" / "there")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(folder / "socket"))
    (folder / "file").write_text("kept")
    return {
        "pipe": (folder / "pipe", "it is a pipe|No such device"),
        "folder": (folder / "folder", "Is a directory"),
        "loop": (folder / "loop", "Too many levels"),
        "dangling": (folder / "dangling", "No such file"),
        "socket": (folder / "socket", "No such device"),
        "inside a file": (folder / "file" / "x", "Not a directory"),
        "long": (folder / ("x" * 300), "File name too long"),
        "full": (Path("/dev/full"), "it is a device|No space left"),
    }


KINDS = ("pipe", "folder", "loop", "dangling", "socket", "inside a file", "long", "full")


@posix
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_neither_read_nor_written(tmp_path: Path, kind: str) -> None:
    path, why = special(tmp_path)[kind]
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CallError, match=f"cannot load .*({why})"):
        files.read(path, "load", "check the path")
    with pytest.raises(BuildError, match=f"cannot write .*({why})"):
        files.write(path, b"content", "write", error=BuildError)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a\0b", "cannot contain null characters"),
        ("a\ud800b", "cannot encode"),
        ("", "it is not a path"),
        (b"bytes", "it is not a path"),
        (None, "it is not a path"),
        (3, "it is not a path"),
    ],
)
def test_what_is_no_path_is_refused(path: object, why: str) -> None:
    with pytest.raises(CallError, match=why):
        files.read(path, "load", "check the path")
    with pytest.raises(CallError, match=why):
        files.write(path, b"", "write")


def test_read_text_rejects_what_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe9")
    with pytest.raises(CallError, match="is not UTF-8 text"):
        files.read_text(tmp_path / "latin", "load", "check the path")


@posix
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(CallError, match="File too large"):
            files.write(path, "x" * 1000, "write")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual_one(tmp_path: Path) -> None:
    path, usual = tmp_path / "file", tmp_path / "usual"
    usual.write_text("")
    files.write(path, b"one", "write")
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    files.write(path, b"two", "write", executable=True)
    assert (path.stat().st_mode & 0o777, path.read_bytes()) == (0o750, b"two")


def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # of who is not root
    with pytest.raises(CallError, match="Permission denied"):
        files.write(path, "new", "write")
    assert path.read_text() == "old"


@posix
def test_links_lead_to_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    files.write(tmp_path / "link", b"content", "write")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"


@posix
def test_a_pipe_that_is_read_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    for _ in range(200):  # until the reader is there
        try:
            files.write(tmp_path / "pipe", b"content", "write")
            break
        except CallError:
            time.sleep(0.01)
    reader.join()
    assert found == [b"content"]
    assert not (tmp_path / "pipe").is_file()


@posix
def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    program = f"""
from te_sched import files
print("ready", flush=True)
while True:
    for letter in b"ab":
        files.write({str(path)!r}, bytes([letter]) * 100_000, "write")
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        for _ in range(50):
            if path.exists():
                assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)
            time.sleep(0.002)
        writer.send_signal(signal.SIGKILL)
    assert path.read_bytes() in (b"a" * 100_000, b"b" * 100_000)


def test_temporary_folder_rejects_where_none_can_be_made(monkeypatch) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    with (
        pytest.raises(CallError, match="needs a temporary folder: No space"),
        files.temporary_folder("load module.so"),
    ):
        pass


def test_read_rejects_what_does_not_fit_into_memory(tmp_path: Path, monkeypatch) -> None:
    def enormous(*_args: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(files, "read_at_once", enormous)
    with pytest.raises(CallError, match="not enough memory"):
        files.read(tmp_path / "file", "load", "check the path")


@pytest.mark.parametrize(
    ("name", "before", "content", "mark"),
    [
        ("notes.txt", "my only copy", b"\0binary", ""),  # a library over a text
        ("model.py", "import torch", "define void @f()", ""),
        ("index.html", "<!DOCTYPE html>", "<!DOCTYPE html><b>", "<b>"),
    ],
)
def test_write_rejects_a_file_that_te_sched_did_not_write(
    name: str, before: str, content: bytes | str, mark: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(before)
    with pytest.raises(CallError, match="would replace a file that te_sched did not write"):
        files.write(path, content, "save to", mark=mark)
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("name", "before", "content", "mark"),
    [
        ("a.so", b"\0old", b"\0new", ""),
        ("a.ll", b"old", "new", ""),
        ("a.html", b"<b>old", "<b>new", "<b>"),
        ("a.py", b"", "new", ""),
    ],
)
def test_write_replaces_a_file_of_its_kind(
    name: str, before: bytes, content: bytes | str, mark: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(before)
    files.write(path, content, "save to", mark=mark)
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
