"""Results of schedules: sums of booleans, extrema of infinities, outputs among the arguments."""

from __future__ import annotations

import warnings

import pytest

from te_sched import te, tir
from te_sched.analysis.schedules.results import check_results, check_sums, warn_of_extrema
from te_sched.errors import BuildError

A = te.placeholder((8, 8), name="A")
B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
C = te.compute((8, 8), lambda i, j: B[i, j] * 2.0, name="C")
OTHER = te.compute((8, 8), lambda i, j: A[i, j], name="D")


def reduced(reducer, dtype: str = "float32", **options) -> te.Schedule:
    a, k = te.placeholder((8, 8), dtype, name="a"), te.reduce_axis((0, 8), "k")
    result = te.compute((8,), lambda i: reducer(a[i, k], axis=k, **options), name="R")
    return te.create_schedule(result.op)


def test_sums_of_booleans_are_refused() -> None:
    with pytest.raises(
        BuildError, match=r"^cannot sum booleans in stage R\n(?s:.*)astype"
    ) as caught:
        check_sums(reduced(te.sum, "bool"))
    assert caught.value.names("stage") == ["R"]
    for schedule in (reduced(te.sum, "int8"), reduced(te.max, "bool"), te.create_schedule(C.op)):
        check_sums(schedule)


@pytest.mark.parametrize(
    ("schedule", "warns"),
    [
        *[(reduced(te.max), True), (reduced(te.min, "float16"), True), (reduced(te.sum), False)],
        *[(reduced(te.max, "int32"), False), (reduced(te.max, init=0.0), False)],
        (te.create_schedule(C.op), False),
    ],
)
def test_extrema_of_floats_without_init_warn(schedule: te.Schedule, warns: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_extrema(schedule)
    assert ["max or min of floats in R differs" in str(one.message) for one in caught] == (
        [True] if warns else []
    )


BUFFER = tir.decl_buffer((8, 8), name="c")


@pytest.mark.parametrize(
    ("args", "binds"),
    [
        *[([A, C], {}), ([C], {}), ([A, B], {}), ([A, BUFFER], {C: BUFFER})],
        ([te.placeholder((3,), name="unused"), C], {}),
    ],
)
def test_results_that_are_arguments(args, binds) -> None:
    check_results(te.create_schedule(C.op), args, binds)


@pytest.mark.parametrize(
    ("args", "binds", "fault"),
    [
        *[([A], {}, "output C is not among the arguments"), ([], {}, "output C is not among")],
        ([A], {C: BUFFER}, "output C is not among the arguments"),  # nobody passes the buffer
        ([A, C, OTHER], {}, "argument D is not computed by the schedule"),
        ([A, C, BUFFER], {OTHER: BUFFER}, "argument D is not computed by the schedule"),
    ],
)
def test_results_that_would_be_lost_are_refused(args, binds, fault: str) -> None:
    with pytest.raises(BuildError, match=f"^{fault}"):
        check_results(te.create_schedule(C.op), args, binds)


def test_external_functions_may_have_other_effects() -> None:
    def body(ins, outs):
        return tir.call_packed("print", outs[0])

    extern = te.extern([(1,)], [A], body, name="E", dtype="float32")
    check_results(te.create_schedule(extern.op), [A], {})
