"""Calls in worker processes."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from te_sched import te
from te_sched.errors import DeclarationError, ScheduleError, user_place
from te_sched.worker_pool import (
    WorkerCrashError,
    WorkerError,
    WorkerMemoryError,
    WorkerPool,
    WorkerTimeoutError,
    scratch_folder,
)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool(1, timeout=30) as one:
        yield one


def mark_environment() -> None:
    os.environ["TE_SCHED_TEST_MARK"] = "set"


def read_mark() -> str | None:
    return os.environ.get("TE_SCHED_TEST_MARK")


def crash_loudly() -> None:
    os.write(2, b"about to crash")
    os.abort()


def print_much() -> None:
    os.write(1, b"x" * 10_000)


def allocate(size: int) -> int:
    return np.ones(size, "uint8").size


def sleep_at(path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    time.sleep(600)


def refuse_split() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    te.create_schedule(B.op)[B].split(B.op.axis[0], 0)


def raise_unpicklable() -> None:
    class OddError(Exception):
        def __init__(self, first: str, second: str) -> None:
            super().__init__(f"{first} and {second}")

    raise OddError("this", "that")


def exit_program() -> None:
    sys.exit(3)


def fail() -> None:
    raise ValueError("no initial state")


def make_thread() -> threading.Thread:
    return threading.Thread()


def is_gone(process: int) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            status = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if status == "Z":
            return True
        time.sleep(0.05)
    return False


def await_process(path: Path) -> int:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.05)
    raise TimeoutError(path)


def test_calls_reuse_one_process(pool: WorkerPool) -> None:
    processes = {pool.submit(os.getpid).result() for _ in range(3)}
    assert len(processes) == 1
    assert os.getpid() not in processes


def test_results_belong_to_their_calls() -> None:
    with WorkerPool(2) as pool:
        futures = [pool.submit(pow, n, 2) for n in range(10)]
        assert [future.result() for future in futures] == [n * n for n in range(10)]


def test_exceptions_come_back_with_their_traceback(pool: WorkerPool) -> None:
    with pytest.raises(ValueError, match="invalid literal") as caught:
        pool.submit(int, "x").result()
    assert "in a worker process" in "".join(caught.value.__notes__)


def test_errors_of_te_sched_name_the_users_line(pool: WorkerPool) -> None:
    here = user_place()
    with pytest.raises(ScheduleError, match="split factor") as caught:
        pool.submit(refuse_split).result()
    assert str(here).rpartition(":")[0] in caught.value.where


def test_exceptions_that_cannot_be_sent_become_worker_errors(pool: WorkerPool) -> None:
    with pytest.raises(WorkerError, match="raised OddError"):
        pool.submit(raise_unpicklable).result()


def test_the_end_of_a_program_in_a_worker_does_not_end_this_one(pool: WorkerPool) -> None:
    with pytest.raises(WorkerError, match="raised SystemExit"):
        pool.submit(exit_program).result()


def test_results_that_cannot_be_sent_are_reported(pool: WorkerPool) -> None:
    with pytest.raises(WorkerError, match="cannot send a call to or from a worker process"):
        pool.submit(make_thread).result()
    assert pool.submit(pow, 2, 3).result() == 8


def test_lambdas_are_sent_by_cloudpickle(pool: WorkerPool) -> None:
    pytest.importorskip("cloudpickle")
    assert pool.submit(lambda n: n + 1, 2).result() == 3


def test_without_cloudpickle_lambdas_are_refused(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(WorkerError, match="pip install cloudpickle"):
        pool.submit(lambda: 1).result()


def test_what_even_cloudpickle_cannot_write_is_refused(pool: WorkerPool) -> None:
    pytest.importorskip("cloudpickle")
    with pytest.raises(WorkerError, match="cannot pickle"):
        pool.submit(len, (one for one in "ab")).result()


def test_a_crash_costs_one_call(pool: WorkerPool) -> None:
    crash, after = pool.submit(crash_loudly), pool.submit(pow, 2, 3)
    with pytest.raises(WorkerCrashError, match=r"(?s)ended with signal SIGABRT.*about to crash"):
        crash.result()
    assert after.result() == 8


def test_an_exit_costs_one_call(pool: WorkerPool) -> None:
    pool.submit(print_much).result()
    with pytest.raises(WorkerCrashError, match="ended with exit status 5") as caught:
        pool.submit(os._exit, 5).result()
    assert "xxx" not in str(caught.value)  # printed by another call


def test_a_hang_costs_one_call() -> None:
    with WorkerPool(1, timeout=0.5) as pool:
        hang, after = pool.submit(time.sleep, 600), pool.submit(pow, 2, 3)
        with pytest.raises(WorkerTimeoutError, match=r"took longer than 0\.5 s"):
            hang.result()
        assert after.result() == 8


def test_a_limit_may_be_longer_than_the_system_waits() -> None:
    with WorkerPool(1, timeout=float("inf")) as pool:
        assert pool.submit(pow, 2, 3).result() == 8


def test_a_call_may_have_a_limit_of_its_own() -> None:
    with WorkerPool(1, timeout=0.2) as pool:
        assert pool.submit(time.sleep, 0.5, timeout=30).result() is None
        with pytest.raises(WorkerTimeoutError, match=r"longer than 0\.2 s"):
            pool.submit(time.sleep, 30).result()
        with pytest.raises(DeclarationError, match="timeout must be a positive number, got 0"):
            pool.submit(time.sleep, 1, timeout=0)


def test_memory_beyond_the_limit_costs_one_call() -> None:
    with WorkerPool(1, memory_limit=1 << 30) as pool:
        with pytest.raises(WorkerMemoryError, match="needed more memory than the limit"):
            pool.submit(allocate, 4 << 30).result()
        assert pool.submit(allocate, 1 << 20).result() == 1 << 20


def test_a_worker_that_died_while_idle_is_replaced(pool: WorkerPool) -> None:
    process = pool.submit(os.getpid).result()
    os.kill(process, signal.SIGKILL)
    time.sleep(0.1)
    assert pool.submit(pow, 2, 3).result() == 8


def test_the_initializer_runs_in_each_process() -> None:
    with WorkerPool(1, initializer=mark_environment) as pool:
        assert pool.submit(read_mark).result() == "set"
        with pytest.raises(WorkerCrashError, match="a worker process ended with"):
            pool.submit(os.abort).result()
        assert pool.submit(read_mark).result() == "set"
    assert read_mark() is None


def test_an_initializer_that_fails_is_reported() -> None:
    with (
        WorkerPool(1, initializer=fail) as pool,
        pytest.raises(WorkerError, match=r"(?s)cannot start a worker process.*no initial state"),
    ):
        pool.submit(pow, 2, 3).result()


def test_shutdown_ends_processes_and_cancels_calls(tmp_path: Path) -> None:
    pool = WorkerPool(1)
    running, waiting = pool.submit(sleep_at, str(tmp_path / "id")), pool.submit(pow, 2, 3)
    process = await_process(tmp_path / "id")
    pool.shutdown()
    assert is_gone(process)
    assert waiting.cancelled()
    with pytest.raises(WorkerError, match="the pool was shut down during a call"):
        running.result()
    with pytest.raises(WorkerError, match="cannot submit a call to a pool that was shut down"):
        pool.submit(pow, 2, 3)


def test_a_pool_that_is_collected_ends_its_processes() -> None:
    pool = WorkerPool(1)
    process = pool.submit(os.getpid).result()
    del pool
    gc.collect()
    assert is_gone(process)


def test_a_forked_process_has_workers_of_its_own() -> None:
    pool = WorkerPool(1)
    process = pool.submit(os.getpid).result()
    child = os.fork()
    if child == 0:
        is_another = pool.submit(os.getpid).result() != process
        with scratch_folder() as folder:
            pool.shutdown()
        try:
            pool.submit(os.getpid)
        except WorkerError:
            os._exit(0 if is_another and not os.path.exists(folder) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert pool.submit(os.getpid).result() == process
    pool.shutdown()


PROGRAM = """
    import os, pathlib, sys, time
    from te_sched.worker_pool import WorkerPool

    def where():
        return __name__

    def sleep_at(path):
        pathlib.Path(path).write_text(str(os.getpid()))
        time.sleep(600)

    with WorkerPool(1) as pool:
        print(pool.submit(where).result(), flush=True)
        pool.submit(sleep_at, sys.argv[1]).result()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_main_program(how: signal.Signals, tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    program, temporary = tmp_path / "program.py", tmp_path / "temporary"
    program.write_text(textwrap.dedent(PROGRAM))
    temporary.mkdir()
    main = subprocess.Popen(
        [sys.executable, program, tmp_path / "id"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    worker = await_process(tmp_path / "id")
    main.send_signal(how)
    printed, errors = main.communicate(timeout=30)
    assert printed.strip() == "__main__"
    assert is_gone(worker)
    assert ("KeyboardInterrupt" in errors) is (how == signal.SIGINT)
    assert not any(temporary.iterdir())


LEAVING = """
    import os, sys, tempfile
    from te_sched.worker_pool import WorkerPool
    pool = WorkerPool(1)
    print(pool.submit(tempfile.mkdtemp).result(), flush=True)
    child = os.fork()
    if child == 0:
        sys.exit()
    os.waitpid(child, 0)
    print(os.path.isdir(pool.submit(tempfile.mkdtemp).result()), flush=True)
    {end}
"""


@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)", "raise ValueError"])
def test_temporary_files_of_workers_end_with_the_main_program(end: str, tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LEAVING).format(end=end)],
        capture_output=True,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ).stdout.split()
    assert made[0].startswith(str(tmp_path))
    assert made[1] == "True"
    deadline = time.monotonic() + 20
    while any(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(tmp_path.iterdir())


def test_a_scratch_folder_is_there_while_it_is_used() -> None:
    with WorkerPool(1) as pool:
        theirs = pool.submit(tempfile.gettempdir).result()
        with scratch_folder() as folder, scratch_folder() as again:
            assert folder == again == theirs
            shutil.rmtree(folder)
            with scratch_folder() as new:
                assert os.path.isdir(new)


def test_a_system_without_room_for_temporary_files_is_reported(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with scratch_folder() as folder:
        shutil.rmtree(folder)
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with WorkerPool(1) as other, pytest.raises(WorkerError, match="a temporary folder: No space"):
        other.submit(pow, 2, 3).result()


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"max_workers": 0}, "max_workers must be a positive integer, got 0"),
        ({"timeout": "soon"}, "timeout must be a positive number, got 'soon'"),
        ({"memory_limit": 1.5}, r"memory_limit must be a positive integer, got 1\.5"),
    ],
)
def test_a_pool_rejects_odd_limits(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(DeclarationError, match=fault):
        WorkerPool(**options)


_FACE = """
import te_sched.compat
te_sched.compat.install()
from te_sched.worker_pool import WorkerPool
with WorkerPool(1) as pool:
    print(pool.submit(eval, "__import__('tvm').te.compute.__module__").result())
"""


def test_workers_have_te_sched_as_tvm_where_their_parent_has() -> None:
    command = [sys.executable, "-c", _FACE]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.startswith("te_sched")
