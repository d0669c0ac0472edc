"""The names that examples in docstrings use without importing them."""

import pytest


@pytest.fixture(autouse=True)
def _names_of_examples(request, doctest_namespace):
    if isinstance(request.node, pytest.DoctestItem):
        import numpy as np

        import te_sched
        from te_sched import te, tir, topi

        doctest_namespace.update(np=np, te_sched=te_sched, te=te, tir=tir, topi=topi)
    if any(part in request.node.name for part in ("tensorir", "meta_schedule")):
        doctest_namespace["matmul_relu"] = matmul_relu()


def matmul_relu():
    """The function of the examples of `tir.Schedule`."""
    from te_sched.script import tir as T

    @T.prim_func
    def main(
        A: T.Buffer((8, 8), "float32"),
        B: T.Buffer((8, 8), "float32"),
        D: T.Buffer((8, 8), "float32"),
    ):
        C = T.alloc_buffer((8, 8), "float32")
        for i, j, k in T.grid(8, 8, 8):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(8, 8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], 0.0)

    return main
