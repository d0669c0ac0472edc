"""The larger stack: what it leaves as it was, and what is walked again on it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading

import pytest

from te_sched import deep_recursion
from te_sched.deep_recursion import in_one_chunk, walks_deeply
from te_sched.errors import LoweringError


def descend(depth: int) -> int:
    return 1 + descend(depth - 1) if depth else 0


@walks_deeply("descend", again=False)
def descend_once(depth: int) -> int:
    return descend(depth)


@walks_deeply("descend")
def descend_through_it(depth: int) -> int:
    return descend_once(depth)


def test_what_is_walked_once_is_walked_again_as_part_of_another_walk() -> None:
    depth = sys.getrecursionlimit() + 1000
    with pytest.raises(LoweringError, match=r"^cannot descend\n(.|\n)*nested too deeply"):
        descend_once(depth)
    assert descend_through_it(depth) == depth
    with pytest.raises(LoweringError, match="nested too deeply"):
        descend_once(depth)


def test_ctrl_c_leaves_the_usual_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it comes as soon as stacks are larger."""
    set_size, usual = threading.stack_size, (sys.getrecursionlimit(), threading.stack_size())

    def stop(*size: int) -> int:
        before = set_size(*size)
        if size == (deep_recursion._STACK,):
            raise KeyboardInterrupt
        return before

    monkeypatch.setattr(threading, "stack_size", stop)
    with pytest.raises(KeyboardInterrupt):
        descend_through_it(sys.getrecursionlimit() + 1000)
    assert (sys.getrecursionlimit(), set_size()) == usual


def test_a_deep_walk_that_is_left_keeps_its_limit() -> None:
    """Python ends the process where a thread is deeper than the limit and calls once more."""
    command = [sys.executable, "-c", _LEFT]
    subprocess.run(command, check=True, timeout=90)


_LEFT = """
import signal, threading, sys, time
from te_sched.deep_recursion import in_one_chunk, walks_deeply
usual = sys.getrecursionlimit()
begun, over = threading.Event(), threading.Event()
def descend(depth):
    if depth:
        return descend(depth - 1)
    begun.set()
    try:
        time.sleep(1)  # native code, which does not hear of the Ctrl-C
    finally:
        over.set()
def interrupt():
    if begun.wait(60):
        signal.raise_signal(signal.SIGINT)
other = threading.Thread(target=interrupt)
other.start()
try:
    walks_deeply("descend")(descend)(5000)
except KeyboardInterrupt:
    assert over.wait(60)
    other.join()
    for _ in range(1000):
        if sys.getrecursionlimit() == usual:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("the limit stays")
else:
    raise AssertionError("nothing was interrupted")
"""


_FORKED = """
import os, signal, sys, threading
from te_sched.deep_recursion import in_one_chunk, walks_deeply
usual = sys.getrecursionlimit(), threading.stack_size()
begun, over = threading.Event(), threading.Event()
def descend(depth, at_the_end):
    if depth:
        descend(depth - 1, at_the_end)
    else:
        at_the_end()
walk = walks_deeply("descend")(descend)
def wait():
    begun.set()
    over.wait(60)
other = threading.Thread(target=walk, args=(5000, wait))
other.start()
assert begun.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(20)
    is_usual = (sys.getrecursionlimit(), threading.stack_size()) == usual
    walk(5000, lambda: None)
    os._exit(0 if is_usual else 1)
over.set()
other.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_forked_meanwhile_has_the_usual_limit() -> None:
    command = [sys.executable, "-W", "ignore", "-c", _FORKED]
    subprocess.run(command, check=True, timeout=90)


def loop_at(depth: int) -> None:
    if depth:
        loop_at(depth - 1)
    for _ in range(200 if depth == 0 else 0):
        descend(1)


@walks_deeply("loop")
def loop_at_each_depth() -> int:
    """The pages that the system gives to it."""
    loop_at(300)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for depth in range(300):
        loop_at(depth)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def test_loops_do_not_take_memory_for_their_frames_at_each_turn() -> None:
    """At two depths or more, frames of a call are in another chunk of CPython's."""
    pages = []
    thread = threading.Thread(target=lambda: pages.append(loop_at_each_depth()))
    thread.start()
    thread.join()
    assert pages[0] < 200


def test_values_and_errors_of_a_call_in_one_chunk() -> None:
    assert in_one_chunk(dict, function=1) == {"function": 1}
    with pytest.raises(ZeroDivisionError):
        in_one_chunk(divmod, 1, 0)
    assert in_one_chunk(in_one_chunk, max, 2, 3) == 3
