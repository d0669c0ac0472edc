"""Tensor intrinsics that te.compute calls on regions of tensors."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import ScheduleError
from te_sched.views.declaration import declaration

M, N = 4, 6  # of the matrix that a call of gemv multiplies


def loops(body):
    """The function of an intrinsic as loops: body(builder, inputs, outputs, *scalars)."""

    def function(ins, outs, *scalars):
        ib = tir.ir_builder.create()
        ins, outs = [[ib.buffer_ptr(one) for one in part] for part in (ins, outs)]
        body(ib, ins, outs, *scalars)
        return ib.get()

    return function


def gemv(resets=True):
    w, x = te.placeholder((M, N), name="w"), te.placeholder((N,), name="x")
    k = te.reduce_axis((0, N), name="k")
    z = te.compute((M,), lambda i: te.sum(w[i, k] * x[k], axis=k), name="z")
    strided = tir.decl_buffer((M, N), name="w", strides=[te.var("s"), 1], offset_factor=1)

    def part(clears, adds):
        @loops
        def function(ib, ins, outs):
            with ib.for_range(0, M, name="p") as p:
                if clears:
                    outs[0][p] = 0.0
                if adds:
                    with ib.for_range(0, N, name="q") as q:
                        outs[0][p] = outs[0][p] + ins[0][p, q] * ins[1][q]

        return function

    def statements(ins, outs):
        reset = part(True, False)(ins, outs) if resets else None
        return part(True, True)(ins, outs), reset, part(False, True)(ins, outs)

    options = {"binds": {w: strided}, "default_buffer_params": {"offset_factor": 1}}
    return te.decl_tensor_intrin(z.op, statements, "gemv", **options)


def vadd(n=8):
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")

    @loops
    def add(ib, ins, outs):
        with ib.for_range(0, n, name="p") as p:
            outs[0][p] = ins[0][p] + ins[1][p]

    return te.decl_tensor_intrin(z.op, add, "vadd", default_buffer_params={"offset_factor": 1})


def check(s, args, reference, sizes=None):
    rng = np.random.default_rng(0)
    shape = lambda one: [(sizes or {}).get(str(e), e) for e in map(_number, one.shape)]  # noqa: E731
    *inputs, out = [rng.random(shape(one), "float32") for one in args]
    result = te_sched.nd.array(np.full_like(out, np.nan))
    te_sched.build(s, args)(*map(te_sched.nd.array, inputs), result)
    np.testing.assert_allclose(result.numpy(), reference(*inputs), rtol=1e-5)


def _number(extent):
    return getattr(extent, "value", str(extent))


def product(intrin):
    A, B = te.placeholder((3, 2, M, N), name="A"), te.placeholder((10, 2, N), name="B")
    k = te.reduce_axis((0, 2), name="k")
    C = te.compute(
        (3, 10, M), lambda i, j: intrin(A[i, k, 0:M, 0:N], B[j, k, 0:N], reduce_axis=k), name="C"
    )
    return te.create_schedule(C), [A, B, C]


def split_unevenly(s, C):
    i, j, _ = C.op.axis
    jo, ji = s[C].split(j, 4)
    s[C].reorder(jo, i, ji)


def reduce_outside(s, C):
    i, j, _ = C.op.axis
    s[C].reorder(C.op.reduce_axis[0], i, j)
    s[C].unroll(j)


def across_calls(s, C):
    i, j, _ = C.op.axis
    s[C].parallel(s[C].fuse(i, j))


@pytest.mark.parametrize("resets", [True, False])
@pytest.mark.parametrize("steps", [None, split_unevenly, reduce_outside, across_calls])
def test_a_reduction_of_calls(steps, resets):
    s, args = product(gemv(resets))
    if steps is not None:
        steps(s, args[-1])
    check(s, args, lambda a, b: np.einsum("ikpq,jkq->ijp", a, b))


def test_a_call_without_a_reduce_axis_reduces_alone():
    A, B, intrin = te.placeholder((3, M, N), name="A"), te.placeholder((N,), name="B"), gemv()
    C = te.compute((3, M), lambda i: intrin(A[i, :, :], B), name="C")
    check(te.create_schedule(C), [A, B, C], lambda a, b: a @ b)


def sum_of_rows(intrin):
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 20), name="B")
    C = te.compute((6, 8), lambda i: intrin(A[i, 0:8], B[5 - i, 4:12]), name="C")
    return A, B, C, lambda a, b: a + b[::-1, 4:12]


def test_regions_begin_anywhere():
    A, B, C, reference = sum_of_rows(vadd())
    assert C.op.axis[1].kind == "Opaque"
    assert [axis.var.name for axis in te.create_schedule(C)[C].leaf_iter_vars] == ["i"]
    check(te.create_schedule(C), [A, B, C], reference)


def test_a_region_that_moves_with_an_axis():
    A, intrin = te.placeholder((48,), name="A"), vadd()
    C = te.compute((6, 8), lambda i: intrin(A[i * 8 : i * 8 + 8], A[0:8]), name="C")
    check(te.create_schedule(C), [A, C], lambda a: a.reshape(6, 8) + a[:8])


def test_a_call_for_the_whole_tensor():
    A, intrin = te.placeholder((8,), name="A"), vadd()
    C = te.compute((8,), lambda: intrin(A, A[0:8]), name="C")
    check(te.create_schedule(C), [A, C], lambda a: a + a)


def test_symbolic_rows():
    n, intrin = te.size_var("n"), vadd()
    A = te.placeholder((n, 8), name="A")
    C = te.compute((n, 8), lambda i: intrin(A[i, 0:8], A[n - 1 - i, 0:8]), name="C")
    check(te.create_schedule(C), [A, C], lambda a: a + a[::-1], {"n": 5})


def test_producers_and_consumers_in_its_loops():
    A, B, intrin = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), name="B"), vadd()
    doubled = te.compute((6, 8), lambda i, j: B[i, j] * 2, name="doubled")
    C = te.compute((6, 8), lambda i: intrin(A[i, 0:8], doubled[i, 0:8]), name="C")
    D = te.compute((6, 8), lambda i, j: C[i, j] + 1, name="D")
    s = te.create_schedule(D)
    s[C].compute_at(s[D], D.op.axis[0])
    s[doubled].compute_at(s[C], C.op.axis[0])
    assert "main" in te_sched.lower(s, [A, B, D], simple_mode=True).script()
    check(s, [A, B, D], lambda a, b: a + b * 2 + 1)


def test_a_call_in_the_innermost_loop_of_a_consumer_computes_its_whole_region():
    A, B, C, reference = sum_of_rows(vadd())
    D = te.compute((6, 8), lambda i, j: C[i, j] * 2, name="D")
    s = te.create_schedule(D)
    s[C].compute_at(s[D], D.op.axis[1])
    check(s, [A, B, D], lambda a, b: reference(a, b) * 2)


@pytest.mark.parametrize("splits", [False, True])
def test_caches(splits):
    A, B, C, reference = sum_of_rows(vadd())
    s = te.create_schedule(C)
    if splits:
        s[C].split(C.op.axis[0], 3)
    (written,) = s.cache_write([C], "global")
    read = s.cache_read(A, "global", [written])
    s[read].compute_at(s[written], written.op.axis[0])
    names = ["i.outer.c", "i.inner.c", "ax0"] if splits else ["i.c", "ax0"]
    assert [axis.var.name for axis in written.op.axis] == names
    assert isinstance(C.op, te.TensorComputeOp)
    assert isinstance(s[C].op, te.ComputeOp)
    check(s, [A, B, C], reference)


def test_a_cache_of_an_uneven_split_is_refused():
    _, _, C, _ = sum_of_rows(vadd())
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], 4)
    with pytest.raises(ScheduleError, match="not every iteration of its loops calls vadd"):
        s.cache_write(C, "local")


def test_only_where_a_predicate_holds():
    A, B, C, _ = sum_of_rows(vadd())
    s = te.create_schedule(C)
    s[C].set_store_predicate(C.op.axis[0].var < 2)
    text = te_sched.lower(s, [A, B, C], simple_mode=True).script()
    assert text.index("for i in") < text.index("if T.likely(i < 2):")


def test_scalars():
    n, v, w = te.size_var("n"), te.var("v"), te.var("w")
    x = te.placeholder((n,), "int32", name="x")
    z = te.compute((n,), lambda i: x[i] * v + w, name="z")

    @loops
    def scale(ib, ins, outs, scalars):
        outs[0][0] = ins[0][0] * scalars[0] + scalars[1]

    options = {"scalar_params": [v, w], "default_buffer_params": {"offset_factor": 1}}
    intrin = te.decl_tensor_intrin(z.op, scale, **options)
    A = te.placeholder((4, 5), "int32", name="A")
    C = te.compute((4, 5), lambda i, j: intrin(i * i, A[i, j], i + j), name="C")
    assert list(map(str, C.op.scalar_inputs)) == ["i * i", "i + j"]
    i, j = np.indices((4, 5))
    a, out = (
        np.arange(20, dtype="int32").reshape(4, 5),
        te_sched.nd.array(np.zeros((4, 5), "int32")),
    )
    te_sched.build(te.create_schedule(C), [A, C])(te_sched.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a * i * i + i + j)


def test_two_outputs():
    x = te.placeholder((8,), name="x")
    p, _ = te.compute((8,), lambda i: (x[i] + 1, x[i] * 2), name="pq")

    @loops
    def both(ib, ins, outs):
        with ib.for_range(0, 8, name="p") as p:
            outs[0][p] = ins[0][p] + 1.0
            outs[1][p] = ins[0][p] * 2.0

    intrin = te.decl_tensor_intrin(p.op, both, default_buffer_params={"offset_factor": 1})
    A = te.placeholder((4, 8), name="A")
    P, Q = te.compute((4, 8), lambda i: intrin(A[i, 0:8]), name="PQ")
    a = np.random.default_rng(0).random((4, 8), "float32")
    results = [te_sched.nd.array(np.zeros((4, 8), "float32")) for _ in range(2)]
    te_sched.build(te.create_schedule(P), [A, P, Q])(te_sched.nd.array(a), *results)
    np.testing.assert_allclose([one.numpy() for one in results], [a + 1, a * 2])


def test_the_text_is_that_of_tvm():
    x = te.placeholder((16,), name="x")
    z = te.compute((16,), lambda i: x[i] + x[i], name="z")
    intrin = te.decl_tensor_intrin(
        z.op,
        lambda ins, outs: tir.call_packed("f", ins[0].access_ptr("r"), outs[0].access_ptr("w")),
        default_buffer_params={"offset_factor": 16},
    )
    A = te.placeholder((64, 16), name="A")
    C = te.compute((64, 16), lambda i: intrin(A[i, 0:16]), name="C")
    s = te.create_schedule(C)
    s[C].split(C.op.axis[0], 10)
    kind = 'T.type_annotation("float32")'
    expected = f"""
        for i_outer, i_inner in T.grid(7, 10):
            if i_outer * 5 + i_inner // 2 < 32:
                cse_var_1: T.int32 = i_outer * 160 + i_inner * 16
                T.call_packed("f", T.tvm_access_ptr({kind}, A.data, cse_var_1, 16, 1), \
T.tvm_access_ptr({kind}, C.data, cse_var_1, 16, 2))"""
    assert te_sched.lower(s, [A, C]).script().endswith(expected)


def test_its_declaration_is_shown():
    _, (_, _, C) = product(gemv())
    (line, *domains) = declaration(C)
    assert line == "C[i, j, :] = gemv(A[i, k, 0:4, 0:6], B[j, k, 0:6], reduce_axis=k)"
    assert [one.split()[0] for one in domains] == ["i", "j", "k"]
