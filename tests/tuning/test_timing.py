"""The seconds of programs."""

import time

import pytest

import te_sched
from te_sched.runtime.timing import Evaluator
from te_sched.tuning import timing
from te_sched.tuning.timing import TimingOptions, least_in_turn, seconds_of

CPU = te_sched.cpu(0)


class Program:
    """A module whose function takes some time."""

    entry_name = "main"

    def __init__(self, seconds):
        self.seconds, self.calls = seconds, 0

    @property
    def entry_func(self):
        return self

    def __getitem__(self, name):
        return self.run

    def run(self):
        self.calls += 1
        time.sleep(self.seconds)

    def measure(self, device, count):
        began = time.perf_counter()
        for _ in range(count):
            self.run()
        return time.perf_counter() - began

    def time_evaluator(self, name, device, number, repeat, min_repeat_ms):
        return Evaluator(
            lambda count: self.measure(device, count), number, repeat, min_repeat_ms, 0, 1
        )


def test_each_repetition_has_a_result():
    program = Program(1e-4)
    assert len(seconds_of(program, CPU, [], TimingOptions(2, 3))) == 3
    assert program.calls == 1 + 2 * 3


@pytest.mark.parametrize(("seconds", "most"), [(0.06, 1), (0.006, 4)])
def test_slow_programs_are_measured_less_often(seconds, most):
    program = Program(seconds)
    results = seconds_of(program, CPU, [], TimingOptions(3, 5, 1, limit=0.02))
    assert 1 <= len(results) <= most
    assert program.calls <= 1 + (most > 1) * (1 + most)  # to warm up
    assert min(results) >= seconds


def test_caches_are_emptied_before_each_run(monkeypatch):
    program, states = Program(0), []
    monkeypatch.setattr(timing, "_CACHES", 8)

    class Caches:
        def __iadd__(self, number):
            states.append(program.calls)
            return self

    monkeypatch.setattr(timing.np, "zeros", lambda size, dtype: Caches())
    assert len(seconds_of(program, CPU, [], TimingOptions(2, 3, 0, empties_caches=True))) == 3
    assert states == [1, 2, 3, 4, 5, 6]


def test_caches_of_other_devices_are_not_emptied(monkeypatch):
    monkeypatch.setattr(timing.np, "zeros", None)
    device = te_sched.emulated_cuda(0)
    assert len(seconds_of(Program(0), device, [], TimingOptions(1, 2, empties_caches=True))) == 2


def test_calls_are_timed_in_turn():
    order = []
    fast, slow = least_in_turn(
        [lambda: order.append(0), lambda: (order.append(1), time.sleep(0.004))], 0.002
    )
    assert fast < 0.004 <= slow
    assert order.count(1) == timing._ROUNDS
    assert order.index(1) < len(order) - order[::-1].index(0)
