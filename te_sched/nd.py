"""te_sched.nd: arrays on devices, with TVM's names."""

from __future__ import annotations

from te_sched.runtime.device import Device, cpu, device
from te_sched.runtime.ndarray import NDArray, array, empty, from_dlpack

__all__ = ["Device", "NDArray", "array", "cpu", "device", "empty", "from_dlpack"]
