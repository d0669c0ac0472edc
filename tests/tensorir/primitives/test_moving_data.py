"""Copies at loops: read_at, write_at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import config, tir
from te_sched.ir import structural_equal
from tests.tensorir.programs import MOVED, function, program

KERNEL = function(
    "A:16,16 B:16,16 C:16,16",
    """
for by in T.thread_binding(2, thread="blockIdx.x"):
    for ty in T.thread_binding(2, thread="threadIdx.y"):
        for tx in T.thread_binding(4, thread="threadIdx.x"):
            for k0 in range(4):
                for k1, i, j in T.grid(4, 4, 4):
                    with T.block("C"):
                        vi = T.axis.spatial(16, by * 8 + ty * 4 + i)
                        vj = T.axis.spatial(16, tx * 4 + j)
                        vk = T.axis.reduce(16, k0 * 4 + k1)
                        with T.init():
                            C[vi, vj] = 0.0
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""",
)
# What TVM 0.19 prints.
READ = """
                    with T.block("A_shared"):
                        v0, v1 = T.axis.remap("SS", [by, k0])
                        T.reads(A[v0 * 8:v0 * 8 + 8, v1 * 4:v1 * 4 + 4])
                        T.writes(A_shared[v0 * 8:v0 * 8 + 8, v1 * 4:v1 * 4 + 4])
                        T.block_attr({"auto_copy": 1})
                        for ax0, ax1 in T.grid(8, 4):
                            A_shared[v0 * 8 + ax0, v1 * 4 + ax1] = A[v0 * 8 + ax0, v1 * 4 + ax1]
"""
WRITTEN = """
                with T.block("C_local"):
                    v0, v1, v2 = T.axis.remap("SSS", [by, ty, tx])
                    T.reads(C_local[v0 * 8 + v1 * 4:v0 * 8 + v1 * 4 + 4, v2 * 4:v2 * 4 + 4])
                    T.writes(C[v0 * 8 + v1 * 4:v0 * 8 + v1 * 4 + 4, v2 * 4:v2 * 4 + 4])
                    T.block_attr({"auto_copy": 1})
                    for ax0, ax1 in T.grid(4, 4):
                        C[v0 * 8 + v1 * 4 + ax0, v2 * 4 + ax1] = C_local[v0 * 8 + v1 * 4 + ax0, """


def text_of(sch: Any) -> str:
    """The text of the function of a schedule."""
    return "\n".join(line[4:] for line in sch.mod.script().splitlines())


def kernel() -> tuple[Any, list[Any]]:
    """The schedule of a kernel, and its loops."""
    sch = tir.Schedule(program(KERNEL))
    return sch, sch.get_loops("C")


def check_kernel(sch: Any) -> None:
    """The scheduled kernel computes a product, and its JSON replays."""
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 16), dtype="float32"), rng.random((16, 16), dtype="float32")
    with config.scoped(emulate=True):
        built = te_sched.build(sch.mod, target="cuda")
        arrays = [te_sched.nd.array(one, te_sched.cuda(0)) for one in (a, b, np.zeros_like(a))]
        built(*arrays)
    np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-5)
    again = tir.Schedule(program(KERNEL))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)


def test_text_of_a_copy_that_is_read() -> None:
    sch, loops = kernel()
    copy = sch.read_at(loops[3], "C", 0, "shared")
    assert READ in text_of(sch)
    assert "A_shared[vi, vk] * B[vk, vj]" in text_of(sch)
    assert "sch.read_at(loop=l4, block=b8, read_buffer_index=0, " in str(sch.trace)
    assert sch.get(copy).annotations == {"auto_copy": 1}
    check_kernel(sch)


def test_text_of_a_copy_that_is_written() -> None:
    sch, loops = kernel()
    sch.write_at(loops[2], "C", 0, "local")
    assert WRITTEN in text_of(sch)
    check_kernel(sch)


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "both operands": lambda s, at: (
        s.read_at(at[3], "C", 0, "shared"),
        s.read_at(at[3], "C", 1, "shared"),
    ),
    "operand of a thread": lambda s, at: s.read_at(at[3], "C", 1, "local"),
    "operand of a block": lambda s, at: s.read_at(at[2], "C", 1, "shared"),
    "result": lambda s, at: s.write_at(at[2], "C", 0, "shared"),
    "all": lambda s, at: (
        s.read_at(at[3], "C", 0, "shared"),
        s.read_at(at[3], "C", 1, "shared.dyn"),
        s.write_at(at[2], "C", 0, "shared"),
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_results_of_kernels(name: str) -> None:
    sch, loops = kernel()
    STEPS[name](sch, loops)
    check_kernel(sch)


ROWS = MOVED["written later"].replace("A[vi, vj] = C[vi, vj]", "C[vi, vj] = B[vi, vj] + B[vi, 0]")


@pytest.mark.parametrize(("place", "name"), [(0, "B_local"), (1, "B")])
def test_blocks_in_the_same_statement_read_the_copy(place: int, name: str) -> None:
    sch = tir.Schedule(program(ROWS))
    sch.write_at(sch.get_loops("B")[place], "B", "B", "local")
    assert f"C[vi, vj] = {name}[vi, vj] + {name}[vi, 0]" in text_of(sch)
    results = []
    for module in (program(ROWS), sch.mod):
        arrays = [np.random.default_rng(n).random((8, 8), dtype="float32") for n in range(3)]
        te_sched.build(module, target="llvm")(*arrays)
        results.append(arrays)
    np.testing.assert_array_equal(*results)
