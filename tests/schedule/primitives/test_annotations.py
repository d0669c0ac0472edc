"""unroll, bind, pragma."""

from __future__ import annotations

import pytest

from te_sched import te
from tests.schedule.programs import chain, product


def test_annotations_are_kept_with_the_axis() -> None:
    p = product()
    i, j = p.C.op.axis
    thread = te.thread_axis("threadIdx.x")
    p.s[p.C].unroll(p.k)
    p.s[p.C].bind(i, thread)
    p.s[p.C].pragma(j, "auto_unroll_max_step", 16)
    p.s[p.C].pragma(j, "vectorize")
    attrs = p.s[p.C].iter_var_attrs
    assert attrs[p.k].iter_type == "Unrolled"
    assert attrs[i].bind_thread is thread
    assert (attrs[j].pragma_keys, attrs[j].iter_type) == (("auto_unroll_max_step",), "Vectorized")


def test_binding_again_warns() -> None:
    p = chain()
    p.s[p.C].bind(p.C.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.warns(UserWarning, match=r"was bound to threadIdx.x; now it is bound to blockIdx"):
        p.s[p.C].bind(p.C.op.axis[0], te.thread_axis("blockIdx.x"))


def test_misspelt_pragma_warns() -> None:
    p = chain()
    with pytest.warns(UserWarning, match=r"does nothing \(did you mean 'auto_unroll_max_step'\?\)"):
        p.s[p.C].pragma(p.C.op.axis[0], "auto_unroll_max_steps", 16)


def test_a_pragma_may_name_a_primitive() -> None:
    p = product()
    p.s[p.C].pragma(p.C.op.axis[0], "unroll")
    attr = p.s[p.C].iter_var_attrs[p.C.op.axis[0]]
    assert (attr.iter_type, attr.pragma_keys) == ("Unrolled", ())


def test_prefetches_add_up() -> None:
    p = product()
    p.s[p.C].prefetch(p.A, p.k, 1)
    p.s[p.C].prefetch(p.B, p.k, te.const(2))
    attr = p.s[p.C].iter_var_attrs[p.k]
    assert attr.prefetch_data == (p.A, p.B)
    assert [str(offset) for offset in attr.prefetch_offset] == ["1", "2"]


def test_a_store_predicate_is_a_condition() -> None:
    p = product()
    i = p.C.op.axis[0]
    p.s[p.C].set_store_predicate(i.var.equal(0))
    assert str(p.s[p.C].store_predicate) == "i == 0"
