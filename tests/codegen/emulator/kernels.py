"""Kernels of one warp by hand, and gathers of schedules, for the emulated device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import te_sched
from te_sched import te, tir

DEVICE = te_sched.emulated_cuda(0)


WORDS = tir.call_intrin


def gathered(rank: int = 1, cache: tuple[str, str] | None = None) -> tuple[Any, list[Any]]:
    """B[i] = A[I[i]], or B[i, j] = A[i, I[j]], in threads, perhaps through a cache."""
    A = te.placeholder((64,) * rank, name="A")
    indices = te.placeholder((64,), "int32", name="I")
    if rank == 1:
        B = te.compute((64,), lambda i: A[indices[i]], name="B")
    else:
        B = te.compute((64, 64), lambda i, j: A[i, indices[j]], name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[-1], factor=32)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    if cache is not None:
        cached = s.cache_read({"A": A, "I": indices}[cache[0]], cache[1], [B])
        s[cached].compute_at(s[B], inner if cache[1] == "local" else outer)
    return s, [A, indices, B]


def written(
    body: Callable[..., None], dtypes: Sequence[str] = ("float32", "int32", "float32")
) -> Any:
    """A kernel by hand of a warp over A, I and B."""
    buffers = [
        tir.decl_buffer((256,), dtype, name) for dtype, name in zip(dtypes, "AIB", strict=True)
    ]
    ib = tir.ir_builder.create()
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 32)
    body(ib, *[ib.buffer_ptr(buffer) for buffer in buffers], tx.var)
    handles = [tir.Var(buffer.name, "handle") for buffer in buffers]
    func = tir.PrimFunc(handles, ib.get(), dict(zip(handles, buffers, strict=True)))
    return te_sched.build(func.with_attr("global_symbol", "main"), target="cuda")


def run(module: Any, index: int, dtypes: Sequence[str] = ("float32", "int32", "float32")) -> Any:
    """B after a call with zeros in A and B and `index` everywhere in I."""
    arrays = [te_sched.nd.array(np.zeros(256, dtype), DEVICE) for dtype in dtypes]
    arrays[1] = te_sched.nd.array(np.full(256, index, "int32"), DEVICE)
    module(*arrays)
    return arrays[2].numpy()


def address(load: Any) -> Any:
    """The address of an element."""
    return WORDS("handle", "tir.address_of", load)
