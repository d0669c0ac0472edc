"""te_sched.contrib.utils: temporary folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["TempDirectory", "tempdir"]


class TempDirectory:
    """A folder that goes with the object: keep it as long as its files are needed."""

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool = False) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if custom_path is not None:
            os.makedirs(custom_path, exist_ok=True)
            place = custom_path
        elif keep_for_debug:
            place = tempfile.mkdtemp(prefix="te_sched")
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="te_sched")
            place = self._folder.name
        self.temp_dir, self.path = place, Path(place)

    def remove(self) -> None:
        """Delete the folder now, unless it was asked to stay."""
        if self._folder is not None:
            self._folder.cleanup()

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names in the folder."""
        return os.listdir(self.temp_dir)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """A new temporary folder."""
    return TempDirectory(custom_path, keep_for_debug)
