"""The stages of a schedule put together: `schedule_ops`."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.errors import LoweringError
from te_sched.ir.stmt import AttrStmt, BufferRealize, PrimFunc
from te_sched.lowering.assemble import schedule_ops
from te_sched.lowering.bounds import infer_bound
from te_sched.lowering.statements import nodes_of
from tests.lowering.structure import text
from tests.schedule.programs import chain, pair, product, scan


def assembled(schedule: Any, args: list[Any], **options: Any) -> PrimFunc:
    normal = schedule.normalize()
    return schedule_ops(normal, infer_bound(normal), args, "main", **options)


def realized(func: PrimFunc) -> dict[str, list[int]]:
    """The extents of what exists, by its name."""
    found = nodes_of(func.body, frozenset({BufferRealize}))
    return {one.buffer.name: [bound.extent.value for bound in one.bounds] for one in found}


def test_stages_at_the_root_run_producers_first() -> None:
    p = chain()
    func = assembled(p.s, [p.A, p.D])
    assert text(func.body) == "[i*16 j*8 B; [i*16 j*8 C; i*16 j*8 D]]"
    assert realized(func) == {"B": [16, 8], "C": [16, 8], "D": [16, 8]}


def test_attached_stage_exists_within_its_loop() -> None:
    p = chain()
    p.s[p.C].compute_at(p.s[p.D], p.D.op.axis[0])
    p.s[p.B].compute_inline()
    func = assembled(p.s, [p.A, p.D])
    assert text(func.body) == "i*16 [j*8 C; j*8 D]"
    assert realized(func) == {"C": [1, 8], "D": [16, 8]}


def test_reduction_starts_before_its_loops() -> None:
    p = product()
    assert text(assembled(p.s, [p.A, p.B, p.D]).body) == "[i*16 j*8 [C; k*32 C]; i*16 j*8 D]"


def test_outputs_of_one_operation_are_stored_together() -> None:
    p = pair()
    func = assembled(p.s, [p.A, p.C])
    assert text(func.body) == "[i*16 [B.v0; B.v1]; i*16 C]"
    assert realized(func) == {"B.v0": [16], "B.v1": [16], "C": [16]}


def test_parts_of_a_scan_write_its_buffer() -> None:
    p = scan()
    func = assembled(p.s, [p.X, p.D])
    assert realized(func) == {"scan": [10, 16], "D": [10, 16]}
    assert text(func.body) == "[i*16 scan; scan.idx*9 i*16 scan; i*10 j*16 D]"


def test_arguments_keep_their_order_and_names() -> None:
    p, n = chain(), te.var("n")
    func = assembled(p.s, [p.D, n, p.A])
    assert [param.name for param in func.params] == ["D", "n", "A"]
    assert [buffer.name for buffer in func.buffer_map.values()] == ["D", "A"]
    assert func.attrs["global_symbol"] == "main"


def test_given_buffer_is_used() -> None:
    p = chain()
    own = te_sched.tir.decl_buffer((16, 8), "float32", "own")
    func = assembled(p.s, [p.A, p.D], binds={p.D: own})
    assert own in func.buffer_map.values()


def test_rejects_a_tensor_that_is_given_twice() -> None:
    p = chain()
    with pytest.raises(LoweringError, match="tensor A is given twice"):
        assembled(p.s, [p.A, p.A, p.D])


def test_double_buffer_is_marked() -> None:
    p = chain()
    p.s[p.B].double_buffer()
    marks = nodes_of(assembled(p.s, [p.A, p.D]).body, frozenset({AttrStmt}))
    assert [(mark.key, mark.node.name) for mark in marks] == [("double_buffer_scope", "B")]


def test_stage_inside_of_threads_that_needs_their_loop_is_refused() -> None:
    A, k = te.placeholder((8, 16), name="A"), te.reduce_axis((0, 16), "k")
    B = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(k, 4)
    s[C].bind(inner, te.thread_axis("threadIdx.y"))
    s[B].compute_at(s[C], inner)
    with pytest.raises(
        LoweringError, match=r"needs the value of loop k\.outer(.|\n)*at axis k\.outer"
    ):
        te_sched.lower(s, [A, C])
    s[B].compute_at(s[C], outer)
    te_sched.lower(s, [A, C])
