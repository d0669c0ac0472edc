"""Regions that users state: annotate_buffer_access."""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from te_sched import relax, tir
from te_sched.script import from_source
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.tensorir.programs import GIVEN, MATMUL, STAGES, function
from tests.tensorir.schedules import check_same, loops, scheduled

# What TVM 0.19 prints.
STATED = """
        for i, j in T.grid(8, 8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(C[vi - 1:vi - 1 + 2, vj])
                T.writes(D[vi, vj:vj + 2])
                T.block_attr({"explicit_read_region": [0], "explicit_write_region": [0]})
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
MOVED = """
        for i in range(8):
            for ax0, ax1 in T.grid(2, 8):
                with T.block("B"):
                    vi = T.axis.spatial(8, i + ax0)
                    vj = T.axis.spatial(8, ax1)
                    T.where(i + ax0 < 8)
"""
BY_FLOAT = function(
    "A:16 B:8",
    """
C = T.alloc_buffer((16,), "float32")
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        C[vi] = A[vi] * 2.0
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = C[T.Cast("int32", T.floor(T.Cast("float32", vi) * 2.0))]
""",
)


def test_prints_as_tvm() -> None:
    sch = scheduled(MATMUL)
    sch.annotate_buffer_access("D", 0, "read", lambda i, j: [(i - 1, i + 1), j])
    sch.annotate_buffer_access("D", "D", "write", lambda i, j: (i, (j, j + 2)))
    assert STATED in sch.mod.script() + "\n"
    assert (
        'sch.annotate_buffer_access(block=b0, buffer_index=0, buf_type="read", '
        "gen_new_ranges=lambda vi, vj: [(vi - 1, vi + 1), (vj, vj + 1)])"
    ) in str(sch.trace)
    (_, first, *_) = sch.trace.as_json()[0]
    assert first[1][:3] == ["b0", 0, 0]
    assert first[2] == []
    check_same(sch, MATMUL)


def test_last_statement_of_a_region_holds() -> None:
    sch = scheduled(MATMUL)
    for width in (2, 3):
        sch.annotate_buffer_access("C", 1, "read", lambda i, j, k, width=width: [k, (j, j + width)])
    sch.annotate_buffer_access("C", 0, "read", lambda *v: [v[0], (0, 8)])
    block = sch.get(sch.get_block("C"))
    assert str(block.reads) == "(A[vi, 0:8], B[vk, vj:vj + 3])"
    assert block.annotations == {"explicit_read_region": [1, 0]}
    check_same(sch, MATMUL)


def test_producers_compute_the_stated_region() -> None:
    sch = scheduled(STAGES)
    sch.annotate_buffer_access("C", 0, "read", lambda i, j: [(i, i + 2), j])
    sch.compute_at("B", loops(sch, "C")[0])
    assert MOVED in sch.mod.script()
    check_same(sch, STAGES)


def test_indices_of_floating_point_numbers_are_the_users_word() -> None:
    sch = scheduled(BY_FLOAT)
    assert str(sch.get(sch.get_block("B")).reads) == "(C[0:16],)"
    sch.annotate_buffer_access("B", 0, "read", lambda i: [(i * 2, i * 2 + 1)])
    sch.compute_at("C", loops(sch, "B")[0])
    assert [one.name for one in loops(sch, "C")] == ["i"]
    check_same(sch, BY_FLOAT)


def test_programs_of_traces_state_the_same_region() -> None:
    sch = scheduled(STAGES)
    sch.annotate_buffer_access("C", 0, "read", lambda i, j: [(i, i + 2), j])
    scope: dict[str, Any] = {"tir": tir}
    exec(str(sch.trace), scope)
    again = tir.Schedule(from_source(GIVEN + STAGES))
    scope["apply_trace"](again)
    assert again.mod.script() == sch.mod.script()


def test_graphs_beside_functions_of_blocks_stay() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for i in range(8):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    B[vi] = A[vi] * 2.0

        @R.function
        def main(x: R.Tensor((8,), "float32")):
            return R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((8,), "float32"))

    graph = Module["main"]
    sch = tir.Schedule(Module)
    Module["main"] = graph.with_attr("later", 1)  # the schedule has the module as it was
    assert sch.func_working_on == "double"
    sch.vectorize(sch.get_loops("B")[0])
    other = sch.copy()
    assert sch.mod["main"] is other.mod["main"] is graph
    assert "T.vectorized(8)" in other.mod["double"].script()
    assert str(sch).splitlines()[:2] == [
        "double(A: float32[8], B: float32[8])",
        "└─ vectorized i  0:8",
    ]
    assert "double(A: float32[8]" in str(te_sched.explain(sch, measure=False))
    machine = relax.VirtualMachine(relax.build(sch.mod, "llvm"), te_sched.cpu())
    found = machine["main"](te_sched.nd.array(np.arange(8, dtype="float32")))
    np.testing.assert_array_equal(found.numpy(), 2 * np.arange(8, dtype="float32"))
