"""set_scope, double_buffer, storage_align, env_threads."""

from __future__ import annotations

from te_sched import te
from tests.schedule.programs import chain, scan


def test_storage_of_a_stage() -> None:
    p = chain()
    p.s[p.C].set_scope("shared")
    p.s[p.C].double_buffer()
    p.s[p.C].storage_align(p.C.op.axis[0], 8, 1)
    attr = p.s[p.C].iter_var_attrs[p.C.op.axis[0]]
    assert (p.s[p.C].scope, p.s[p.C].is_double_buffered) == ("shared", True)
    assert (attr.dim_align_factor, attr.dim_align_offset) == (8, 1)


def test_an_empty_scope_is_open_again() -> None:
    p = chain()
    p.s[p.C].set_scope("shared.dyn")
    p.s[p.C].set_scope("")
    assert p.s[p.C].scope == ""


def test_padding_is_of_its_axis_alone() -> None:
    p = chain()
    i, j = p.C.op.axis
    p.s[p.C].storage_align(i, te.const(16), -1)
    assert (p.s[p.C].iter_var_attrs[i].dim_align_factor, j in p.s[p.C].iter_var_attrs) == (
        16,
        False,
    )
    assert p.s[p.C].iter_var_attrs[i].dim_align_offset == -1


def test_threads_are_launched_round_the_loops_of_a_scan() -> None:
    p = scan()
    x, y = (te.thread_axis((0, 4), f"threadIdx.{name}") for name in "xy")
    p.s[p.scan].env_threads([y, x])
    assert p.s[p.scan].launched_threads == (y, x)
    assert p.s[p.scan].leaf_iter_vars[:2] == [y, x]
