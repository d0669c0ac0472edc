"""Every step of the corpus that binds threads compiles for all architectures."""

import pytest

from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.errors import BuildError
from tests.codegen.cuda.kernels import kernels_of
from tests.golden.steps import thread_bound_steps, with_threads

REFUSED = {
    ("14_bind", 1): None,
    ("depthwise_conv_gpu", 0): "P.shared",  # shared memory outside of all kernels
}


@pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("program", with_threads(), ids=lambda one: one.name)
def test_kernels_compile(program):
    kernels = {}
    for step, schedule, args in thread_bound_steps(program, program):
        try:
            kernels |= kernels_of(schedule, args, f"step_{step}")
        except BuildError:
            assert (program.name, step) in REFUSED
    source = print_kernels(kernels)
    for arch in ("sm_75", "sm_80", "sm_90"):
        made = nvrtc.compile(source, arch)
        assert made.resource_usage.keys() == kernels.keys()
