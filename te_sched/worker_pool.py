"""Calls in worker processes that are reused, with limits on time and memory.

A call that crashes, hangs or needs too much memory costs its worker, which is replaced by a new
process; other calls do not notice. Processes are new ones of Python, not forks, and do not run the
main program again. Their temporary files lie in a folder that is removed when this process has
ended. Must not know the calls.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from multiprocessing import Pipe
from typing import Any, NamedTuple, Self

from te_sched import files
from te_sched.errors import DeclarationError, TeSchedError, repr_of, user_place
from te_sched.errors import WorkerCrashError as WorkerCrashError
from te_sched.errors import WorkerTimeoutError as WorkerTimeoutError
from te_sched.locks import after_fork, new_lock
from te_sched.processors import usable_processors
from te_sched.worker_process import (
    WorkerAnswer,
    WorkerCall,
    WorkerError,
    WorkerMemoryError,
    WorkerSettings,
    packed,
)

__all__ = [
    "WorkerCrashError",
    "WorkerError",
    "WorkerMemoryError",
    "WorkerPool",
    "WorkerTimeoutError",
    "scratch_folder",
]

_START = 120.0  # seconds within which a new process must answer
_PATIENCE = 5.0  # seconds to wait for what ends at once
_LONGEST = 2e6  # seconds that can be waited for at once
_TAIL = 2000  # bytes of a crashed worker's output that its error shows


class _Scratch:
    """The folder for temporary files of this process and of its workers."""

    def __init__(self) -> None:
        self._folders: list[str] = []  # one, if it is there
        self._users = 0
        self._lock = new_lock()
        after_fork(self._renew)
        # Finalizers of pools, which are made later, end the workers before.
        weakref.finalize(self, _remove, self._folders)

    def _renew(self) -> None:
        """Leave the folder to the parent, in a forked process."""
        self._folders.clear()
        self._users = 0

    @contextmanager
    def used(self) -> Iterator[str]:
        """The folder, which exists until all users have left, and longer if it is not empty."""
        with self._lock:
            if not self._folders or not os.path.isdir(self._folders[0]):
                new_folder = files.new_temporary_folder(
                    "start a worker process", "te_sched-workers-", WorkerError
                )
                self._folders[:] = [new_folder]
            folder = self._folders[0]
            self._users += 1
        try:
            yield folder
        finally:
            with self._lock:
                self._users -= 1
                if self._users < 1:
                    with contextlib.suppress(OSError, IndexError):
                        os.rmdir(self._folders[0])


def _remove(folders: list[str]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


_scratch = _Scratch()


def scratch_folder() -> AbstractContextManager[str]:
    """The folder that workers have for temporary files, as `tempfile` finds it: a context in which
    it exists.

    It is removed when it is empty and not used any more, or this process has ended, also if it was
    killed while a worker was running.

    Raises
    ------
    WorkerError if it cannot be made.

    >>> with scratch_folder() as folder:
    ...     os.path.isdir(folder)
    True
    """
    return _scratch.used()


class WorkerPool:
    """A pool of worker processes, which are started when needed and reused.

    Use it as a context: at its end, also after Ctrl-C, all processes are ended. They also end with
    this process, however that ends. A forked process starts workers of its own.

    Parameters
    ----------
    max_workers : the largest number of processes, by default the number of processors.
    timeout : seconds that a call may take, without the start of its process; by default any time.
    memory_limit : bytes of data of a process, including Python's; by default any number.
    initializer : called without arguments in each new process.

    Raises
    ------
    DeclarationError for numbers that are not positive.

    Example
    -------
    >>> with WorkerPool(max_workers=1, timeout=60) as pool:
    ...     futures = [pool.submit(pow, 2, n) for n in (3, 4)]
    ...     [future.result() for future in futures]
    [8, 16]
    """

    def __init__(
        self,
        max_workers: int | None = None,
        timeout: float | None = None,
        memory_limit: int | None = None,
        initializer: Callable[[], Any] | None = None,
    ) -> None:
        max_workers = usable_processors() if max_workers is None else max_workers
        _check("max_workers", max_workers, int)
        _check("timeout", timeout, (int, float))
        _check("memory_limit", memory_limit, int)
        self.max_workers = max_workers
        self._begin(timeout, WorkerSettings(memory_limit, initializer))

    def _begin(self, timeout: float | None, settings: WorkerSettings) -> None:
        self._threads = _Threads(timeout, settings)
        self._close = weakref.finalize(self, self._threads.close)

    def submit(
        self, function: Callable[..., Any], *args: Any, timeout: float | None = None
    ) -> Future[Any]:
        """Call a function with arguments in a worker; the future has the result or the error.

        `timeout` is of this call, by default that of the pool.

        Functions, arguments and results travel as pickle writes them. What pickle cannot write,
        such as lambdas, and functions of the main program are sent by cloudpickle, if installed.

        An exception of the function is raised by the future's `result`. If the call does not
        return, it is a WorkerTimeoutError, WorkerMemoryError or WorkerCrashError. All are
        WorkerErrors, as is that of a call or a result that cannot be sent.

        Raises
        ------
        WorkerError if the pool was shut down; DeclarationError for a timeout that is not positive.
        """
        if self._threads.is_closed:
            raise WorkerError(
                "cannot submit a call to a pool that was shut down", help="create a new pool"
            )
        if not self._threads.are_own():
            self._begin(self._threads.timeout, self._threads.settings)
        future: Future[Any] = Future()
        _check("timeout", timeout, (int, float))
        self._threads.put(_Waiting(future, WorkerCall(function, args, user_place()), timeout))
        self._threads.start(self.max_workers)
        return future

    def shutdown(self) -> None:
        """End all processes; calls without a result are cancelled."""
        self._close()

    def restart(self) -> None:
        """End all processes, as `shutdown` does; the next call starts new ones."""
        self._close()
        self._begin(self._threads.timeout, self._threads.settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.shutdown()


def _check(name: str, value: Any, kinds: type[int] | tuple[type[int], type[float]]) -> None:
    if value is not None and not (isinstance(value, kinds) and value > 0):
        noun = "integer" if kinds is int else "number"
        raise DeclarationError(
            f"{name} must be a positive {noun}, got {repr_of(value)}",
            help="leave it out for the default",
        )


class _Waiting(NamedTuple):
    future: Future[Any]
    call: WorkerCall
    timeout: float | None


class _Threads:
    """The threads of a pool, one per process; they do not refer to the pool, which may be
    collected.
    """

    def __init__(self, timeout: float | None, settings: WorkerSettings) -> None:
        self.timeout, self.settings = timeout, settings
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers: set[_Worker] = set()
        self._idle = 0
        self._lock = threading.RLock()  # a collection may call `close` in a thread that has it
        self._process = os.getpid()
        self.is_closed = False

    def are_own(self) -> bool:
        """Whether they belong to this process, and not to one that was forked."""
        return os.getpid() == self._process

    def put(self, waiting: _Waiting) -> None:
        """Let a thread make a call."""
        self._waiting.put(waiting)

    def start(self, most: int) -> None:
        """Start a thread if calls wait and no thread does, up to a number of threads."""
        with self._lock:
            if self._idle >= self._waiting.qsize() or len(self._threads) >= most:
                return
            thread = threading.Thread(target=self._run, daemon=True)
            self._threads.append(thread)
            thread.start()

    def close(self) -> None:
        """Cancel what waits, end processes and threads."""
        if self.is_closed:
            return
        self.is_closed = True
        if not self.are_own():
            return
        with contextlib.suppress(queue.Empty):
            while waiting := self._waiting.get_nowait():
                waiting.future.cancel()
        for _ in self._threads:
            self._waiting.put(None)
        with self._lock:
            for worker in self._workers:
                worker.kill()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_PATIENCE)

    def _run(self) -> None:
        """Make calls in one process at a time."""
        worker: _Worker | None = None
        while (waiting := self._next()) is not None:
            future, call, timeout = waiting
            if not future.set_running_or_notify_cancel():
                continue
            try:
                request = packed(call)
                if worker is None or not worker.is_alive():
                    self._drop(worker)
                    worker = None
                    worker = self._new_worker()
                succeeded, value = worker.call(request, timeout or self.timeout)
            except BaseException as error:
                succeeded, value = False, error
            if isinstance(value, MemoryError) or (worker is not None and not worker.is_alive()):
                self._drop(worker)
                worker = None
            if not succeeded and self.is_closed:
                value = WorkerError(
                    "the pool was shut down during a call",
                    help="wait for its calls before you shut it down",
                )
            future.set_result(value) if succeeded else future.set_exception(value)
            del waiting, future, call, value  # the thread may wait long
        self._drop(worker)

    def _next(self) -> _Waiting | None:
        with self._lock:
            self._idle += 1
        try:
            return self._waiting.get()
        finally:
            with self._lock:
                self._idle -= 1

    def _new_worker(self) -> _Worker:
        worker = _Worker()
        with self._lock:
            self._workers.add(worker)
            if self.is_closed:
                worker.kill()
        try:
            worker.prepare(self.settings)
        except BaseException:
            self._drop(worker)
            raise
        return worker

    def _drop(self, worker: _Worker | None) -> None:
        if worker is not None:
            with self._lock:
                self._workers.discard(worker)
            worker.close()


class _Worker:
    """One process and the connection to it."""

    def __init__(self) -> None:
        program = [sys.executable, "-P", "-m", "te_sched.worker_process"]
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        with ExitStack() as ends:
            scratch = ends.enter_context(_scratch.used())
            self._output = ends.enter_context(tempfile.TemporaryFile("a+b"))
            self._connection, theirs = Pipe()
            ends.enter_context(self._connection)
            number, parent = str(theirs.fileno()), str(os.getpid())
            with theirs:
                self._process = subprocess.Popen(
                    [*program, number, parent, str(_is_face_of_tvm()), scratch],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, "PYTHONPATH": path, "TMPDIR": scratch},
                    start_new_session=True,  # Ctrl-C in a terminal goes to this process alone
                )
            self._ends = ends.pop_all()

    def prepare(self, settings: WorkerSettings) -> None:
        """Wait until the process is ready."""
        answer = self._answer(packed(settings), _START)
        if not answer.succeeded:
            error = answer.value
            why = error.summary if isinstance(error, TeSchedError) else repr_of(error, 500)
            raise WorkerError(
                "cannot start a worker process", why, "correct the initializer of the pool"
            ) from error

    def call(self, request: bytes, timeout: float | None) -> WorkerAnswer:
        """The answer to a request."""
        self._output.truncate(0)
        return self._answer(request, timeout)

    def _answer(self, request: bytes, timeout: float | None) -> WorkerAnswer:
        try:
            self._connection.send_bytes(request)
            if not self._connection.poll(timeout and min(timeout, _LONGEST)):
                self.kill()
                error = WorkerTimeoutError(
                    f"a call in a worker process took longer than {timeout:g} s",
                    help="raise the timeout, or give it less work",
                )
                return WorkerAnswer(False, error)
            answer = self._connection.recv_bytes()
        except (EOFError, OSError):
            return WorkerAnswer(False, self._crash())
        result: WorkerAnswer = pickle.loads(answer)
        return result

    def _crash(self) -> WorkerCrashError:
        try:
            status = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.wait()
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, self._output.tell() - _TAIL))
        printed = self._output.read().decode(errors="replace").strip()
        return WorkerCrashError(
            f"a worker process ended with {how}",
            f"it printed: {printed}" if printed else "",
            "run the call in this process to see where",
        )

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process and those that it has started."""
        if self.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """End the process and close its files."""
        self.kill()
        self._ends.close()


def _is_face_of_tvm() -> bool:
    """Whether `import tvm` imports te_sched in this process."""
    compat = sys.modules.get("te_sched.compat")
    return compat is not None and bool(compat.is_installed())
