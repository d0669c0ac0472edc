"""Every step of the corpus that binds threads compiles for all architectures."""

import pytest

import te_sched
from te_sched.codegen.cuda import nvrtc, print_kernels
from te_sched.errors import BuildError
from tests.codegen.cuda.kernels import kernels_of
from tests.golden import corpus, execution

REFUSED = {
    ("14_bind", 1): None,
    ("depthwise_conv_gpu", 0): "allocate P.shared",  # shared memory outside of all kernels
}


def thread_bound_steps(program):
    """(number, schedule, args) of the steps with threads."""
    for step, (schedule, args) in enumerate(program.steps(te_sched)):
        reason = execution.why_not_on_cpu(schedule, program.golden("script")[step])
        if reason is not None and reason.startswith("loops are bound to"):
            yield step, schedule, args


def has_threads(program):
    return any(
        'T.launch_thread("' in text or "T.env_thread(" in text for text in program.golden("script")
    )


PROGRAMS = [pytest.param(one, id=one.name) for one in corpus.programs() if has_threads(one)]


@pytest.mark.skipif(not nvrtc.is_available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("program", PROGRAMS)
def test_kernels_compile(program):
    kernels = {}
    for step, schedule, args in thread_bound_steps(program):
        try:
            kernels |= kernels_of(schedule, args, f"step_{step}")
        except BuildError:
            assert (program.name, step) in REFUSED
    source = print_kernels(kernels)
    for arch in ("sm_75", "sm_80", "sm_90"):
        made = nvrtc.compile(source, arch)
        assert made.resource_usage.keys() == kernels.keys()
