"""Tensorize: the intrinsic's statement in the place of loops, and what must agree."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import LoweringError

ROWS, DEPTH = 4, 6


def loops(ins, outs, clears=True, adds=True):
    ib = tir.ir_builder.create()
    a, b, c = (ib.buffer_ptr(buffer) for buffer in (*ins, *outs))
    with ib.for_range(0, ROWS, name="p") as p:
        if clears:
            c[p] = 0.0
        if adds:
            with ib.for_range(0, DEPTH, name="q") as q:
                c[p] = c[p] + a[q] * b[p, q]
    return ib.get()


def called(ins, outs):
    return tir.call_extern("int32", "gemv", *[one.access_ptr("rw") for one in (*ins, *outs)])


def intrinsic(
    function,
    combine=lambda x, y: x * y,
    reducer=te.sum,
    shape=(ROWS, DEPTH),
    dtype="float32",
    **more,
):
    a = te.placeholder((DEPTH,), dtype, name="a")
    b = te.placeholder(shape, dtype, name="b")
    k = te.reduce_axis((0, DEPTH), name="k")
    options = {key: value(k) for key, value in more.items()}
    c = te.compute((ROWS,), lambda i: reducer(combine(a[k], b[i, k]), axis=k, **options), name="c")
    bound = tir.decl_buffer(b.shape, b.dtype, "b", strides=[te.var("s"), 1], offset_factor=1)
    return te.decl_tensor_intrin(
        c.op, function, "gemv", binds={b: bound}, default_buffer_params={"offset_factor": 1}
    )


def product(intrin, depth=2 * DEPTH, by=ROWS):
    A, B = te.placeholder((3, depth), name="A"), te.placeholder((8, depth), name="B")
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((3, 8), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s = te.create_schedule(C)
    i, j = C.op.axis
    jo, ji = s[C].split(j, by)
    ko, ki = s[C].split(k, DEPTH)
    s[C].reorder(i, jo, ko, ji, ki)
    s[C].tensorize(ji, intrin)
    return s, [A, B, C]


def check(s, args):
    a, b = (np.random.default_rng(0).random(shape, "float32") for shape in ((3, 12), (8, 12)))
    out = te_sched.nd.array(np.full((3, 8), np.nan, "float32"))
    te_sched.build(s, args)(te_sched.nd.array(a), te_sched.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b.T, rtol=1e-5)


def test_reset_and_update():
    parts = lambda ins, outs: (  # noqa: E731
        loops(ins, outs),
        loops(ins, outs, adds=False),
        loops(ins, outs, clears=False),
    )
    check(*product(intrinsic(parts)))


def test_without_a_reset_the_body_does_the_first_step():
    parts = lambda ins, outs: (loops(ins, outs), None, loops(ins, outs, clears=False))  # noqa: E731
    s, args = product(intrinsic(parts))
    assert "if T.likely(0 < k_outer):" in te_sched.lower(s, args, simple_mode=True).script()
    check(s, args)


def test_an_inlined_reduction_is_refused():
    A, k = te.placeholder((ROWS, DEPTH), name="A"), te.reduce_axis((0, DEPTH), name="k")
    B = te.compute((ROWS,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((ROWS,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    s[C].tensorize(C.op.axis[0], intrinsic(loops))
    with pytest.raises(LoweringError, match="axis k of an inlined reduction has"):
        te_sched.lower(s, [A, C])


def test_a_mismatch_shows_what_is_given_and_declared():
    s, args = product(intrinsic(loops, combine=lambda x, y: x + y), depth=DEPTH)
    with pytest.raises(LoweringError) as caught:
        te_sched.lower(s, args)
    message = str(caught.value)
    assert "the loops compute a[k] * b[i, k] reduced by x + y, the intrinsic " in message
    assert "declares a[k] + b[i, k] reduced by x + y" in message
    assert "given: A[i : +1, 0 : +6] float32, B[j_outer * 4 : +4, 0 : +6] float32 -> C" in message
    assert "declared: a[6] float32, b[4, 6] float32 -> c[4] float32" in message


def test_an_extent_that_differs():
    with pytest.raises(LoweringError, match=r"axis j has 8 values inside it.* declares 4"):
        te_sched.lower(*product(intrinsic(loops), by=8))


DIFFERENT = {
    "combiner": (
        {"reducer": te.max},
        r"reduced by x \+ y, the intrinsic declares .* reduced by .*max\(x, y\)",
    ),
    "condition": ({"where": lambda k: k < 3}, "declares .* reduced by x .* where k < 3"),
    "start": (
        {"init": lambda k: te.const(1.0, "float32")},
        r"declares .* reduced by x \+ y from T.float32\(1\)",
    ),
    "type": ({"dtype": "int32"}, "A has dtype float32, a of the intrinsic has int32"),
    "columns": (
        {"shape": (ROWS, DEPTH + 2)},
        r"region of B has extent 6 in dimension 1, (.*\n)*.* given: .* declared: .*b\[4, 8\]",
    ),
    "rows": ({"shape": (5, DEPTH)}, "region of B has extent 4 in dimension 0, where b has 5"),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_a_difference_is_refused(what):
    changes, message = DIFFERENT[what]
    with pytest.raises(LoweringError, match=message):
        te_sched.lower(*product(intrinsic(called, **changes), depth=DEPTH))
