"""From a lowered function to a host and its kernels."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.ir.stmt import IRModule
from te_sched.lower.device import pipeline
from te_sched.lower.device.kernel import is_kernel


def module(stages: int) -> IRModule:
    """Stages one after the other, each a kernel."""
    A = te.placeholder((64,), name="A")
    last, made = A, []
    for number in range(stages):
        last = te.compute((64,), lambda i, read=last: read[i] + 1.0, name=f"B{number}")
        made.append(last)
    s = te.create_schedule(last.op)
    for one in made:
        s[one].bind(one.op.axis[0], te.thread_axis("threadIdx.x"))
    return pipeline.device_passes(te_sched.lower(s, [A, last])["main"])


@pytest.mark.parametrize("stages", [1, 3])
def test_a_kernel_for_each_launch(stages: int) -> None:
    found = module(stages)
    names = ["main_kernel", *(f"main_kernel_{number}" for number in range(1, stages))]
    assert [name for name, func in found.functions.items() if is_kernel(func)] == names
    assert str(found["main"]).count("launch_kernel") == stages


def test_passes_are_for_kernels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def look(func):
        seen.append(is_kernel(func))
        return func

    monkeypatch.setattr(pipeline, "KERNEL_PASSES", (look,))
    module(2)
    assert seen == [True, True]


def test_memory_is_bounded_before_reductions_and_barriers_come_last() -> None:
    names = [one.__name__ for one in pipeline.KERNEL_PASSES]
    assert names[0] == "bound_memory"
    assert names[-1] == "insert_barriers"
