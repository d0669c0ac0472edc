"""The same seeds make the decisions of TVM 0.19."""

from __future__ import annotations

from typing import Any

import pytest
import tvm

import te_sched
from tests.sampling import sampled

COPY = """
# from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer(({n},), "float32"), C: T.Buffer(({n},), "float32")):
    B = T.alloc_buffer(({n},), "float32")
    for i in range({n}):
        with T.block("B"):
            vi = T.axis.spatial({n}, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range({n}):
        with T.block("C"):
            vi = T.axis.spatial({n}, i)
            C[vi] = B[vi] * T.float32(2)
"""


def _decisions(lib: Any, extent: int, seed: int) -> list[Any]:
    sch = lib.tir.Schedule(lib.script.from_source(COPY.format(n=extent)), seed=seed)
    (loop,) = sch.get_loops(sch.get_block("C"))
    for count in range(2, 7):
        sch.sample_perfect_tile(loop, n=count, max_innermost_factor=64)
        if extent % 4 == 0:
            sch.sample_partitioned_tile(loop, count, 1, 4)
        sch.sample_categorical([*range(count)], [1.0 / (one + 1) for one in range(count)])
        sch.sample_categorical([5], [1.0])
        sch.sample_compute_location(sch.get_block("B"))
    found: list[Any] = []
    decisions = sch.trace.decisions
    for one in [decisions[one] for one in sch.trace.insts if one in decisions]:
        is_list = not isinstance(one, int) and hasattr(one, "__len__")
        found.append([int(part) for part in one] if is_list else int(one))
    return [*found, sch.fork_seed(), sch.copy().fork_seed(), sch.fork_seed()]


@pytest.mark.parametrize("extent", sampled([1, 2, 12, 60, 64, 97, 210, 720, 1024, 77 * 77], 4))
@pytest.mark.parametrize("seed", [1, 42, 2**31 - 2, 2**31 - 1, 123456789])
def test_decisions_are_those_of_tvm(extent: int, seed: int) -> None:
    assert _decisions(te_sched, extent, seed) == _decisions(tvm, extent, seed)


PRODUCT = """
# from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8, 8)), B: T.Buffer((8, 8)), C: T.Buffer((8, 8))):
    P = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + P[vi, vk] * B[vk, vj]
"""


def _places(lib: Any, order: str) -> list[int]:
    sch = lib.tir.Schedule(lib.script.from_source(PRODUCT), seed=7)
    loops = {}
    for name, loop in zip("ijk", sch.get_loops(sch.get_block("C")), strict=True):
        loops[name.upper()], loops[name] = sch.split(loop, [4, 2])
    sch.reorder(*[loops[one] for one in order])
    found = []
    for _ in range(30):
        sch.sample_compute_location(sch.get_block("P"))
        found.append(int(sch.trace.decisions[sch.trace.insts[-1]]))
    return found


@pytest.mark.parametrize("order", ["IJKijk", "IJiKjk", "IJKkij", "IJijKk", "KkIJij", "IKJkij"])
def test_places_are_those_of_tvm(order: str) -> None:
    assert _places(te_sched, order) == _places(tvm, order)


@pytest.mark.parametrize(
    "sizes", [(2, 1, 2, 3, 2), (2, 3, 2, 3, 2), (2, 1, 2, 1, 2), (2, 1, 1, 3, 2)]
)
def test_places_between_reductions_are_those_of_tvm(sizes: tuple[int, ...]) -> None:
    source = f"""
# from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer({sizes}), C: T.Buffer(({sizes[1]}, {sizes[3]}), "float32")):
    B = T.alloc_buffer({sizes})
    for i0, i1, i2, i3, i4 in T.grid{sizes}:
        with T.block("B"):
            v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
            B[v0, v1, v2, v3, v4] = A[v0, v1, v2, v3, v4] + 1.0
    for k0, i, k1, j, k2 in T.grid{sizes}:
        with T.block("C"):
            v0, vi, v1, vj, v2 = T.axis.remap("RSRSR", [k0, i, k1, j, k2])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[v0, vi, v1, vj, v2]
"""
    found = []
    for lib in (te_sched, tvm):
        sch = lib.tir.Schedule(lib.script.from_source(source), seed=3)
        for _ in range(50):
            sch.sample_compute_location(sch.get_block("B"))
        found.append([int(sch.trace.decisions[one]) for one in sch.trace.insts[1::2]])
    assert found[0] == found[1]
