"""Double buffers need loops whose iterations come one after the other."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.analysis.programs.double_buffering import check_turns
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from tests.codegen.programs import buffer, function, loop


def test_build_rejects_double_buffer_in_a_parallel_loop() -> None:
    A = te.placeholder((8, 4), name="A")
    B = te.compute((8, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 4), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    te_sched.build(s, [A, C], target="llvm")
    s[C].parallel(C.op.axis[0])
    with pytest.raises(BuildError, match="cannot double-buffer stage B in the parallel loop i"):
        te_sched.build(s, [A, C], target="llvm")


def prefetching(*kinds: str) -> S.PrimFunc:
    """A prefetch in loops of some kinds, the innermost last."""
    b = buffer("B", [8])
    store = S.BufferStore(b, E.FloatImm(1.0), (E.IntImm(0),))
    body: S.Stmt = S.AttrStmt(b.data, "double_buffer_write", E.IntImm(1), store)
    for kind in reversed(kinds):
        body = loop(4, lambda i, inner=body: inner, kind)
    return function([b], body)


@pytest.mark.parametrize("kinds", [(), ("serial",), ("unrolled",), ("parallel", "serial")])
def test_loops_whose_iterations_come_in_order(kinds: tuple[str, ...]) -> None:
    check_turns(prefetching(*kinds))


@pytest.mark.parametrize("kinds", [("parallel",), ("vectorized",), ("serial", "parallel")])
def test_loops_whose_iterations_run_at_once_are_refused(kinds: tuple[str, ...]) -> None:
    with pytest.raises(
        BuildError, match=f"cannot double-buffer stage B in the {kinds[-1]} loop i\n"
    ):
        check_turns(prefetching(*kinds))
