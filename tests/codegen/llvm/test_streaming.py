"""Stores past the caches (the pragma "nontemporal"), alignment and prefetching."""

from __future__ import annotations

import platform
import re

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm.compile import compile_functions
from te_sched.target import Target

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the assembly is x86-64's"
)
N = 1 << 10


def program(pragma: bool = True, parallel: bool = False) -> tuple[te.Schedule, list[te.Tensor]]:
    """C = A + 1 in vectors, with the pragma on the outer axis."""
    A = te.placeholder((N,), name="A")
    C = te.compute((N,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C.op)
    part, rest = s[C].split(C.op.axis[0], nparts=4)
    _, inner = s[C].split(rest, 16)
    s[C].vectorize(inner)
    if parallel:
        s[C].parallel(part)
    if pragma:
        s[C].pragma(part, "nontemporal")
    return s, [A, C]


def assembly(program: tuple[te.Schedule, list[te.Tensor]]) -> str:
    return str(te_sched.build(*program, "llvm -mcpu=skylake-avx512").get_source("asm"))


@pytest.mark.parametrize("parallel", [False, True])
def test_vectors_are_stored_past_the_caches_and_ordered(parallel: bool) -> None:
    text = assembly(program(parallel=parallel))
    assert "vmovntps" in text
    body = text if not parallel else text[text.index(".parallel.") :]
    assert body.index("vmovntps") < body.index("sfence")
    assert "vmovntps" not in assembly(program(pragma=False, parallel=parallel))


@pytest.mark.parametrize("offset", range(5))
@pytest.mark.parametrize("parallel", [False, True])
def test_arrays_with_any_alignment_get_the_same(offset: int, parallel: bool) -> None:
    a = np.random.default_rng(0).random(N).astype("float32")
    c = np.zeros(N + 16, "float32")[offset : offset + N]
    te_sched.build(*program(parallel=parallel))(a, c)
    np.testing.assert_array_equal(c, a + 1)


def test_array_that_is_read_there_stays_in_the_caches() -> None:
    A = te.placeholder((8, N), name="A")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((N,), lambda i: te.sum(A[k, i], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], 16)
    s[C].reorder(outer, k, inner)
    s[C].vectorize(inner)
    s[C].pragma(outer, "nontemporal")
    assert "movnt" not in assembly((s, [A, C]))


def test_store_whose_alignment_is_not_known_is_an_ordinary_one() -> None:
    A = te.placeholder((8, 18), name="A")
    C = te.compute((8, 18), lambda i, j: A[i, j] + 1, name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[1], 9)
    s[C].vectorize(inner)
    s[C].pragma(C.op.axis[0], "nontemporal")
    assert "movnt" not in assembly((s, [A, C]))


def test_other_processors_get_a_fence_of_their_own() -> None:
    functions = te_sched.lower(*program()).functions
    target = Target("llvm -mtriple=i686-linux-gnu -mattr=+sse2")
    source = compile_functions(functions, target).source("ll")
    assert "!nontemporal" in source
    assert "fence seq_cst" in source


def test_accesses_of_intermediate_buffers_are_aligned() -> None:
    A = te.placeholder((N,), name="A")
    B = te.compute((N,), lambda i: A[i] * 2, name="B")
    C = te.compute((N,), lambda i: B[N - 1 - i] + B[i], name="C")
    s = te.create_schedule(C.op)
    for stage in (B, C):
        _, inner = s[stage].split(stage.op.axis[0], 16)
        s[stage].vectorize(inner)
    source = te_sched.build(s, [A, C], target="llvm -opt-level=0").get_source("ll")
    assert re.search(r"store <16 x float> .*, align 64", source)
    assert re.search(r"load <16 x float>, .*, align 64", source)
    a, c = np.arange(N, dtype="float32"), np.zeros(N, "float32")
    te_sched.build(s, [A, C])(a, c)
    np.testing.assert_array_equal(c, 2 * (a + a[::-1]))


def test_schedule_prefetches() -> None:
    A = te.placeholder((N,), name="A")
    C = te.compute((N,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C.op)
    s[C].prefetch(A, C.op.axis[0], 64)
    assert "prefetcht0" in assembly((s, [A, C]))
