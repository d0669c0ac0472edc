"""Functions with kernels: memory that the host cannot access, and limits of kernels."""

from __future__ import annotations

import pytest

from te_sched.analysis.kernels.gpu_code import exceeded_limit, host_access
from te_sched.errors import DeclarationError
from tests.analysis.parsed import parsed


@pytest.mark.parametrize(
    ("limit", "least"),
    [
        ("max_threads_per_block", 64),
        ("max_thread_x", 32),
        ("max_thread_y", 2),
        ("max_shared_memory_per_block", 256),
        ("max_local_memory_per_block", 16),
        ("max_kernels", 1),
        ("max_vector_bytes", 16),
        ("max_vthread", 3),
    ],
)
def test_limits_of_kernels(limit: str, least: int) -> None:
    func = parsed(
        """
x = T.launch_thread("threadIdx.x", 32)
y = T.launch_thread("threadIdx.y", 2)
v = T.launch_thread("vthread.x", 3)
S = T.decl_buffer((64,), "float32", scope="shared")
L = T.decl_buffer((4,), "float32", scope="local")
L[0:4] = A[0:4]
S[x] = L[y] + T.Cast("float32", v)"""
    )
    assert exceeded_limit(func, {limit: least}) is None
    assert exceeded_limit(func, {limit: least - 1}) == limit


def test_kernels_do_not_share_their_memory() -> None:
    kernel = """
with T.launch_thread("threadIdx.x", 8) as {0}:
    {0}_S = T.decl_buffer((8,), "float32", scope="shared")
    {0}_S[{0}] = A[{0}]"""
    func = parsed(kernel.format("x") + kernel.format("y"))
    limits = {"max_shared_memory_per_block": 32, "max_kernels": 2}
    assert exceeded_limit(func, limits) is None
    assert exceeded_limit(func, {"max_kernels": 1}) == "max_kernels"


def test_axis_of_two_extents_is_refused() -> None:
    text = "for i in T.thread_binding(8, thread='threadIdx.x'):\n"
    text += "    for j in T.thread_binding(4, thread='threadIdx.x'):\n        A[i + j] = 0.0"
    assert exceeded_limit(parsed(text), {}) == "extent of threadIdx.x"


def test_unknown_limits_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"unknown limit .*max_thread \(did you mean"):
        exceeded_limit(parsed("A[0] = 1.0"), {"max_thread": 1})


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("for i in T.thread_binding(16, 'blockIdx.x'):\n    C[i] = A[i]", None),
        ("for i in T.thread_binding(16, 'threadIdx.x'):\n    C[i] = A[i]\nC[0] = 1.0", "C"),
        ("for i in range(16):\n    T.evaluate(A[i])", "A"),
        ("B = T.decl_buffer((4,), 'float32')\nB[0] = 1.0", None),  # of the host
        ("for v in T.thread_binding(2, 'vthread'):\n    C[v] = 1.0", "C"),  # no kernel by itself
    ],
)
def test_arguments_that_the_host_accesses(body: str, name: str | None) -> None:
    assert host_access(parsed(body)) == name


def test_vectors_whose_elements_lie_apart_are_vectors_of_indices() -> None:
    body = "for x in T.thread_binding(2, 'threadIdx.x'):\n    C[0:8:2] = T.Broadcast(x, 4)"
    body = body.replace("T.Broadcast(x, 4)", "T.Cast('float32x4', T.Broadcast(x, 4))")
    assert exceeded_limit(parsed(body), {"max_vector_bytes": 16}) is None
    assert exceeded_limit(parsed(body), {"max_vector_bytes": 15}) == "max_vector_bytes"
