"""The program of a worker process: it answers calls until its parent ends.

Must not know the calls, and nothing of the pool that makes them.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from te_sched.errors import SourceLocation, called_from, repr_of
from te_sched.errors import WorkerError as WorkerError
from te_sched.errors import WorkerMemoryError as WorkerMemoryError

_LOOK = 1.0  # seconds between the looks for the parent


class WorkerSettings(NamedTuple):
    """The limit of the process's data in bytes, and a function to call first."""

    memory: int | None
    initializer: Callable[[], Any] | None


class WorkerCall(NamedTuple):
    """A function with its arguments, and the user's line that called it."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    place: SourceLocation


class WorkerAnswer(NamedTuple):
    """The result of a call, or an exception."""

    succeeded: bool
    value: Any


def packed(value: Any) -> bytes:
    """A value as bytes that another process reads.

    What pickle cannot write, and what belongs to the main program, is written by cloudpickle.

    Raises
    ------
    WorkerError if neither can write it.
    """
    failure: Exception | None = None
    try:
        data = pickle.dumps(value, protocol=5)
    except Exception as error:
        failure = error
    else:
        if b"__main__" not in data:  # another process has another main module
            return data
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        raise WorkerError(
            "cannot send a call to or from a worker process",
            str(failure or "it refers to names of the main program"),
            "define its functions and classes in a module that can be imported, or "
            "pip install cloudpickle",
        ) from failure
    try:
        written: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise WorkerError(
            "cannot send a call to or from a worker process",
            str(error),
            "pass values that can be pickled",
        ) from error
    return written


def main(number: str, parent: str, is_face_of_tvm: str, scratch: str) -> None:
    """Answer the requests of a connection, whose file has this number, until it is closed.

    `scratch` is the parent's folder for temporary files.
    """
    watch = threading.Thread(target=_end_with, args=(int(parent), scratch), daemon=True)
    watch.start()
    if is_face_of_tvm == "True":
        importlib.import_module("te_sched.compat").install()
    with Connection(int(number)) as connection, contextlib.suppress(EOFError, OSError):
        connection.send_bytes(_answer(_prepare, connection.recv_bytes()))
        while True:
            connection.send_bytes(_answer(_call, connection.recv_bytes()))
    watch.join()  # the parent is ending


def _end_with(parent: int, scratch: str) -> None:
    """End this process, also during a call, when its parent has ended, and remove its files."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(os.getpid(), signal.SIGKILL)


def _prepare(request: bytes) -> None:
    settings: WorkerSettings = pickle.loads(request)
    if settings.memory is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = settings.memory if hard == resource.RLIM_INFINITY else min(settings.memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    if settings.initializer is not None:
        settings.initializer()


def _call(request: bytes) -> Any:
    call: WorkerCall = pickle.loads(request)
    with called_from(call.place):
        return call.function(*call.args)


def _answer(function: Callable[[bytes], Any], request: bytes) -> bytes:
    try:
        return packed(WorkerAnswer(True, function(request)))
    except BaseException as error:
        return packed(WorkerAnswer(False, _portable(error)))


def _portable(error: BaseException) -> BaseException:
    """An exception that another process can read and raise, with the traceback as a note."""
    if isinstance(error, MemoryError):
        return WorkerMemoryError(
            "a call in a worker process needed more memory than the limit",
            help="raise memory_limit, or give it less work",
        )
    note = f"in a worker process:\n{''.join(traceback.format_exception(error))}"
    with contextlib.suppress(Exception):
        if isinstance(error, Exception):  # others would end the program
            pickle.loads(pickle.dumps(error))
            error.add_note(note)
            return error
    substitute = WorkerError(
        f"a call in a worker process raised {type(error).__name__}",
        repr_of(error, 500),
        "see the note: it has the traceback of the process",
    )
    substitute.add_note(note)
    return substitute


if __name__ == "__main__":  # pickle knows classes by the name of their module
    importlib.import_module("te_sched.worker_process").main(*sys.argv[1:])
