"""Streams of launches and memory, and times between their events."""

from __future__ import annotations

import threading

import pytest

import te_sched
from te_sched.errors import CallError
from tests.runtime.cuda_programs import arrays, check_temporary, plus_one
from tests.runtime.fake_cuda import FakeDriver
from tests.runtime.fake_cuda import driver as driver


def test_launches_follow_cupys_stream_and_the_one_that_is_set(driver: FakeDriver) -> None:
    module, (a, b), device = plus_one(), arrays(), te_sched.cuda(0)
    driver.current.stream = 0x1111
    module(a, b)
    made = device.create_raw_stream()
    device.set_raw_stream(made)
    module(a, b)
    threads = [threading.Thread(target=module, args=(a, b))]  # another thread has set none
    threads[0].start()
    threads[0].join()
    device.sync(made)
    device.free_raw_stream(made)
    module(a, b)
    assert [call[8] for call in driver.named("cuLaunchKernel")] == [0x1111, made, 0, 0x1111]
    assert driver.named("cuStreamSynchronize")[0][0] == made
    with pytest.raises(
        CallError, match="cannot use a str as a CUDA stream: it is not a handle of one"
    ):
        device.set_raw_stream("fast")


def test_temporaries_are_taken_on_the_stream_that_is_set(driver: FakeDriver) -> None:
    device = te_sched.cuda(0)
    device.set_raw_stream(0x2222)
    try:
        check_temporary(driver)
    finally:
        device.set_raw_stream(None)


def test_time_is_that_between_events(driver: FakeDriver) -> None:
    module, (a, b) = plus_one(), arrays()
    result = module.time_evaluator("main", te_sched.cuda(0), number=10, repeat=2)(a, b)
    assert result.results == pytest.approx((5e-4, 5e-4))
    assert len(driver.named("cuLaunchKernel")) == 21
    assert len(driver.named("cuEventDestroy_v2")) == len(driver.named("cuEventCreate")) == 6
    with pytest.raises(
        CallError, match=r"^the arrays of 'main' are on cuda\(0\), expected cuda\(1\)"
    ):
        module.time_evaluator("main", te_sched.cuda(1))(a, b)
