"""The limits of GPUs, which targets, devices, judges and launches have in common."""

from __future__ import annotations

import pytest

import te_sched
from te_sched.ir.device_limits import LARGEST_EXTENTS, MAX_THREADS, SHARED_BYTES, DeviceLimits
from te_sched.runtime.device import emulated_cuda


@pytest.mark.parametrize(
    ("arch", "most"),
    [("sm_80", 166912), ("sm_90a", 232448), ("sm_100f", 232448), ("sm_61", SHARED_BYTES)],
)
def test_dynamic_shared_memory_is_that_of_the_architecture(arch: str, most: int) -> None:
    assert DeviceLimits(arch).all_shared_bytes == most


def test_axes_have_largest_extents() -> None:
    limits = DeviceLimits()
    assert [limits.longest(tag) for tag in LARGEST_EXTENTS] == [
        *(2**31 - 1, 65535, 65535),
        *(1024, 1024, 64),
    ]


def test_targets_and_emulated_devices_have_these_limits() -> None:
    target = te_sched.target.Target("cuda")
    assert (target.max_num_threads, target.max_shared_memory_per_block) == (1024, 49152)
    device = emulated_cuda(0)
    assert device.max_threads_per_block == MAX_THREADS
    assert device.max_thread_dimensions == "[1024, 1024, 64]"
