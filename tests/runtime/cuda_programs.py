"""Programs of kernels, and arrays for them."""

from __future__ import annotations

import te_sched
from te_sched import nd, te
from te_sched.runtime.cuda_module import CudaModule
from tests.runtime.fake_cuda import FakeDriver

N = 64


def plus_one(vector: int = 1) -> CudaModule:
    n = te.var("n") if vector == 1 else 5
    A = te.placeholder((n, N), name="A")
    B = te.compute((n, N), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    outer, inner = s[B].split(B.op.axis[1], vector)
    s[B].bind(outer, te.thread_axis("threadIdx.x"))
    if vector > 1:
        s[B].vectorize(inner)
    module = te_sched.build(s, [A, B], "cuda")
    assert isinstance(module, CudaModule)
    return module


def arrays(count: int = 5, device: int = 0) -> list[nd.NDArray]:
    return [nd.empty((count, N), "float32", nd.cuda(device)) for _ in range(2)]


def check_temporary(driver: FakeDriver) -> None:
    """A temporary has as many bytes as its launch is told."""
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((N,), lambda i: B[N - 1 - i], name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        s[stage].bind(stage.op.axis[0], te.thread_axis("threadIdx.x"))
    a, c = (nd.empty((N,), "float32", nd.cuda(0)) for _ in range(2))
    te_sched.build(s, [A, C], "cuda")(a, c)
    (launch, _) = driver.named("cuLaunchKernel")
    assert [call[2] for call in driver.named("alloc")] == [launch[8]]
