"""Schedules as hybrid scripts: run as Python and built again, they compute what numpy computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import build, te, tir, topi
from te_sched.errors import LoweringError
from te_sched.te.hybrid import HybridModule


def check(s: Any, inputs: list[Any], outputs: list[Any], *values: Any) -> HybridModule:
    """The script of a schedule, which computes the same as the schedule."""
    module = te.hybrid.build(s, inputs, outputs)
    expected = _run(s, inputs, outputs, *values)
    found = module(*values)
    for one, other in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-5)
    again = module(*inputs)
    again = again if isinstance(again, list) else [again]
    built = _run(te.create_schedule(again[0].op), inputs, again, *values)
    for one, other in zip(built, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    return module


def _run(s: Any, inputs: list[Any], outputs: list[Any], *values: Any) -> list[Any]:
    sizes = {one: value for one, value in zip(inputs, values, strict=True) if type(value) is int}
    for tensor, value in zip(inputs, values, strict=True):
        if isinstance(tensor, te.Tensor):
            sizes |= dict(zip(tensor.shape, value.shape, strict=True))
    outs = [
        np.zeros(
            [sizes.get(extent, getattr(extent, "value", 0)) for extent in out.shape], out.dtype
        )
        for out in outputs
    ]
    build(s, [*inputs, *outputs])(*values, *outs)
    return outs


def random(*shape: int) -> Any:
    return np.random.rand(*shape).astype("float32")


def test_matmul_with_a_local_cache_is_a_script():
    A, B = te.placeholder((13, 16), name="A"), te.placeholder((16, 10), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((13, 10), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    cached = s.cache_write(C, "local")
    i, j = s[C].op.axis
    io, ii = s[C].split(i, 4)
    s[C].reorder(io, j, ii)
    s[cached].compute_at(s[C], j)
    s[C].parallel(io)
    s[C].vectorize(ii)
    a, b = random(13, 16), random(16, 10)
    module = check(s, [A, B], [C], a, b)
    np.testing.assert_allclose(module(a, b), a @ b, rtol=1e-5)
    source = module.get_source()
    assert "for i_outer in parallel(4):" in source
    assert "for i_inner in vectorize(4):" in source
    assert "C_local = allocate((4, 1), 'float32', 'local')" in source
    assert "if likely(i_inner + i_outer * 4 < 13):" in source


def test_sizes_are_parameters_or_those_of_inputs():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: te.if_then_else(i > 0, A[i - 1], 0.0), name="B")
    s = te.create_schedule(B.op)
    values = random(7)
    by_shape = check(s, [A], [B], values)
    assert "for i in range(A.shape[0]):" in by_shape.get_source()
    by_parameter = check(s, [n, A], [B], 7, values)
    assert "for i in range(n):" in by_parameter.get_source()
    np.testing.assert_array_equal(by_shape(values), [0, *values[:-1]])


def test_functions_and_numbers_of_all_kinds():
    X, N = te.placeholder((9,), name="X"), te.placeholder((9,), "int32", name="N")
    outs = te.compute(
        (9,),
        lambda i: (
            te.exp(X[i]) + te.fabs(-X[i]) * te.power(X[i], 0.5) / (X[i] + 3),
            tir.Select(tir.all(N[i] > 2, N[i] != 5) | (i == 0), N[i] << 2, ~N[i] & 3),
            (N[i].astype("int64") // 2) % tir.const(3, "int64") + te.max_value("int32"),
            X[i].astype("float64") * tir.const(0.1, "float64") + te.min_value("float64"),
            tir.Select(te.not_(N[i] >= 4), te.infinity("float32"), tir.min(X[i], 0.5)),
        ),
        name="B",
    )
    numbers = np.arange(9, dtype="int32")
    module = check(te.create_schedule(outs[0].op), [X, N], [*outs], random(9), numbers)
    assert module.get_source().endswith("return (B, B_1, B_2, B_3, B_4)")


def test_names_do_not_collide():
    one, other = te.placeholder((4,), name="exp"), te.placeholder((4,), name="exp")
    total = te.compute((4,), lambda i: one[i] + te.exp(other[i]), name="hybrid_func")
    check(te.create_schedule(total.op), [one, other], [total], random(4), random(4))


def test_script_between_two_stages_becomes_part_of_a_script():
    @te.hybrid.script
    def means(a):
        out = output_tensor((a.shape[0] - 2,), a.dtype)  # noqa: F821
        for i in range(a.shape[0] - 2):
            assert a[i] > 0.0, "positive"
            total = 0.0
            for k in unroll(3):  # noqa: F821
                total += a[i + k]
            out[i] = total / 3.0
        return out

    A = te.placeholder((9,), name="A")
    B = te.compute((9,), lambda i: A[i] + 1, name="B")
    C = means(B)
    D = te.compute((7,), lambda i: C[i] * 2, name="D")
    values = random(9)
    module = check(te.create_schedule(D.op), [A], [D], values)
    expected = [sum(values[i : i + 3] + 1) / 3 * 2 for i in range(7)]
    np.testing.assert_allclose(module(values), expected, rtol=1e-5)
    with pytest.raises(AssertionError, match="positive"):
        module(values - 3)


def test_scan_is_a_script():
    X = te.placeholder((5, 3), name="X")
    state = te.placeholder((5, 3), name="state")
    first = te.compute((1, 3), lambda _, i: X[0, i], name="first")
    step = te.compute((5, 3), lambda t, i: state[t - 1, i] + X[t, i], name="step")
    S = te.scan(first, step, state, inputs=[X])
    values = random(5, 3)
    module = check(te.create_schedule(S.op), [X], [S], values)
    np.testing.assert_allclose(module(values), np.cumsum(values, axis=0), rtol=1e-5)


def test_operator_of_topi_is_a_script():
    A = te.placeholder((1, 2, 6, 6), name="A")
    W = te.placeholder((3, 2, 3, 3), name="W")
    B = topi.nn.conv2d_nchw(A, W, 1, 1, 1)
    check(te.create_schedule(B.op), [A, W], [B], random(1, 2, 6, 6), random(3, 2, 3, 3))


def test_threads_are_bound_loops():
    A = te.placeholder((70,), name="A")
    B = te.compute((70,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], 32)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    module = te.hybrid.build(s, [A], [B])
    assert "for blockIdx_x in bind('blockIdx.x', 3):" in module.get_source()
    values = random(70)
    np.testing.assert_allclose(module(values), values * 2)
    assert module(A).op.body is not None


@te.hybrid.script
def threads_of_its_own(a):
    b = output_tensor((8,), "float32")  # noqa: F821
    for t in bind("threadIdx.x", 8):  # noqa: F821
        b[t] = a[t] + 1.0
    return b


def _launched_twice() -> Any:
    copy = threads_of_its_own(X)
    out = te.compute((8,), lambda i: copy[i], name="out")
    s = te.create_schedule(out.op)
    s[out].bind(out.op.axis[0], te.thread_axis("threadIdx.x"))
    s[copy].compute_at(s[out], out.op.axis[0])
    return te.hybrid.build(s, [X], [out])


def _one(value: Any, *inputs: Any) -> Any:
    """A program that builds the script of one tensor."""
    out = te.compute((8,), value, name="out")
    return te.hybrid.build(te.create_schedule(out.op), list(inputs), [out])


X = te.placeholder((8,), name="X")
N = te.placeholder((8,), "int32", name="N")


def _shared() -> Any:
    copy = te.compute((8,), lambda i: X[i] + 1, name="copy")
    out = te.compute((8,), lambda i: copy[i ^ 1], name="out")
    s = te.create_schedule(out.op)
    thread = te.thread_axis("threadIdx.x")
    s[copy].set_scope("shared")
    s[out].bind(out.op.axis[0], thread)
    s[copy].compute_at(s[out], out.op.axis[0])
    s[copy].bind(copy.op.axis[0], thread)
    return te.hybrid.build(s, [X], [out])


def _external() -> Any:
    out = te.extern((8,), [X], lambda i, o: tir.call_packed("f", *i, *o), name="out")
    return te.hybrid.build(te.create_schedule(out.op), [X], [out])


REFUSED = {
    "shared data": (_shared, r"memory that the threads of threadIdx\.x share"),
    "launch": (_launched_twice, r"a launch of threadIdx\.x inside another one"),
    "extern": (_external, "attribute buffer_bind_scope"),
    "variable": (
        lambda: _one(lambda i: X[i] + te.var("v"), X),
        "variable v, which is not an input",
    ),
    "buffer": (lambda: _one(lambda i: X[i] + N[i], X), "tensor N, which is not an input"),
    "nan": (lambda: _one(lambda i: X[i] + te.const(float("nan"), "float32"), X), "the number nan"),
    "truncdiv": (
        lambda: _one(lambda i: te.truncdiv(N[i], 3), N),
        "division that rounds towards zero: ",
    ),
    "truncmod": (lambda: _one(lambda i: te.truncmod(N[i], 3), N), "Mod: T.truncmod"),
    "cast": (lambda: _one(lambda i: X[i].astype("bfloat16"), X), "conversion to bfloat16"),
    "function": (lambda: _one(lambda i: te.erf(X[i]), X), r"function tir\.erf"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_build_rejects_what_scripts_do_not_have(name):
    program, match = REFUSED[name]
    with pytest.raises(LoweringError, match=f"hybrid scripts cannot express {match}"):
        program()
