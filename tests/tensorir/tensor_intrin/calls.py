"""What implementations of tensor intrinsics call."""

from __future__ import annotations

from te_sched import tir


def text_of(name: str, role: str = "impl") -> str:
    """The description or the implementation of an intrinsic."""
    intrinsic = tir.TensorIntrin.get(name)
    assert intrinsic is not None
    text: str = getattr(intrinsic, role).script()
    return text
