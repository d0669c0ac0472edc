"""Kernels are cut out of the host's function."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError
from te_sched.ir.kernel import block_size, is_kernel, thread_axes
from te_sched.ir.stmt import IRModule
from te_sched.lowering.device.split_kernels import split_kernels
from te_sched.lowering.device.unify_threads import unify_threads


def bound(shape: tuple[object, ...], *tags: str) -> IRModule:
    """A copy whose axes are bound to tags, as host and kernels."""
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A(*i) + 1.0, name="B")
    s = te.create_schedule(B.op)
    for axis, tag in zip(B.op.axis, tags, strict=True):
        s[B].bind(axis, te.thread_axis(tag))
    return split_kernels(unify_threads(te_sched.lower(s, [A, B])["main"]))


def test_host_launches_the_kernel() -> None:
    module = bound((4, 8), "blockIdx.x", "threadIdx.x")
    assert 'T.launch_kernel("main_kernel", A.data, B.data, 4, 8, 0)' in str(module["main"])
    assert [is_kernel(func) for func in module.functions.values()] == [False, True]
    assert block_size(module["main_kernel"]) == 8


def test_axes_are_in_the_order_of_the_device() -> None:
    kernel = bound((2, 3, 4), "threadIdx.y", "threadIdx.x", "blockIdx.z")["main_kernel"]
    assert [axis.tag for axis in thread_axes(kernel)[0]] == [
        *("blockIdx.z", "threadIdx.x", "threadIdx.y")
    ]


def test_symbolic_extents_are_parameters() -> None:
    n = te.var("n")
    module = bound((n, 8), "blockIdx.x", "threadIdx.x")
    assert [param.name for param in module["main_kernel"].params][2:3] == ["n"]
    assert ", n, 8, 0)" in str(module["main"])


def test_shared_memory_outside_of_kernels_is_refused() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, "shared", [B])
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    del AA
    func = te_sched.lower(s, [A, B])["main"]
    with pytest.raises(BuildError, match=r"compute_at"):
        split_kernels(unify_threads(func))
