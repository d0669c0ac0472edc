"""The cache on disk: whole entries or none, whatever happens to the files."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from te_sched import config
from te_sched.runtime.object_cache import ObjectCache, current_cache

KEY, OTHER = "ab" * 32, "cd" * 32
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files here")


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    with config.scoped(cache=True, cache_dir=str(tmp_path / "cache")):
        found = current_cache()
    assert found is not None
    return found


def test_what_was_put_is_found(cache: ObjectCache) -> None:
    cache.put(KEY, b"content")
    assert cache.get(KEY) == b"content"
    assert cache.get(OTHER) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:-1] + b"?",
        lambda content: content[:20],
        lambda content: b"",
        lambda content: content + b"more",
    ],
)
def test_damaged_entries_are_not_there(cache: ObjectCache, damage) -> None:
    cache.put(KEY, b"content")
    path = cache.folder / KEY
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"content")
    assert cache.get(KEY) == b"content"


def test_an_entry_of_another_key_is_not_taken(cache: ObjectCache) -> None:
    cache.put(KEY, b"content")
    (cache.folder / KEY).rename(cache.folder / OTHER)
    assert cache.get(OTHER) is None


def test_those_unused_for_longest_go(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, 4000)
    for number in range(6):
        cache.put(f"{number}", bytes(1000))
        long_ago = time.time() - 10_000 + number
        if number != 1:
            os.utime(tmp_path / f"{number}", (long_ago, long_ago))
    kept = {path.name for path in tmp_path.iterdir()}
    assert "1" in kept
    assert "5" in kept
    assert "0" not in kept
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000


def test_a_hit_makes_an_entry_young(cache: ObjectCache) -> None:
    cache.put(KEY, b"content")
    os.utime(cache.folder / KEY, (1, 1))
    cache.get(KEY)
    assert time.time() - (cache.folder / KEY).stat().st_mtime < 60


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    ObjectCache(tmp_path, 100).put(KEY, bytes(100))
    assert not list(tmp_path.iterdir())


def test_abandoned_files_are_removed(cache: ObjectCache) -> None:
    abandoned, current = cache.folder / ".new-abandoned", cache.folder / ".new-current"
    for path in (abandoned, current):
        path.write_bytes(b"half")
    os.utime(abandoned, (1, 1))
    cache.put(KEY, b"content")
    assert not abandoned.exists()
    assert current.exists()


def test_a_folder_that_vanished_is_made_again(cache: ObjectCache) -> None:
    cache.folder.rmdir()
    assert cache.get(KEY) is None
    cache.put(KEY, b"content")
    assert cache.get(KEY) == b"content"


@posix
def test_folder_and_files_are_the_users_alone(cache: ObjectCache) -> None:
    cache.put(KEY, b"content")
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert (cache.folder / KEY).stat().st_mode & 0o777 == 0o600


@posix
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with (
        pytest.warns(RuntimeWarning, match="others may write"),
        config.scoped(cache=True, cache_dir=str(tmp_path)),
    ):
        assert current_cache() is None


@posix
def test_a_file_that_others_may_write_is_not_taken(cache: ObjectCache) -> None:
    cache.put(KEY, b"content")
    (cache.folder / KEY).chmod(0o622)
    assert cache.get(KEY) is None


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with config.scoped(cache=True, cache_dir=str(tmp_path / "file" / "cache")):
        assert current_cache() is None


def test_a_disk_that_cannot_be_written_is_no_error(cache: ObjectCache, monkeypatch) -> None:
    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put(KEY, b"content")
    assert cache.get(KEY) is None
    assert not list(cache.folder.iterdir())


def test_switched_off(tmp_path: Path) -> None:
    with config.scoped(cache=False, cache_dir=str(tmp_path)):
        assert current_cache() is None


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="they have their own folders")
def test_default_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with config.scoped(cache=True, cache_dir=None), warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = current_cache()
    assert cache is not None
    assert cache.folder == tmp_path / "te_sched"


_WRITER = """
import sys
from pathlib import Path
from te_sched.runtime.object_cache import ObjectCache
cache, mine = ObjectCache(Path(sys.argv[1]), 50_000), sys.argv[2].encode() * 3000
for turn in range(200):
    key = str(turn % 7)
    cache.put(key, mine)
    found = cache.get(key)
    assert found is None or (len(found) == 3000 and len(set(found)) == 1), found
"""


def test_processes_share_a_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    command = [sys.executable, "-c", _WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, letter]) for letter in "abc"]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".new-")]


@posix
def test_entries_that_are_no_files_are_not_there(cache: ObjectCache) -> None:
    kinds = {
        "ab" * 32: os.mkfifo,
        "cd" * 32: os.mkdir,
        "ef" * 32: lambda path: os.symlink("/dev/zero", path),
        "01" * 32: lambda path: os.symlink(path, path),
    }
    for key, make in kinds.items():
        make(cache.folder / key)
        assert cache.get(key) is None
        cache.put(key, b"content")
        assert cache.get(key) == (None if (cache.folder / key).is_dir() else b"content")


def test_an_entry_of_more_than_the_limit_is_not_read(cache: ObjectCache) -> None:
    cache.put(KEY, b"content")
    os.truncate(cache.folder / KEY, cache.limit + 1)
    assert cache.get(KEY) is None


def test_two_processes_that_write_one_entry_leave_a_whole_one(cache: ObjectCache) -> None:
    program = f"""
from pathlib import Path
from te_sched.runtime.object_cache import ObjectCache
cache = ObjectCache(Path({str(cache.folder)!r}), 1 << 28)
for number in range(100):
    cache.put({KEY!r}, bytes([number]) * 10_000)
    found = cache.get({KEY!r})
    assert found is not None and found == found[:1] * 10_000
"""
    writers = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert [path.name for path in cache.folder.iterdir()] == [KEY]
