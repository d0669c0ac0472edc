"""Built candidates in files: their folders, and their bytes for other machines.

Folders lie in the scratch folder of this process and its workers, which is removed when the process
has ended. Must not know what was built.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from te_sched.errors import TeSchedError
from te_sched.worker_pool import scratch_folder

BUILD_PREFIX = "te_sched-candidate-"  # of the folder of a built candidate


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when it is not used any more."""
    with scratch_folder() as scratch:
        return tempfile.TemporaryDirectory(prefix=prefix, dir=scratch)


def export(
    module: Any, folder: str | None = None, fcompile: Callable[..., Any] | None = None
) -> str:
    """Write a built module into a folder of its own, in another one, and return the path.

    Parameters
    ----------
    fcompile : what links a library; by default the file is an object file.
    """
    end = getattr(fcompile, "output_format", "so") if fcompile else "o"
    path = Path(tempfile.mkdtemp(prefix=BUILD_PREFIX, dir=folder), f"module.{end}")
    try:
        module.export_library(path, fcompile)
    except TeSchedError:
        path.parent.rmdir()
        raise
    return str(path)


def remove_artifact(artifact_path: str) -> None:
    """Remove the folder of a built candidate; other folders than builders' stay."""
    folder = Path(artifact_path).parent
    if folder.name.startswith(BUILD_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)


class Artifact:
    """A built module as bytes, with the name of its file."""

    def __init__(self, path: str) -> None:
        self.name, self.data = Path(path).name, Path(path).read_bytes()

    def written(self, folder: str | None = None) -> str:
        """The path of the artifact in a folder, by default a new one."""
        if folder is None:
            with scratch_folder() as scratch:
                folder = tempfile.mkdtemp(prefix=BUILD_PREFIX, dir=scratch)
        path = Path(folder, self.name)
        path.write_bytes(self.data)
        return str(path)
