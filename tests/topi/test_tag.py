"""Tags say what can be inlined."""

from __future__ import annotations

from te_sched.topi import tag


def test_tags_say_what_can_be_inlined() -> None:
    assert all(map(tag.is_injective, ("elemwise", "broadcast", "injective", "injective,pad")))
    assert not any(map(tag.is_injective, ("comm_reduce", "", "conv2d_nchw")))


def test_elementwise_operators_are_broadcast() -> None:
    assert tag.is_broadcast("elemwise")
    assert not tag.is_broadcast("injective")
