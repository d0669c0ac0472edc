"""Symbolic extents of calls: never negative, and 0 as in numpy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError, CallError


def floats(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape) + 1


def build(*args: Any, **options: Any) -> Any:
    return te_sched.build(te.create_schedule(args[-1].op), list(args), **options)


def reduction(reducer: Any, columns: Any = None) -> Any:
    m, n = te.var("m"), te.var("n") if columns is None else columns
    a = te.placeholder((m, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    return build(a, te.compute((m,), lambda i: reducer(a[i, k], axis=k), name="B"))


def window() -> tuple[Any, Any, Any]:
    """C[i] = (A[i] + A[i + 4]) * 2 by way of B, which has 4 elements less than A."""
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n - 4,), lambda i: a[i] + a[i + 4], name="B")
    return a, b, te.compute((n - 4,), lambda i: b[i] * 2, name="C")


def test_different_values_of_one_size_are_named() -> None:
    n = te.var("n")
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    add = build(a, b, te.compute((n,), lambda i: a[i] + b[i], name="C"))
    message = r"argument B has shape\[0\] 4, expected 3: n is 3 by"
    with pytest.raises(CallError, match=message + r" shape\[0\] of argument A"):
        add(floats(3), floats(4), floats(4))


def test_a_size_that_a_number_and_an_array_give() -> None:
    n = te.var("n")
    ones = build(n, te.compute((n,), lambda i: te.const(1.0, "float32"), name="C"))
    with pytest.raises(CallError, match=r"has shape\[0\] 4, expected 3: n is 3 by argument n"):
        ones(3, floats(4))
    with pytest.raises(CallError, match=r"has shape\[0\] 0, expected -1: n is -1 by argument n"):
        ones(-1, floats(0))


def test_negative_reductions_are_refused() -> None:
    n = te.var("n")
    k = te.reduce_axis((0, n), name="k")
    total = build(n, te.compute((2,), lambda i: te.sum((i + k) * 1.0, axis=k), name="D"))
    out = floats(2)
    total(3, out)
    np.testing.assert_array_equal(out, [3, 6])
    total(0, out)
    np.testing.assert_array_equal(out, 0)
    with pytest.raises(CallError, match="axis k of D is n = -2, expected at least 0"):
        total(-2, out)


def test_negative_temporaries_are_refused() -> None:
    a, _, c = window()
    function = build(a, c)
    for count in (4, 5, 9):
        out, values = np.zeros(count - 4, "float32"), floats(count)
        function(values, out)
        np.testing.assert_array_equal(out, 2 * (values[:-4] + values[4:]))
    with pytest.raises(
        CallError, match=r"dimension 0 of B is \(n - 4\) = -2, .*\n(.*\n)*.*n is 2 by"
    ):
        function(floats(2), floats(0))


def test_negative_inside_of_a_result_of_constant_shape() -> None:
    a, b, _ = window()
    r = te.reduce_axis((0, b.shape[0]), name="r")
    total, out = build(a, te.compute((1,), lambda i: te.sum(b[r], axis=r), name="S")), floats(1)
    total(floats(4), out)
    assert out[0] == 0
    with pytest.raises(CallError, match=r"is \(n - 4\) = -3"):
        total(floats(1), out)


def test_a_size_var_is_not_negative() -> None:
    n, m = te.size_var("n"), te.var("m")
    a = te.placeholder((m,), name="A")
    shift = build(a, n, te.compute((m,), lambda i: a[i] + n, name="B"))
    with pytest.raises(CallError, match="the size n is n = -5, expected at least 0"):
        shift(floats(3), -5, floats(3))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions_of_nothing_are_as_in_numpy(name: str) -> None:
    function = reduction(getattr(te, name))
    for shape in ((3, 2), (3, 1), (0, 4)):
        out = np.zeros(shape[0], "float32")
        function(floats(*shape), out)
        np.testing.assert_array_equal(out, getattr(np, name)(floats(*shape), axis=1))
    if name in ("sum", "prod"):
        function(floats(3, 0), out := np.zeros(3, "float32"))
        np.testing.assert_array_equal(out, getattr(np, name)(floats(3, 0), axis=1))
    else:
        with pytest.raises(CallError, match=r"axis k of B is n = 0, .*\n(.*\n)*.*to choose from"):
            function(floats(3, 0), np.zeros(3, "float32"))


def test_argmax_of_nothing_is_refused() -> None:
    best = te.comm_reducer(
        lambda x, y: (te.select(x[1] >= y[1], x[0], y[0]), te.select(x[1] >= y[1], x[1], y[1])),
        lambda t, u: (te.const(-1, t), te.min_value(u)),
        name="argmax",
    )
    n = te.var("n")
    a, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), name="k")
    where, value = te.compute((1,), lambda i: best((k.var, a[k]), axis=k), name="B")
    function = te_sched.build(te.create_schedule(where.op), [a, where, value])
    place = np.zeros(1, "int32")
    function(floats(5), place, floats(1))
    assert place[0] == 4
    with pytest.raises(CallError, match="to choose from"):
        function(floats(0), place, floats(1))


def test_a_reduction_with_an_init_may_be_of_nothing() -> None:
    n = te.var("n")
    a, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), name="k")
    zero = te.const(0.0, "float32")
    function, out = build(a, te.compute((1,), lambda i: te.max(a[k], k, init=zero))), floats(1)
    function(floats(0), out)
    assert out[0] == 0


def test_max_of_a_constant_nothing_does_not_build() -> None:
    with pytest.raises(BuildError, match=r"axis k of B has extent 0\n(.*\n)*.*to choose from"):
        reduction(te.max, columns=0)
    reduction(te.sum, columns=0)


def test_the_rule_holds_whatever_the_schedule() -> None:
    n = te.var("n")
    a, k = te.placeholder((n,), name="A"), te.reduce_axis((0, n), name="k")
    b = te.compute((1,), lambda i: te.max(a[k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, 4)
    s.rfactor(b, inner)
    function, out = te_sched.build(s, [a, b]), floats(1)
    for count in (1, 3, 4, 9):
        function(floats(count) - 100, out)
        assert out[0] == count - 100
    with pytest.raises(CallError, match="to choose from"):
        function(floats(0), out)


def test_exported_functions_check_sizes(tmp_path: Path) -> None:
    place = tmp_path / "max.o"
    reduction(te.max).export_library(place)
    loaded = te_sched.runtime.load_module(place)
    with pytest.raises(CallError, match="to choose from"):
        loaded(floats(2, 0), floats(2))


def test_threads_call_one_function_with_different_sizes() -> None:
    a, _, c = window()
    function = build(a, c)

    def run(count: int) -> bool:
        out, values = np.zeros(count - 4, "float32"), floats(count)
        function(values, out)
        return np.array_equal(out, 2 * (values[:-4] + values[4:]))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, [4 + number % 37 for number in range(400)]))


def test_elements_that_only_large_arrays_have() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    fifth, out = build(a, te.compute((1,), lambda i: a[5], name="B")), floats(1)
    fifth(floats(6), out)
    assert out[0] == 6
    with pytest.raises(
        CallError, match=r"dimension 0 of A is n = 3, .*\n(.*\n)*.*reads it at 5, and n"
    ):
        fifth(floats(3), out)


def test_the_first_element_of_an_empty_temporary() -> None:
    a, b, _ = window()
    first = build(a, te.compute((1,), lambda i: b[0], name="S"))
    with pytest.raises(CallError, match=r"dimension 0 of B is \(n - 4\) = 0, .*\n(.*\n)*.*at 0"):
        first(floats(4), floats(1))


def test_one_size_that_must_not_be_above_another() -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n,), name="A")
    b = te.placeholder((m,), name="B")
    add = build(a, b, te.compute((n,), lambda i: a[i] + b[i + 1], name="C"))
    add(floats(3), floats(4), out := floats(3))
    np.testing.assert_array_equal(out, floats(3) + floats(4)[1:])
    with pytest.raises(CallError, match=r"dimension 0 of B is m = 3, expected at least 4"):
        add(floats(3), floats(3), out)
    add(floats(0), floats(0), floats(0))  # nothing is read


def test_a_read_below_a_condition_is_the_users() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    zero = te.const(0.0, "float32")
    element = lambda i: te.if_then_else(n > 5, a[5], zero)  # noqa: E731
    function, out = build(a, te.compute((1,), element, name="B")), floats(1)
    function(floats(3), out)
    assert out[0] == 0


def test_an_output_whose_elements_are_one() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    twice = build(a, te.compute((n,), lambda i: a[i] * 2, name="B"))
    one = np.lib.stride_tricks.as_strided(floats(1), (3,), (0,))
    with pytest.raises(CallError, match="elements along axis 0 share one place"):
        twice(floats(3), one)
    twice(one, out := floats(3))
    np.testing.assert_array_equal(out, 2)


def test_matrix_products_of_any_size() -> None:
    n, m, p = te.var("n"), te.var("m"), te.var("p")
    a, b = te.placeholder((n, m), name="A"), te.placeholder((m, p), name="B")
    k = te.reduce_axis((0, m), name="k")
    c = te.compute((n, p), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    outer, _, inner, lane = s[c].tile(*c.op.axis, 4, 8)
    split, step = s[c].split(k, 4)
    s[c].reorder(split, inner, step, lane)
    s[c].vectorize(lane)
    s[c].parallel(outer)
    product = te_sched.build(s, [a, b, c])
    for shape in np.ndindex(6, 5, 10):
        left, right = floats(*shape[:2]), floats(*shape[1:])
        out = np.full((shape[0], shape[2]), 7, "float32")
        product(left, right, out)
        np.testing.assert_allclose(out, left @ right, rtol=1e-5)


def split_by(kind: str, threads: bool = False, dtype: str = "int32", **options: Any) -> Any:
    """B = A + 1, of one loop that is split by f."""
    n, f = te.var("n", dtype), te.var("f", dtype)
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], **{kind: f})
    if threads:
        s[b].bind(outer, te.thread_axis("blockIdx.x"))
        s[b].bind(inner, te.thread_axis("threadIdx.x"))
    return te_sched.build(s, [a, b, f], **options)


@pytest.mark.parametrize("kind", ["factor", "nparts"])
@pytest.mark.parametrize("options", [{}, {"verify": False}, {"sanitize": True}])
def test_lengths_of_splits_are_checked(kind: str, options: dict[str, bool]) -> None:
    function = split_by(kind, **options)
    for length in (1, 3, 9, 10, 2000):
        function(floats(9), out := np.zeros(9, "float32"), length)
        np.testing.assert_array_equal(out, floats(9) + 1)
    for length in (0, -3, -(2**31)):
        what = rf"the {kind} of axis i of B is f = {length}, expected at least 1\n"
        with pytest.raises(CallError, match=what + r"(.*\n)*.*f is .* by argument f"):
            function(floats(9), out, length)
    for length in (2**31 - 1, 2**31 - 5):
        with pytest.raises(CallError, match=r"a term of the number of iterations of i.* at most"):
            function(floats(9), out, length)


def test_lengths_of_splits_are_checked_in_64_bits() -> None:
    with pytest.raises(CallError, match=r"a term of .* = 9223372036854775815, expected at most"):
        split_by("factor", dtype="int64")(floats(9), floats(9), 2**63 - 1)


def test_lengths_of_splits_are_checked_on_devices() -> None:
    function = split_by("factor", threads=True, target="cuda")
    arrays = [te_sched.nd.array(floats(9), te_sched.emulated_cuda(0)) for _ in range(2)]
    for call in (function, function.check):
        for length in (0, -1):
            with pytest.raises(CallError, match=f"the factor of axis i of B is f = {length}"):
                call(*arrays, length)
    with pytest.raises(CallError, match=r"blockIdx.x = .* which is more than int32 can count"):
        function(*arrays, 2**31 - 1)


def test_lengths_of_splits_that_became_dimensions_are_checked() -> None:
    n, f = te.var("n"), te.var("f")
    a = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    b = te.compute((1,), lambda i: te.sum(a[k], axis=k), name="B")
    s = te.create_schedule(b.op)
    s.rfactor(b, s[b].split(k, factor=f)[1])
    function = te_sched.build(s, [a, b, f])
    function(floats(9), out := floats(1), 4)
    assert out[0] == 45
    with pytest.raises(CallError, match="the factor of axis k of B is f = 0, expected at least 1"):
        function(floats(9), out, 0)


def test_lengths_that_a_call_cannot_compute_are_refused() -> None:
    x = te.var("x", "float32")
    b = te.compute((8,), lambda i: i, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=x.astype("int32"))
    with pytest.raises(BuildError, match=r"cannot check the factor of axis i of B"):
        te_sched.build(s, [b, x])


def test_iterations_that_cannot_be_counted_are_refused() -> None:
    m, n = te.var("m"), te.var("n")
    k, r = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="r")
    b = te.compute((n,), lambda i: te.max(i + 0 * k, axis=[k, r]), name="B")
    s = te.create_schedule(b.op)
    s[b].fuse(k, r)
    out = np.zeros(2, "int32")
    for function in (te_sched.build(s, [m, b]), te_sched.build(te_sched.lower(s, [m, b]))):
        with pytest.raises(CallError, match=r"iterations of k.*fused is \(m \* m\) = 4294967296"):
            function(65536, out)


def test_sizes_that_divide_by_zero_are_refused() -> None:
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n,), name="A")
    b = te.compute((n // m,), lambda i: a[i], name="B")
    total = build(a, m, te.compute((n,), lambda i: b[te.min(i, n // m - 1)], name="C"))
    with pytest.raises(CallError, match=r"dimension 0 of B is \(n // m\) = a division by zero"):
        total(floats(3), 0, floats(3))


def test_threads_round_a_scan_are_checked() -> None:
    t = te.var("t")
    X, state = te.placeholder((4, 8), name="X"), te.placeholder((4, 8), name="state")
    init = te.compute((1, 8), lambda _, i: X[0, i], name="init")
    update = te.compute((4, 8), lambda j, i: state[j - 1, i] + X[j, i], name="update")
    total = te.scan(init, update, state, inputs=[X], name="total")
    s = te.create_schedule(total.op)
    s[total].env_threads([te.thread_axis((0, t), "threadIdx.x")])
    function = te_sched.build(s, [X, total, t], target="cuda", verify=False)
    arrays = [te_sched.nd.array(floats(4, 8), te_sched.emulated_cuda(0)) for _ in range(2)]
    with pytest.raises(CallError, match=r"threads threadIdx.x round total is t = 0, expected at l"):
        function(*arrays, 0)


def test_a_term_that_divides_by_zero_where_nothing_is_computed() -> None:
    n, f = te.var("n"), te.var("f")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")
    c = te.compute((n,), lambda i: b[i] * 2, name="C")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], nparts=f)
    s.cache_write(c, "global")
    function = te_sched.build(s, [a, c, f])
    for count in (0, 1, 9):
        function(floats(count), out := floats(count), 4)
        np.testing.assert_array_equal(out, (floats(count) + 1) * 2)


def test_results_whose_sizes_may_be_negative_are_judged() -> None:
    n, m, f = te.var("n"), te.var("m"), te.var("f")
    b = te.compute((n - m,), lambda i: i * 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=f)
    te_sched.build(s, [n, m, f, b])(7, 3, 2, out := np.zeros(4, "float32"))
    np.testing.assert_array_equal(out, np.arange(4))


def test_elements_that_int64_does_not_count_are_refused() -> None:
    n = te.var("n", "int64")
    b = te.compute((n, n), lambda i, j: (i + j) * 1.0, name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((1,), lambda i: te.max(b[k, k], axis=k), name="C")
    with pytest.raises(CallError, match=r"elements of B is \(n \* n\) = .*, expected at most 922"):
        build(n, c)(2**40, floats(1))
