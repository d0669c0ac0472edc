"""normalize: a copy with everything inlined, based at zero and attached to loops."""

from __future__ import annotations

import pytest

from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.schedule import AttachType
from te_sched.schedule.relations import Rebase
from tests.schedule.programs import chain, leaves, product, snapshot


def test_normalize_leaves_the_schedule_alone() -> None:
    p = chain()
    p.s[p.B].compute_inline()
    p.s[p.C].compute_at(p.s[p.D], p.D.op.axis[0])
    state = snapshot(p.s)
    p.s.normalize()
    assert all(a is b or a == b for a, b in zip(state, snapshot(p.s), strict=True))


def test_inlining_goes_through_chains() -> None:
    p = chain()
    p.s[p.B].compute_inline()
    p.s[p.C].compute_inline()
    normal = p.s.normalize()
    assert str(normal[p.D].op.body[0]) == ("(A[i, j] + T.float32(1)) * T.float32(2) - T.float32(3)")
    assert normal[p.B].attach_type == AttachType.INLINED_ALREADY


def test_a_reduction_is_inlined_into_a_copy_only() -> None:
    p = product()
    copy = te.compute((16, 8), lambda i, j: p.C[i, j], name="copy")
    s = te.create_schedule(copy)
    s[p.C].compute_inline()
    assert s.normalize()[copy].op.reduce_axis == (p.k,)


def test_inlining_a_reduction_that_got_another_reader_is_refused() -> None:
    p = product()
    copy = te.compute((16, 8), lambda i, j: p.C[i, j], name="copy")
    last = te.compute((16, 8), lambda i, j: copy[i, j] + 1, name="last")
    s = te.create_schedule(last)
    s[p.C].compute_inline()
    s[copy].compute_inline()
    with pytest.raises(ScheduleError, match="inline a reduction into last"):
        s.normalize()


def test_loops_are_based_at_zero_except_threads() -> None:
    p = product()
    p.s[p.C].bind(p.C.op.axis[0], te.thread_axis("threadIdx.x"))
    p.s[p.C].unroll(p.k)
    normal = p.s.normalize()[p.C]
    assert leaves(normal) == "i, j, k"
    i, j, k = normal.leaf_iter_vars
    assert i is p.C.op.axis[0]
    assert j is not p.C.op.axis[1]
    assert k is not p.k
    assert [type(relation) for relation in normal.relations] == [Rebase, Rebase]
    assert normal.iter_var_attrs[k].iter_type == "Unrolled"


def test_attachments_follow_split_and_fused_axes() -> None:
    p = chain()
    i, j = p.D.op.axis
    p.s[p.C].compute_at(p.s[p.D], j)
    fused = p.s[p.D].fuse(i, j)
    p.s[p.D].split(fused, 4)
    normal = p.s.normalize()
    assert normal[p.C].attach_stage is normal[p.D]
    assert normal[p.C].attach_ivar is normal[p.D].leaf_iter_vars[-1]


def test_stages_that_share_a_reduction_axis_are_based_apart() -> None:
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((8,), lambda i: te.sum(A[i, k] * B[i], axis=k), name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D)
    s[B].compute_at(s[C], k)
    normal = s.normalize()
    assert normal[B].attach_ivar is normal[C].leaf_iter_vars[1]
    assert normal[C].leaf_iter_vars[1] is not normal[B].leaf_iter_vars[1]
