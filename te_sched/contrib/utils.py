"""te_sched.contrib.utils: temporary folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.signatures import checked

__all__ = ["TempDirectory", "tempdir"]

_WHAT = "create the folder"
_HELP = "name a writable folder, or free space for temporary files"


class _PathInside(str):
    """A path that keeps the folder in which it is."""

    folder: TempDirectory


class TempDirectory:
    """A folder that is deleted with the object, and with the last path from `relpath`.

    >>> with tempdir() as folder:
    ...     (folder / "a.txt").write_text("text"), folder.listdir()
    (4, ['a.txt'])
    """

    @checked
    def __init__(
        self, custom_path: str | os.PathLike[str] | None = None, keep_for_debug: bool = False
    ) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        root = "" if custom_path is None else files.check_path(custom_path, _WHAT)
        with files.refusing(f"{_WHAT} {root}".rstrip(), _HELP):
            if root:
                os.makedirs(path := root, exist_ok=True)
            elif keep_for_debug:
                path = tempfile.mkdtemp(prefix="te_sched")
            else:
                self._folder = tempfile.TemporaryDirectory(
                    prefix="te_sched", ignore_cleanup_errors=True
                )
                path = self._folder.name
        self.temp_dir, self.path = path, Path(path)

    def remove(self) -> None:
        """Delete the folder now, unless it was created with a path or `keep_for_debug`."""
        if self._folder is not None:
            self._folder.cleanup()

    @checked
    def relpath(self, name: str) -> str:
        """The path of a file in the folder, which exists as long as the path."""
        path = _PathInside(os.path.join(self.temp_dir, name))
        path.folder = self
        return path

    def listdir(self) -> list[str]:
        """The names in the folder."""
        with files.refusing(f"list the folder {self.temp_dir}", _HELP):
            return os.listdir(self.temp_dir)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


@checked
def tempdir(
    custom_path: str | os.PathLike[str] | None = None, keep_for_debug: bool = False
) -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory(custom_path, keep_for_debug)


_tell_of_absent_names(__name__)
