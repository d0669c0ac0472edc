"""Extents that are known when a schedule is built, and those that a call checks."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te
from te_sched.analysis.schedules.sizes import check_extents, check_sizes, symbolic_sizes
from te_sched.errors import BuildError

N, M = te.var("n"), te.var("m")


def reduced(reducer: Any, extent: Any, **options: Any) -> te.Schedule:
    a, k = te.placeholder((4, extent), name="A"), te.reduce_axis((0, extent), "k")
    return te.create_schedule(
        te.compute((4,), lambda i: reducer(a[i, k], axis=k, **options), name="C").op
    )


def _larger(x: Any, y: Any) -> Any:
    is_first = x[1] >= y[1]
    return te.if_then_else(is_first, x[0], y[0]), te.if_then_else(is_first, x[1], y[1])


ARGMAX = te.comm_reducer(_larger, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), "argmax")


def argmax(extent: Any) -> te.Schedule:
    a, k = te.placeholder((4, extent), name="A"), te.reduce_axis((0, extent), "k")
    places = te.placeholder((4, extent), "int32", name="P")
    c = te.compute((4,), lambda i: ARGMAX((places[i, k], a[i, k]), axis=k), name="C")
    return te.create_schedule(c[0].op)


@pytest.mark.parametrize(
    ("schedule", "is_refused"),
    [
        *[(reduced(te.sum, 0), False), (reduced(te.max, 0), True), (reduced(te.max, 1), False)],
        *[(reduced(te.min, 0, init=5.0), False), (argmax(0), True), (argmax(1), False)],
    ],
)
def test_reductions_that_choose_need_a_value(schedule: te.Schedule, is_refused: bool) -> None:
    if not is_refused:
        check_sizes(schedule)
        return
    with pytest.raises(BuildError, match="cannot reduce over no values: axis k of C has extent 0"):
        check_sizes(schedule)


def told(schedule: te.Schedule) -> dict[str, tuple[str, str]]:
    """The sizes that a call checks: the extent and its lower bound."""
    return {size.what: (str(size.extent), str(size.least)) for size in symbolic_sizes(schedule)}


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (reduced(te.sum, 8), {}),
        (reduced(te.sum, N), {"dimension 1 of A": ("n", "0")}),  # and the axis by it
        (reduced(te.max, N), {"dimension 1 of A": ("n", "0"), "axis k of C": ("n", "1")}),
    ],
)
def test_sizes_of_tensors_and_axes(
    schedule: te.Schedule, expected: dict[str, tuple[str, str]]
) -> None:
    assert told(schedule) == expected


def test_intermediate_values_do_not_overflow() -> None:
    sizes = symbolic_sizes(reduced(te.sum, N * M - 1))
    by_extent = {
        str(size.extent): (size.what, size.least, size.most) for size in sizes if size.most
    }
    assert by_extent == {
        "n * m - 1": ("dimension 1 of A", -(2**31), 2**31 - 1),
        "n * m": ("a term of dimension 1 of A", -(2**31), 2**31 - 1),
    }


STATE = te.placeholder((8, 8), name="S")


def test_lengths_of_splits_and_threads_are_at_least_1() -> None:
    b = te.compute((64,), lambda i: te.const(1.0, "float32"), name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], N)
    (length,) = symbolic_sizes(s)
    assert (str(length.extent), length.least, length.needed) == ("n", 1, True)
    scan = te.scan(
        te.compute((1, 8), lambda t, i: te.const(0.0), name="first"),
        te.compute((8, 8), lambda t, i: STATE[t - 1, i] + 1.0, name="step"),
        STATE,
        name="scan",
    )
    s = te.create_schedule(scan.op)
    s[scan].env_threads([te.thread_axis((0, M), "threadIdx.x")])
    (threads,) = symbolic_sizes(s)
    assert (str(threads.extent), threads.least, threads.needed) == ("m", 1, False)
    assert threads.what == "the number of threads threadIdx.x round scan"


def tensor(*shape: Any, change: Any = None) -> te.Schedule:
    b = te.compute(shape, lambda *i: te.const(1, "int8"), name="B")
    s = te.create_schedule(b.op)
    if change is not None:
        change(s[b], b.op.axis)
    return s


def aligned(columns: int, factor: int, offset: int) -> te.Schedule:
    """65536 rows whose distance has a remainder."""
    return tensor(1 << 16, columns, change=lambda b, axis: b.storage_align(axis[0], factor, offset))


WIDE = te.const(1 << 16, "int64")


@pytest.mark.parametrize(
    ("schedule", "elements"),
    [
        *[(tensor(1 << 16, (1 << 15) - 1), None), (tensor(1 << 16, 1 << 15), 1 << 31)],
        *[(tensor(WIDE, 1 << 15), None), (tensor(1 << 16, N), None), (tensor(1 << 20, 0), None)],
        # Rows that are aligned already, and rows that get gaps.
        (aligned(1 << 14, 1 << 14, 0), None),
        (aligned((1 << 14) + 1, 1 << 14, 0), 1 << 31),
        (aligned(1 << 14, 1 << 14, 5), None),
        (aligned(1 << 15, 1 << 15, 5), (1 << 31) + 5 * (1 << 16)),
    ],
)
def test_elements_are_counted_by_their_indices(schedule: te.Schedule, elements: int | None) -> None:
    if elements is None:
        check_extents(schedule)
        return
    with pytest.raises(
        BuildError, match=rf"^tensor B has {elements} elements, more than int32 indices can count"
    ) as caught:
        check_extents(schedule)
    assert caught.match("declare its extents as int64")
