"""Compiled programs on disk, so that a program is compiled once and not in every process.

An entry is a file named by its key, with a digest of the key and the content: damaged, truncated or
foreign entries are ignored. Entries are written to a temporary file and renamed, so processes may
share a folder. Errors of the file system are treated as missing entries, never as errors of a
build.

Entries are executed. So the folder is private (0700); folders that others may write, and files of
other users, are refused. The least recently used entries are deleted when the total exceeds the
limit. Must not know what entries say.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from te_sched import config
from te_sched.errors import warn
from te_sched.files import at_once, put_in_place

_MAGIC = b"te_sched 1\n"
_DIGEST = 32
_NEW = ".new-"  # begins the names of files that are being written
_TOUCH_SECONDS = 3600  # how exactly it is known when an entry was used
_ABANDONED_SECONDS = 3600  # a file that is being written for longer is rubbish
_DEFAULT_MEBIBYTES = 256
_KEPT_SHARE = 0.75  # of the limit, that is left when entries have to go


class ObjectCache:
    """Bytes by keys (hexadecimal texts) in a folder."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder, self.limit = folder, limit
        self._unlooked = limit  # bytes written since the folder was last looked through

    def get(self, key: str) -> bytes | None:
        """The content of a key, if there is a valid entry."""
        try:
            with open(self.folder / key, "rb", opener=at_once) as file:
                status = os.fstat(file.fileno())
                if not self._may_be_entry(status):
                    return None
                head = file.read(len(_MAGIC) + _DIGEST)
                payload = file.read()  # may be large
        except OSError:
            return None
        if head != _MAGIC + _digest(key, payload):
            return None
        if time.time() - status.st_mtime > _TOUCH_SECONDS:
            with suppress(OSError):
                os.utime(self.folder / key)
        return payload

    def _may_be_entry(self, status: os.stat_result) -> bool:
        """Whether a file is one that this user wrote, of a size that `put` writes."""
        is_whole = stat.S_ISREG(status.st_mode) and status.st_size <= self.limit
        return is_whole and is_private(status)

    def put(self, key: str, payload: bytes) -> None:
        """Keep bytes under a key, if there is room."""
        content = _MAGIC + _digest(key, payload) + payload
        if len(content) > self.limit:
            return
        with suppress(OSError):
            self._write(key, content)
            self._unlooked += len(content)
            if self._unlooked > self.limit // 16:
                self._unlooked = 0
                self._trim()

    def _write(self, key: str, content: bytes) -> None:
        path = str(self.folder / key)
        try:
            put_in_place(path, content, 0o600, prefix=_NEW)
        except FileNotFoundError:  # somebody cleaned up
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            put_in_place(path, content, 0o600, prefix=_NEW)

    def _trim(self) -> None:
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in entries:
            if total <= self.limit * _KEPT_SHARE:
                break
            with suppress(OSError):
                os.unlink(path)
            total -= size

    def _entries(self) -> Iterator[tuple[float, int, str]]:
        """The time of use, size and path of each entry; unfinished files are removed."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if not stat.S_ISREG(status.st_mode):
                        continue
                    if not entry.name.startswith(_NEW):
                        yield status.st_mtime, status.st_size, entry.path
                    elif time.time() - status.st_mtime > _ABANDONED_SECONDS:
                        os.unlink(entry.path)


def current_cache() -> ObjectCache | None:
    """The cache that the switches ask for (`config.Config`); None for none."""
    switches = config.current()
    if not switches.cache:
        return None
    return _open(switches.cache_dir or _default_folder(), switches.cache_size)


def is_private(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and not writable by others."""
    if not hasattr(os, "geteuid"):
        return True  # the user's profile on Windows is private
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@functools.cache
def _open(folder: str, mebibytes: int | None) -> ObjectCache | None:
    """The cache in a folder, which is made; None where that is not possible or not safe."""
    path = Path(folder)
    try:
        path = path.expanduser().absolute()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None
    if not is_private(status):
        warn(
            f"te_sched keeps no compiled programs in {path}: others may write there, and what is "
            "kept is executed; make it yours alone (chmod 700), name another folder in "
            "TE_SCHED_CACHE_DIR, or set TE_SCHED_CACHE=0",
            RuntimeWarning,
        )
        return None
    size = _DEFAULT_MEBIBYTES if mebibytes is None else mebibytes
    return ObjectCache(path, size << 20)


def _default_folder() -> str:
    """Where the system keeps caches of a user's programs."""
    if sys.platform == "win32":
        base, name = os.environ.get("LOCALAPPDATA", "~/AppData/Local"), "te_sched/Cache"
    elif sys.platform == "darwin":
        base, name = "~/Library/Caches", "te_sched"
    else:
        base, name = os.environ.get("XDG_CACHE_HOME", ""), "te_sched"
        if not os.path.isabs(base):  # as the specification of these folders says
            base = "~/.cache"
    return os.path.join(base, name)


def _digest(key: str, payload: bytes) -> bytes:
    hasher = hashlib.sha256(key.encode() + b"\n")
    hasher.update(payload)
    return hasher.digest()
