"""Loops of schedules that would race."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import te
from te_sched.analysis.schedules.legality import check_legality
from te_sched.errors import BuildError

A = te.placeholder((8, 8), name="A")
K = te.reduce_axis((0, 8), "k")
SUM = te.compute((8,), lambda i: te.sum(A[i, K], axis=K), name="C")
STATE = te.placeholder((8, 8), name="S")
SCAN = te.scan(
    te.compute((1, 8), lambda t, i: A[0, i], name="first"),
    te.compute((8, 8), lambda t, i: STATE[t - 1, i] + 1.0, name="step"),
    STATE,
    name="scan",
)
Change = Callable[[Any, Any], Any]


def reduced(change: Change) -> te.Schedule:
    """The schedule of a row sum after `change(schedule, stage)`."""
    s = te.create_schedule(SUM.op)
    change(s, s[SUM])
    return s


def fused(s: Any, stage: Any) -> None:
    stage.parallel(stage.fuse(*stage.leaf_iter_vars))


def factored(s: Any, stage: Any) -> None:
    parts = s.rfactor(SUM, K)
    s[parts].parallel(s[parts].op.axis[0])


def thread(tag: str) -> te.IterVar:
    return te.thread_axis(tag)


def two_axes(s: Any, stage: Any) -> None:
    for axis in stage.leaf_iter_vars:
        stage.bind(axis, thread("threadIdx.x"))


@pytest.mark.parametrize(
    "change",
    [
        lambda s, stage: stage.parallel(SUM.op.axis[0]),
        lambda s, stage: stage.unroll(K),
        lambda s, stage: stage.bind(K, thread("threadIdx.x")),  # threads combine their sums
        lambda s, stage: stage.vectorize(stage.split(SUM.op.axis[0], 4)[1]),
        factored,
    ],
)
def test_iterations_that_are_independent(change: Change) -> None:
    check_legality(reduced(change))


@pytest.mark.parametrize(
    ("change", "fault", "help"),
    [
        (
            lambda s, stage: stage.parallel(K),
            "cannot parallelize reduction axis k of stage C",
            r"s\.rfactor\(C, k\) and parallelize the new axis of it",
        ),
        (
            lambda s, stage: stage.bind(K, thread("blockIdx.x")),
            "cannot bind reduction axis k of stage C to blockIdx.x",
            "bind a data axis to blockIdx.x",
        ),
        (
            lambda s, stage: stage.bind(K, thread("vthread")),
            "cannot bind reduction axis k of stage C to vthread",
            "bind a data axis",
        ),
        (fused, "cannot parallelize reduction axis", "do not fuse data axes with reduction axes"),
        (
            two_axes,
            "axes i and k of stage C are both bound to threadIdx.x",
            "fuse i and k and bind the fused axis",
        ),
    ],
)
def test_iterations_that_race_are_refused(change: Change, fault: str, help: str) -> None:
    with pytest.raises(BuildError, match=f"^{fault}") as caught:
        check_legality(reduced(change))
    assert caught.match(f"help: (?s:.*){help}")
    assert caught.match("<-- refused")
    assert caught.value.can_override


def test_threads_cannot_reduce_into_their_registers() -> None:
    def change(s: Any, stage: Any) -> None:
        stage.set_scope("local")
        stage.bind(K, thread("threadIdx.x"))

    with pytest.raises(BuildError, match=r"^threads of threadIdx.x cannot reduce over k in"):
        check_legality(reduced(change))


@pytest.mark.parametrize(("axis", "is_refused"), [(0, True), (1, False)])
def test_steps_of_a_scan_come_one_after_the_other(axis: int, is_refused: bool) -> None:
    s = te.create_schedule(SCAN.op)
    update = SCAN.op.update[0]
    stage = s[update] if axis else s[SCAN]
    stage.parallel(update.op.axis[1] if axis else SCAN.op.scan_axis)
    if not is_refused:
        check_legality(s)
        return
    with pytest.raises(BuildError, match=r"^cannot parallelize scan axis \S+ of stage scan"):
        check_legality(s)


def test_inlined_stages_have_no_loops() -> None:
    product = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((8,), lambda i: te.sum(product[i, K], axis=K), name="C")
    s = te.create_schedule(C.op)
    s[product].parallel(product.op.axis[0])
    s[product].compute_inline()
    check_legality(s)
