"""Double buffers need loops whose iterations come one after the other."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError


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
