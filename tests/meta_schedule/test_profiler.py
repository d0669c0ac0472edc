"""Profiles of searches."""

import threading
import time

import pytest

from te_sched.errors import DeclarationError
from te_sched.meta_schedule.profiler import Profiler


def test_profiles_sum_parts(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    with Profiler() as profiler:  # begins at 0
        for _ in range(2):
            with Profiler.timeit("part"):  # takes 1 each time
                pass
        with pytest.raises(ValueError, match="fails"), Profiler.timeit("failure"):
            raise ValueError("fails")
    assert profiler.get() == {"part": 2, "failure": 1, "Total": 7}
    assert profiler.table().splitlines() == [
        "Total        7.000 s  100.0%",
        "part         2.000 s   28.6%",
        "failure      1.000 s   14.3%",
    ]
    with pytest.raises(DeclarationError, match="has been entered already"):
        profiler.__enter__()


def test_the_innermost_profiler_of_a_thread_is_the_current_one():
    seen = []
    with Profiler() as outer, Profiler() as inner:
        assert Profiler.current() is inner
        thread = threading.Thread(target=lambda: seen.append(Profiler.current()))
        thread.start()
        thread.join()
        with Profiler.timeit("part"):
            pass
    assert seen == [None]
    assert Profiler.current() is None
    assert ("part" in inner.get(), "part" in outer.get()) == (True, False)
    assert Profiler().table() == ""
    with Profiler.timeit("part"):
        pass  # without a profiler
