"""Memory of large temporaries: kept between calls, bounded, given back; none is an error."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm import heap
from te_sched.runtime import load_module
from te_sched.runtime.module import Module

posix = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


def in_two_steps(n: int | te.Var, parallel: bool = False) -> Module:
    """C = (A + 1) * 2 with a temporary of n floats; if parallel, one of a row for each thread."""
    shape = (8, n) if parallel else (n,)
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda *i: a[i] + 1.0, name="B")
    c = te.compute(shape, lambda *i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    if parallel:
        s[b].compute_at(s[c], c.op.axis[0])
        s[c].parallel(c.op.axis[0])
    return te_sched.build(s, [a, c])


def run(module: Module, *shape: int) -> None:
    a = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    c = np.zeros(shape, "float32")
    module(a, c)
    np.testing.assert_array_equal(c, (a + 1) * 2)


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@posix
def test_large_blocks_are_kept_and_given_back() -> None:
    megabytes = 64
    module = in_two_steps(n := megabytes << 18)
    a = np.ones(n, "float32")
    c = np.zeros(n, "float32")
    c.fill(1)
    before = resident()
    module(a, c)
    kept = resident() - before
    assert kept > (megabytes / 2) * 2**20
    module(a, c)
    assert resident() - before < kept * 1.2
    del module
    gc.collect()
    assert resident() - before < kept / 2


def test_sizes_that_change_find_their_blocks() -> None:
    module = in_two_steps(te.var("n"))
    for n in (1, 20_000, 300_000, 25_000, 1_000_000, 70, 20_000, 0, 150_000, 300_000):
        run(module, n)


@posix
def test_no_more_than_the_limit_is_kept() -> None:
    module = in_two_steps(te.var("n"))
    before = resident()
    for n in range(10, 80, 7):  # ten blocks, 1.7 GB
        module(np.zeros(0, "float32"), np.zeros(0, "float32"))
        size = n << 18
        module(np.ones(size, "float32"), np.ones(size, "float32"))
        assert resident() - before < heap.MOST_KEPT + (64 << 20)


def test_blocks_of_threads() -> None:
    module = in_two_steps(50_000, parallel=True)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(30):
                run(module, 8, 50_000)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("suffix", [".o", ".so"])
def test_saved_modules_have_their_own(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"module{suffix}"
    in_two_steps(100_000).export_library(path)
    for _ in range(3):
        first, second = load_module(path), load_module(path)
        run(first, 100_000)
        del first
        gc.collect()
        run(second, 100_000)


_NO_MEMORY = """
import resource
import numpy as np
from te_sched import te
from te_sched.errors import CallError
from tests.codegen.llvm.test_heap import in_two_steps, run
module = in_two_steps(te.var("n"))
run(module, 100_000)
a, c = np.zeros(100_000_000, "float32"), np.zeros(100_000_000, "float32")
limit = int(open("/proc/self/statm").read().split()[0]) * 4096 + (200 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    module(a, c)
except CallError as error:
    assert "there is not enough memory for the intermediate buffer B" in str(error), error
    run(module, 100_000)
    print("refused")
"""


@posix
def test_no_memory_is_an_error() -> None:
    command = [sys.executable, "-c", _NO_MEMORY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "refused\n", done.stderr
