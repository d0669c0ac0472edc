"""Runs a program in all ways without a GPU: compiled, emulated and checked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

import te_sched
from te_sched.codegen.cuda import nvrtc
from te_sched.codegen.target import as_target
from te_sched.ir.stmt import IRModule
from te_sched.runtime.cuda_module import CudaModule

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
DEVICE = te_sched.emulated_cuda(0)


def agree(
    program: IRModule | CudaModule,
    inputs: Sequence[np.ndarray],
    expected: np.ndarray,
    *,
    archs: Sequence[str] = ARCHITECTURES,
    tolerance: float = 0,
    initialized: Collection[str] = (),
) -> CudaModule:
    """Assert that the program compiles, and that its result is right, emulated and checked."""
    module = program
    if not isinstance(module, CudaModule):
        module = CudaModule(module, as_target("cuda"))
    if nvrtc.is_available():
        for arch in archs:
            nvrtc.compile(module.source, arch)
    emulated = te_sched.nd.array(np.zeros_like(expected), DEVICE)
    module(*[te_sched.nd.array(one, DEVICE) for one in inputs], emulated)
    np.testing.assert_allclose(
        emulated.numpy().astype("float64"), expected.astype("float64"), tolerance, tolerance
    )
    checked = np.zeros_like(expected)
    report = module.check(*[one.copy() for one in inputs], checked, initialized=initialized)
    assert report.ok, str(report)
    np.testing.assert_allclose(
        checked.astype("float64"), expected.astype("float64"), tolerance, tolerance
    )
    return module
