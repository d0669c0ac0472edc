"""From a lowered function to kernels: verified after every pass."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.config import Config
from te_sched.errors import InternalError
from te_sched.ir.kernel import is_kernel
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.device import pipeline
from te_sched.lowering.device.pipeline import FUNCTION_PASSES, KERNEL_PASSES, device_passes
from te_sched.passes import LoweringPass

VERIFIED = Config(verify_passes=True)


def warp_sums() -> PrimFunc:
    """Sums over lanes, through memory of warps."""
    A = te.placeholder((4, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    cache = s.cache_read(A, "warp", [B])
    s[cache].compute_at(s[B], k)
    s[cache].bind(s[cache].op.axis[1], te.thread_axis("threadIdx.x"))
    return te_sched.lower(s, [A, B])["main"]


def test_levels_of_kernels_hold_after_every_pass() -> None:
    names = [one.name for one in (*FUNCTION_PASSES, *KERNEL_PASSES)]
    assert names[0] == "unify_threads"
    assert list(device_passes(warp_sums(), VERIFIED).functions) == ["main", "main_kernel"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("lower_thread_reductions", "attribute reduce_scope does not occur"),
        ("lower_warp_memory", "memory of scope warp does not occur"),
    ],
)
def test_levels_reject_what_a_pass_leaves(
    name: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = [
        LoweringPass(lambda func, settings: func, one.level) if one.name == name else one
        for one in KERNEL_PASSES
    ]
    monkeypatch.setattr(pipeline, "KERNEL_PASSES", passes)
    with pytest.raises(InternalError, match=why):
        device_passes(warp_sums(), VERIFIED)
    device_passes(warp_sums(), Config(verify_passes=False))


@pytest.mark.parametrize("stages", [1, 3])
def test_a_kernel_for_each_launch(stages: int) -> None:
    A = te.placeholder((64,), name="A")
    last, made = A, []
    for number in range(stages):
        last = te.compute((64,), lambda i, read=last: read[i] + 1.0, name=f"B{number}")
        made.append(last)
    s = te.create_schedule(last.op)
    for one in made:
        s[one].bind(one.op.axis[0], te.thread_axis("threadIdx.x"))
    found = device_passes(te_sched.lower(s, [A, last])["main"], VERIFIED)
    names = ["main_kernel", *(f"main_kernel_{number}" for number in range(1, stages))]
    assert [name for name, func in found.functions.items() if is_kernel(func)] == names
    assert str(found["main"]).count("launch_kernel") == stages
