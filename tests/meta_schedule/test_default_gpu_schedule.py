"""All blocks of functions without a schedule, on the threads of a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, relax, te
from te_sched.meta_schedule.default_gpu_schedule import DefaultGPUSchedule
from te_sched.target import Target


def chain(n: int) -> IRModule:
    """B is computed of A, and C of B."""
    A = te.placeholder((n, 8), name="A")
    B = te.compute((n, 8), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] + 1.0, name="C")
    return IRModule({"chain": te.create_prim_func([A, C]).with_attr("global_symbol", "chain")})


@pytest.mark.parametrize(("n", "extents"), [(1, (1, 8)), (1024, (8, 1024))])
def test_every_block_is_bound(n: int, extents: tuple[int, int]) -> None:
    with Target("cuda"):
        bound = DefaultGPUSchedule()(chain(n))
    text = bound["chain"].script()
    for extent, axis in zip(extents, ("blockIdx.x", "threadIdx.x"), strict=True):
        assert text.count(f'T.thread_binding({extent}, thread="{axis}")') == 2
    assert bound["chain"].attrs["tir.is_scheduled"]
    assert bound["chain"].attrs["global_symbol"] == "chain"


def test_bound_blocks_compute_the_same() -> None:
    with Target("cuda"):
        kernel = te_sched.build(DefaultGPUSchedule()(chain(300)), target="cuda")
    a = np.random.default_rng(0).random((300, 8), "float32")
    device = te_sched.emulated_cuda(0)
    out = te_sched.nd.empty((300, 8), device=device)
    kernel["chain"](te_sched.nd.array(a, device), out)
    np.testing.assert_allclose(out.numpy(), 2 * a + 1, rtol=1e-6)


@pytest.mark.parametrize("target", [None, "llvm", "c"])
def test_functions_for_other_targets_stay(target: str | None) -> None:
    module = chain(4)
    with Target(target or "cuda"):
        if target is None:
            module = IRModule({"chain": module["chain"].with_attr("tir.is_scheduled", True)})
        assert DefaultGPUSchedule()(module)["chain"] is module["chain"]


def test_the_target_of_a_function_comes_first() -> None:
    module = chain(4)
    module["other"] = module["chain"].with_attr("target", Target("cuda"))
    x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
    graph = relax.Function([x], x, relax.TensorStructInfo([8], "float32"))
    module["graph"] = graph
    with Target("llvm"):
        bound = DefaultGPUSchedule()(module)
    assert [name for name in ("chain", "other", "graph") if bound[name] is not module[name]] == [
        "other"
    ]
