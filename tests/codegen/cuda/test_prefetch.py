"""Prefetching in kernels: into the second cache, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from te_sched import te
from te_sched.ir import expr as E
from te_sched.runtime.cuda_module import CudaModule
from tests.codegen.checker import kernels as k
from tests.codegen.cuda.devices import agree


def test_prefetch_of_a_schedule() -> None:
    A = te.placeholder((64, 32), name="A")
    r = te.reduce_axis((0, 32), name="r")
    B = te.compute((64,), lambda i: te.sum(A[i, r], axis=r), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[B].prefetch(A, s[B].op.reduce_axis[0], 1)
    built = te_sched.build(s, [A, B], target="cuda")
    assert isinstance(built, CudaModule)
    assert 'asm volatile("prefetch.global.L2 [%0];" ::"l"(' in built.source
    a = np.random.default_rng(0).integers(0, 9, (64, 32)).astype("float32")
    agree(built, [a], a.sum(axis=1))


def test_prefetch_outside_of_the_array_is_no_access() -> None:
    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        ahead = E.Call("handle", "tir.address_of", (A[tx + 32],))
        options = (E.IntImm(0), E.IntImm(3), E.IntImm(1))
        ib.emit(E.Call("void", "tir.prefetch", (ahead, *options)))
        C[tx] = A[tx]

    a = np.arange(32).astype("float32")
    agree(k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32), [a], a)


def test_memory_on_the_chip_is_not_prefetched() -> None:
    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        s = ib.allocate("float32", 32, name="s", scope="shared")
        s[tx] = A[tx]
        here = E.Call("handle", "tir.address_of", (s[tx],))
        options = (E.IntImm(0), E.IntImm(3), E.IntImm(1))
        ib.emit(E.Call("void", "tir.prefetch", (here, *options)))
        C[tx] = s[tx]

    a = np.arange(32).astype("float32")
    module = agree(k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32), [a], a)
    assert "prefetch" not in module.source
