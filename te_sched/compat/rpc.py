"""tvm.rpc.LocalSession: an RPC session on the local machine, the only kind of session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.compat.absent import advice
from te_sched.contrib.utils import tempdir
from te_sched.errors import CallError, repr_of
from te_sched.runtime import Device, Module, cpu, cuda, device, get_global_func, load_module
from te_sched.runtime.cuda_module import CudaModule

__all__ = ["LocalSession", "connect", "connect_tracker"]


class LocalSession:
    """A session on this machine, with a folder for uploaded files."""

    def __init__(self) -> None:
        self._folder = tempdir()

    def upload(self, data: str | bytes | bytearray, target: str | None = None) -> None:
        """Copy a file, or bytes, into the folder of the session."""
        content = files.read(data, "upload", "check the path") if isinstance(data, str) else data
        name = target or (os.path.basename(data) if isinstance(data, str) else "")
        files.write(self._path(name, "upload to"), bytes(content), "upload to")

    def download(self, path: str) -> bytearray:
        """The content of a file of the session."""
        return bytearray(files.read(self._path(path, "download"), "download", "check the path"))

    def load_module(self, path: str) -> Module | CudaModule:
        """Load an uploaded module."""
        module: Module | CudaModule = load_module(self._path(path, "load"))
        return module

    def _path(self, name: str, action: str) -> str:
        """The path of a file in the folder of the session; refuses those that leave it."""
        path = self._folder.relpath(files.check_path(name, action))
        if not Path(path).resolve().is_relative_to(self._folder.path.resolve()):
            raise CallError(
                f"cannot {action} {repr_of(name)}: it is outside of the folder of the session",
                "",
                "use a name without .., and no link that leads elsewhere",
            )
        return path

    def get_function(self, name: str) -> Any:
        """A registered Python function."""
        return get_global_func(name)

    def cpu(self, dev_id: int = 0) -> Device:
        """The processor."""
        return cpu(dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """A CUDA device of this machine."""
        return cuda(dev_id)

    def device(self, dev_type: str, dev_id: int = 0) -> Device:
        """A device of this machine."""
        return device(dev_type, dev_id)

    context, gpu = device, cuda


def connect(url: str, port: int, *args: Any, **options: Any) -> LocalSession:
    """Raises CallError: only the local machine is supported."""
    raise CallError(
        f"cannot connect to {repr_of(url)}:{repr_of(port)}", "te_sched has no RPC", advice("rpc")
    )


def connect_tracker(url: str, port: int) -> LocalSession:
    """Raises CallError: only the local machine is supported."""
    return connect(url, port)
