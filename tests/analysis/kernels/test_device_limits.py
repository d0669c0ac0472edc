"""What a GPU does not allow is refused by build."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError
from te_sched.runtime.cuda_module import CudaModule


def copy(extent: int, tag: str) -> tuple[Any, list[Any]]:
    A = te.placeholder((extent,), name="A")
    B = te.compute((extent,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis(tag))
    return s, [A, B]


@pytest.mark.parametrize(
    ("extent", "tag", "why"),
    [
        (2048, "threadIdx.x", "from 1 to 1024"),
        (65, "threadIdx.z", "from 1 to 64"),
        (65536, "blockIdx.y", "from 1 to 65535"),
    ],
)
def test_long_axes_are_refused(extent: int, tag: str, why: str) -> None:
    with pytest.raises(BuildError, match=why):
        te_sched.build(*copy(extent, tag), target="cuda")


def test_large_blocks_are_refused() -> None:
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.y"))
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    with pytest.raises(BuildError, match=r"4096 threads in a block.*\n.*stage B"):
        te_sched.build(s, [A, B], target="cuda")


@pytest.mark.parametrize("tag", ["threadIdx.x", "blockIdx.x"])
def test_kernels_over_no_elements_do_nothing(tag: str) -> None:
    module = te_sched.build(*copy(0, tag), target="cuda")
    assert isinstance(module, CudaModule)
    assert "__launch_bounds__(0)" not in module.imported_modules[0].get_source()
    device = te_sched.emulated_cuda(0)
    arrays = [te_sched.nd.array(np.zeros(0, "float32"), device) for _ in range(2)]
    module(*arrays)
    assert module.check(*arrays).ok


def test_virtual_threads_alone_are_refused() -> None:
    with pytest.raises(BuildError, match=r"stage B(.|\n)*no loop around it is bound"):
        te_sched.build(*copy(8, "vthread"), target="cuda")


def cached(size: int, scope: str) -> tuple[Any, list[Any]]:
    A = te.placeholder((4, size), name="A")
    B = te.compute((4, size), lambda i, j: A[i, size - 1 - j], name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, scope, [B])
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    _, inner = s[B].split(B.op.axis[1], factor=32)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[B], B.op.axis[0])
    return s, [A, B]


def test_too_much_shared_memory_is_refused() -> None:
    with pytest.raises(BuildError, match=r"65536 bytes(.|\n)*at most 49152(.|\n)*A.shared 65536"):
        te_sched.build(*cached(16384, "shared"), target="cuda")


def test_dynamic_shared_memory_may_be_larger() -> None:
    assert te_sched.build(*cached(16384, "shared.dyn"), target="cuda -arch=sm_80")
    with pytest.raises(BuildError, match="a block of sm_75 has at most 65536"):
        te_sched.build(*cached(32768, "shared.dyn"), target="cuda -arch=sm_75")


def test_stages_outside_of_kernels_are_refused() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    with pytest.raises(BuildError, match=r"stage B(.|\n)*no loop around it is bound"):
        te_sched.build(te.create_schedule(B.op), [A, B], target="cuda")


def test_memory_of_threads_has_a_constant_size() -> None:
    n = te.var("n")
    A = te.placeholder((8, n), name="A")
    B = te.compute((8, n), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, n), lambda i, j: B[i, n - 1 - j], name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], C.op.axis[0])
    with pytest.raises(BuildError, match=r"stage B(.|\n)*expected a constant"):
        te_sched.build(s, [A, C], target="cuda")


@pytest.mark.parametrize("scope", ["local.x", "shared.", "wmma.matrix_c"])
def test_scopes_that_no_kernel_has_are_refused(scope: str) -> None:
    s, args = copy(4, "threadIdx.x")
    cached = s.cache_read(args[0], scope, [args[1]])
    s[cached].compute_at(s[args[1]], args[1].op.axis[0])
    with pytest.raises(BuildError, match=rf"scope '{scope}'(.|\n)*kernel are local, warp, shared"):
        te_sched.build(s, args, target="cuda")


def memory_of(scope: str, factor: int) -> Any:
    """B in memory of the kernel, and the part of C that it is read for."""
    A = te.placeholder((1 << 30,), "float64", name="A")
    B = te.compute((1 << 30,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((1 << 30,), lambda i: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=factor)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].set_scope(scope)
    s[B].compute_at(s[C], outer)
    return s, [A, C]


@pytest.mark.parametrize("factor", [1 << 17, 1 << 29])
@pytest.mark.parametrize("scope", ["local", "shared", "shared.dyn"])
def test_more_memory_than_there_is(scope: str, factor: int) -> None:
    """2**29 elements are 2**32 bytes: 0, in 32 bits."""
    assert te_sched.build(*memory_of(scope, 1 << 10), target="cuda")
    with pytest.raises(BuildError, match=rf"has {factor * 8} bytes of .*at most"):
        te_sched.build(*memory_of(scope, factor), target="cuda")


def test_registers_say_which_stage_takes_most() -> None:
    with pytest.raises(BuildError, match=r"a thread has at most 524288(.|\n)*B takes 1048576"):
        te_sched.build(*memory_of("local", 1 << 17), target="cuda")


def test_registers_of_one_name_are_all_counted() -> None:
    ib = tir.ir_builder.create()
    A = tir.decl_buffer((64,), name="A")
    out = ib.buffer_ptr(A)
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 64)
    for _ in range(2):
        w = ib.allocate("float32", 75 << 10, name="w", scope="local")
        w[0] = out[tx.var]
        out[tx.var] = w[0]
    func = tir.PrimFunc((A.data,), ib.get(), {A.data: A}, {"global_symbol": "main"})
    with pytest.raises(BuildError, match=r"has 614400 bytes of registers"):
        te_sched.build(func, target="cuda")
