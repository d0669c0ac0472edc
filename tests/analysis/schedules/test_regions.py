"""Regions of calls of tensor intrinsics are within their tensors."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te, tir
from te_sched.analysis.schedules.regions import check_regions
from te_sched.errors import BuildError


def call(region, rows=6, shape=(6, 8)):
    x = te.placeholder((8,), name="x")
    z = te.compute((8,), lambda i: x[i] * 2, name="z")
    double = te.decl_tensor_intrin(
        z.op,
        lambda ins, outs: tir.call_packed("f", ins[0].access_ptr("r"), outs[0].access_ptr("w")),
        default_buffer_params={"offset_factor": 1},
    )
    A = te.placeholder(shape, name="A")
    C = te.compute((rows, 8), lambda i: double(region(A, i)), name="C")
    return te.create_schedule(C), [A, C]


n = te.size_var("n")
WRONG = {
    "after": (lambda A, i: A[i + 1, 0:8], {}, "reads A at 6 in dimension 0, which is out of bo"),
    "before": (lambda A, i: A[i - 1, 0:8], {}, "reads A at -1 in dimension 0"),
    "slice": (lambda A, i: A[0, i : i + 8], {}, r"reads A at 12 in dimension 1(.|\n)*from i to"),
    "symbolic": (lambda A, i: A[i + 1, 0:8], {"rows": n, "shape": (n, 8)}, "reads A at n in dim"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_region_out_of_bounds_is_refused(what):
    region, sizes, message = WRONG[what]
    s, args = call(region, **sizes)
    with pytest.raises(BuildError, match=message):
        te_sched.build(s, args)
    assert te_sched.build(s, args, verify=False) is not None


@pytest.mark.parametrize(
    "region",
    [
        lambda A, i: A[5 - i, 0:8],
        lambda A, i: A[te.min(i + 1, 5), 0:8],
        lambda A, i: A[(i + 1) % 6, :],
    ],
)
def test_a_region_within_its_tensor_is_built(region):
    assert te_sched.build(*call(region)) is not None


def test_what_is_stored_under_a_predicate_is_not_judged():
    s, args = call(lambda A, i: A[i + 1, 0:8])
    C = args[-1]
    s[C].set_store_predicate(C.op.axis[0].var < 5)
    check_regions(s)
