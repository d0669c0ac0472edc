"""What is certainly beyond a tensor is refused; what is known at run time alone is checked then."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import BuildError, te, tir
from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.script import tir as T

A = te.placeholder((64,), name="A")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (lambda i: i + 100, "runs from 100 to 163, and A has 64"),
        (lambda i: i - 1, "reads A at -1 in dimension 0"),
        (lambda i: i * 2, "runs from 0 to 126"),
        (lambda i: 64 - i, "reads A at 64"),
    ],
)
def test_build_rejects_a_read_outside(index, message):
    B = te.compute((64,), lambda i: A[index(i)], name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(BuildError, match=message):
        te_sched.build(s, [A, B])


def test_build_rejects_a_read_outside_after_an_even_split():
    B = te.compute((64,), lambda i: A[i + 1], name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=16)
    with pytest.raises(BuildError, match="stage B"):
        te_sched.build(s, [A, B])


def test_verify_false_builds_anyway():
    B = te.compute((64,), lambda i: A[i + 1], name="B")
    te_sched.build(te.create_schedule(B.op), [A, B], verify=False)


def test_guarded_read_is_allowed():
    B = te.compute(
        (66,), lambda i: te.if_then_else(te.all(i >= 1, i < 65), A[i - 1], 0.0), name="B"
    )
    built = te_sched.build(te.create_schedule(B.op), [A, B])
    a, b = np.arange(64, dtype="float32"), np.empty(66, "float32")
    built(a, b)
    np.testing.assert_array_equal(b, np.pad(a, 1))


def test_stage_wider_than_what_is_read_of_it_is_allowed():
    B = te.compute((100,), lambda i: A[i], name="B")
    C = te.compute((64,), lambda i: B[i] + 1.0, name="C")
    built = te_sched.build(te.create_schedule(C.op), [A, C])
    a, c = np.arange(64, dtype="float32"), np.empty(64, "float32")
    built(a, c)
    np.testing.assert_array_equal(c, a + 1)


def test_loop_that_never_runs_reads_nothing():
    B = te.compute((0,), lambda i: A[i + 100], name="B")
    te_sched.build(te.create_schedule(B.op), [A, B])


def test_reads_beyond_any_size_are_refused():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i + 4], name="B")
    with pytest.raises(
        BuildError, match=r"reads A at n \+ 3(.*\n)*.*from 4 to n \+ 3, and A has n"
    ):
        te_sched.build(te.create_schedule(b.op), [a, b])


def test_reads_in_empty_loops_are_none():
    a = te.placeholder((3,), name="A")
    b = te.compute((0,), lambda i: a[5], name="B")
    te_sched.build(te.create_schedule(b.op), [a, b])


def test_threads_that_add_nothing_to_a_reduction_read_nothing():
    a, k = te.placeholder((5, 8), name="A"), te.reduce_axis((0, 8), "k")
    b = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=4)
    rows = s.rfactor(b, inner)
    block, row = s[b].split(s[b].op.axis[0], factor=4)
    tags = ("blockIdx.x", "threadIdx.y", "threadIdx.x")
    for axis, tag in zip((block, row, s[b].op.reduce_axis[0]), tags, strict=True):
        s[b].bind(axis, te.thread_axis(tag))
    s[rows].compute_at(s[b], s[b].op.reduce_axis[0])
    te_sched.build(s, [a, b], target="cuda")


J = te.placeholder((10,), "int32", name="J")


@pytest.mark.parametrize(
    "index", [lambda i: J[i] % 64, lambda i: tir.max(tir.min(J[i], 63), 0), lambda i: J[i] & 63]
)
def test_index_of_data_with_known_bounds_needs_no_check(index):
    assert not checks_of(te.compute((10,), lambda i: A[index(i)], name="B"), [A, J])


def checks_of(b, inputs, how=lambda s: None):
    s = te.create_schedule(b.op)
    how(s)
    func = te_sched.lower(s, [*inputs, b], stop_after="schedule_ops")["main"]
    return guard_accesses(func).checked


def test_refusal_names_the_iteration():
    b = te.compute((8, 8), lambda i, j: te.if_then_else(i > 6, A[i * 8 + j + 4], 0.0), name="B")
    with pytest.raises(BuildError, match=r"\+ 4 is 64 where i = 7 and j = 4"):
        te_sched.build(te.create_schedule(b.op), [A, b])


def test_condition_that_never_holds_allows_any_index():
    b = te.compute((8,), lambda i: te.if_then_else(i * i > 60, A[i + 900], 0.0), name="B")
    te_sched.build(te.create_schedule(b.op), [A, b])


def test_writes_of_an_extern_are_judged():
    def body(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, 10, name="i") as i:
            ib.buffer_ptr(outs[0])[i + 1] = ib.buffer_ptr(ins[0])[i]
        return ib.get()

    e = te.extern([(10,)], [A], body, name="E", dtype="float32")
    with pytest.raises(BuildError, match=r"writes E at 10 in(.*\n)*.*stage E(.*\n)*.*where i = 9"):
        te_sched.build(te.create_schedule(e.op), [A, e])


@pytest.mark.parametrize("kind", ["declared", "of a symbolic tensor"])
def test_dimensions_of_one_element_are_read_again_and_again(kind: str) -> None:
    """Dimensions of extent 1 are broadcast where only the call knows the extents."""
    n0, n1, m0, m1, parts = [te.size_var(name) for name in ("n0", "n1", "m0", "m1", "parts")]
    X = te.placeholder((n0, n1), name="X")
    Y = te.compute((m0, m1 // parts), lambda i, j: X[i, j] * 2.0, name="Y")
    view = tir.decl_buffer(X.shape, X.dtype, "Xb", buffer_type="auto_broadcast")
    binds = {X: view} if kind == "declared" else {}
    module = te_sched.build(te.create_schedule(Y.op), [X, Y, m1, parts], binds=binds)
    y = te_sched.nd.empty((2, 4))
    for shape in ((2, 4), (2, 1), (1, 4), (1, 1)):
        x = np.random.default_rng(0).random(shape, "float32")
        module(te_sched.nd.array(x), y, 8, 2)
        np.testing.assert_array_equal(y.numpy(), np.broadcast_to(x * 2, (2, 4)))
    for shape, error in (((2, 3), "Xb? at 3 in dimension 1"), ((0, 4), "Xb? at 0 in dimension 0")):
        with pytest.raises(te_sched.TeSchedError, match=error):
            module(te_sched.nd.empty(shape), y, 8, 2)


@pytest.mark.parametrize("sanitize", [False, True])
def test_dimensions_of_one_element_are_broadcast_to_sizes_of_the_call(sanitize: bool) -> None:
    n, m = te.size_var("n"), te.size_var("m")
    X = te.placeholder((n,), name="X")
    Y = te.compute((m,), lambda i: X[i] * 2.0, name="Y")
    module = te_sched.build(te.create_schedule(Y.op), [X, Y], sanitize=sanitize)
    y = te_sched.nd.empty((4,))
    module(te_sched.nd.array(np.full(1, 3.0, "float32")), y)
    assert y.numpy().tolist() == [6.0] * 4
    with pytest.raises(te_sched.TeSchedError, match="of X is n = 3, expected at least 4"):
        module(te_sched.nd.empty((3,)), y)


@T.prim_func
def written_and_read(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, 2), buffer_type="auto")
    B = T.match_buffer(b, (m, 2))
    for i, j in T.grid(n, 2):
        A[i, j] = T.Cast("float32", j)
    for i, j in T.grid(m, 2):
        B[i, j] = A[i, j]


def test_the_debug_build_finds_broadcast_elements_where_they_were_written() -> None:
    b = te_sched.nd.empty((500, 2))
    te_sched.build(written_and_read, sanitize=True)(te_sched.nd.empty((1, 2)), b)
    assert b.numpy().tolist() == [[0.0, 1.0]] * 500


@T.prim_func
def copied(a: T.handle, b: T.handle, k: T.int32):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n,), buffer_type="auto")
    B = T.match_buffer(b, (m,), buffer_type="auto")
    for i in range(4):
        B[i] = A[i + k]


def test_only_reads_at_loop_variables_are_broadcast() -> None:
    module, one, four = te_sched.build(copied), te_sched.nd.empty((1,)), te_sched.nd.empty((4,))
    module(four, te_sched.nd.empty((4,)), 0)
    with pytest.raises(te_sched.TeSchedError, match="dimension 0 of A is n = 1, expected"):
        module(one, te_sched.nd.empty((4,)), 0)
    with pytest.raises(te_sched.TeSchedError, match="dimension 0 of B is m = 1, expected"):
        module(four, one, 0)


def test_least_and_greatest_index_of_a_loop_that_begins_at_another():
    """The condition on the call is one of its sizes, not of an outer loop."""

    @T.prim_func
    def main(b: T.handle, m: T.int32):
        n = T.int32()
        B = T.match_buffer(b, (n,), "float32")
        for i in range(m):
            for j in T.serial(i, i + 4):
                B[j] = T.float32(1)

    built = te_sched.build(main)
    b = np.zeros(8, "float32")
    built(b, 5)
    np.testing.assert_array_equal(b, np.ones(8, "float32"))
    with pytest.raises(te_sched.CallError, match="dimension 0 of B"):
        built(b, 6)


def test_index_of_data_is_checked_at_run_time():
    """The range of its type says nothing of the sizes of a call."""

    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (4,), "uint8")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(4):
            with T.LetStmt(T.Cast("int32", A[i])) as v:
                B[v] = T.float32(1)

    found = guard_accesses(main, insert=False)
    assert found.checked == 1
    assert not found.sizes


def test_ends_that_an_empty_loop_does_not_reach():
    """Where i is m or more, the inner loop has no iterations."""

    @T.prim_func
    def main(b: T.handle, k: T.int32):
        m = T.int32()
        B = T.match_buffer(b, (m,), "float32")
        for i in range(k):
            for _j in range(m - i):
                B[i] = T.float32(1)

    built = te_sched.build(main)
    b = np.zeros(4, "float32")
    built(b, 8)
    np.testing.assert_array_equal(b, np.ones(4, "float32"))


def test_loop_that_begins_at_data_sets_no_sizes():
    """Only a call knows where the loop begins."""

    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (4,), "uint8")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(4):
            with T.LetStmt(T.Cast("int32", A[i])) as v:
                for j in range(v, v + 4):
                    B[j] = T.float32(1)

    found = guard_accesses(main, insert=False)
    assert found.checked == 1
    assert not found.sizes
