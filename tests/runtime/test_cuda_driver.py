"""The driver: facts, errors, and the context that is current."""

from __future__ import annotations

import pytest

from te_sched import nd
from te_sched.errors import CallError
from tests.runtime.cuda_programs import arrays, plus_one
from tests.runtime.fake_cuda import CONTEXT, FakeDriver
from tests.runtime.fake_cuda import driver as driver


def test_each_device_has_its_kernels(driver: FakeDriver) -> None:
    module = plus_one()
    for device in (0, 1, 1):
        module(*arrays(device=device))
    assert [call[-1] for call in driver.named("cuModuleLoadData")] == [CONTEXT, CONTEXT + 1]
    assert [call[11] - CONTEXT for call in driver.named("cuLaunchKernel")] == [0, 1, 1]


def test_failures_of_the_driver_tell_numbers(driver: FakeDriver) -> None:
    module = plus_one()
    driver.fails["cuLaunchKernel"] = 701
    with pytest.raises(CallError) as error:
        module(*arrays())
    text = str(error.value)
    assert "grid (5, 1, 1), block (64, 1, 1) and 0 bytes" in text
    assert "CUDA_ERROR_OF_TEST: it failed (701)" in text
    assert "use fewer threads" in text
    assert driver.current.context == 0
    with pytest.raises(CallError, match="1000 of 2000 bytes"):
        nd.empty((1 << 41,), "float32", nd.cuda(0))


def test_facts_are_the_drivers(driver: FakeDriver) -> None:
    gpu = nd.cuda(0)
    assert gpu.exist
    assert not nd.Device(2, 2).exist
    assert (gpu.compute_version, gpu.total_global_memory) == ("9.0", 2000)
    with pytest.raises(CallError, match=r"there is no device cuda\(2\) on this computer"):
        nd.empty((1,), "float32", nd.cuda(2))
