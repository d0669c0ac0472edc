"""Running schedules for GPUs on the emulated device and in checked mode, where each access of each
thread is monitored.
"""

import numpy as np

import te_sched
from te_sched import te, topi
from te_sched.script import from_source
from te_sched.target import Target
from tests.dlight.functions import tensor

CUDA, ADRENO = "cuda", "opencl -device=adreno"


def product(m, n, k, transposed=False):
    a, b = tensor(m, k), tensor(*((n, k) if transposed else (k, n)), name="B")
    return [a, b, topi.nn.relu((topi.nn.dense if transposed else topi.nn.matmul)(a, b))]


def check_arrays(sch, arrays, want, tolerance=1e-5):
    """A schedule computes the last array from those before, whatever target it was made for."""
    function = te_sched.build(sch.mod["main"], target="cuda")
    device = te_sched.emulated_cuda(0)
    scale = max(1, abs(want).max())
    for run in (function, function.check):
        copies = [te_sched.nd.array(one, device) for one in [*arrays, np.zeros_like(want)]]
        report = run(*copies)
        assert report is None or report.ok, str(report)
        np.testing.assert_allclose(copies[-1].numpy() / scale, want / scale, atol=tolerance)


def check_rule(rule, declared):
    """A rule schedules a function, which computes what it computes without a schedule."""
    func = te.create_prim_func(declared)
    sch = rule.apply(func, Target(CUDA), False)
    assert sch is not None
    draws = np.random.RandomState(0)
    shapes = [[int(n) for n in one.shape] for one in declared]
    arrays = [draws.standard_normal(one).astype("float32") for one in shapes]
    arrays[-1] = arrays[-1].astype(str(declared[-1].dtype))
    copies = [te_sched.nd.array(one) for one in arrays]
    te_sched.build(func, target="llvm -opt-level=0")(*copies)
    check_arrays(sch, arrays[:-1], copies[-1].numpy())
    return sch


def check(rule, text, target, arrays):
    """Schedule a function, and compare its result, the last array."""
    sch = rule.apply(from_source(text), Target(target), False)
    assert sch is not None
    *arrays, want = arrays
    check_arrays(sch, arrays, want, 1e-2 if want.dtype == "float16" else 1e-5)
