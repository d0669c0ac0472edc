"""Loaded integers may be anything: what is built of them wraps around, as in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.codegen.target import as_target
from te_sched.driver import functions_for_processor
from te_sched.errors import AccessError, BuildError
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import Allocate
from te_sched.ir.visitor import statements

N = 16
# Of two values and what makes constants of their type.
FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "less": (
        lambda a, b, c: tir.Select(a < b - c(2), a, b),
        lambda a, b, c: np.where(a < b - c(2), a, b),
    ),
    "equal": (
        lambda a, b, c: tir.Select((a + c(1)).equal(b + c(1)), a, b - c(1)),
        lambda a, b, c: np.where(a + c(1) == b + c(1), a, b - c(1)),
    ),
    "min": (
        lambda a, b, c: te.min(a + c(2), b + c(2)),
        lambda a, b, c: np.minimum(a + c(2), b + c(2)),
    ),
    "max": (
        lambda a, b, c: te.max(a * c(2), b * c(2)),
        lambda a, b, c: np.maximum(a * c(2), b * c(2)),
    ),
    "quotient": (
        lambda a, b, c: te.floordiv(a + c(4), c(4)) + b,
        lambda a, b, c: (a + c(4)) // c(4) + b,
    ),
    "rest": (
        lambda a, b, c: te.floormod(a * c(3) + b, c(3)),
        lambda a, b, c: (a * c(3) + b) % c(3),
    ),
    "branch": (
        lambda a, b, c: te.if_then_else(a + c(2) < b, te.if_then_else(a < b - c(2), a, b), a - b),
        lambda a, b, c: np.where(a + c(2) < b, np.where(a < b - c(2), a, b), a - b),
    ),
}


def values(dtype: str) -> tuple[Any, Any]:
    limits = np.iinfo(dtype)
    ends = [limits.max, limits.max - 1, limits.max // 2 + 1, limits.min, limits.min + 1, 0, 1, 3]
    a = np.array(ends * 2, dtype)
    return a, np.roll(a, 3)


@pytest.mark.parametrize("target", ["llvm", "cuda"])
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint16", "int64"])
@pytest.mark.parametrize("form", FORMS)
def test_values_wrap_around(form: str, dtype: str, target: str) -> None:
    declared, expected = FORMS[form]

    def constant(value: int) -> Any:
        return te.const(value, dtype)

    A, B = te.placeholder((N,), dtype, name="A"), te.placeholder((N,), dtype, name="B")
    C = te.compute((N,), lambda i: declared(A[i], B[i], constant), name="C")
    s = te.create_schedule(C.op)
    if target == "cuda":
        s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    function = te_sched.build(s, [A, B, C], target)
    device = te_sched.emulated_cuda(0) if target == "cuda" else te_sched.cpu(0)
    a, b = values(dtype)
    arrays = [te_sched.nd.array(array, device) for array in (a, b, np.zeros_like(a))]
    function(*arrays)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(arrays[2].numpy(), expected(a, b, np.dtype(dtype).type))


def test_a_watched_program_wraps_around() -> None:
    A, B = te.placeholder((N,), "int32", name="A"), te.placeholder((N,), "int32", name="B")
    C = te.compute((N,), lambda i: tir.Select(A[i] < B[i] - 2, A[i], B[i]), name="C")
    a, b = values("int32")
    c = np.zeros_like(a)
    te_sched.build(te.create_schedule(C.op), [A, B, C], sanitize=True)(a, b, c)
    np.testing.assert_array_equal(c, np.where(a < b - 2, a, b))


def test_a_minimum_of_differences_begins_with_the_largest_number() -> None:
    A = te.placeholder((2, 2), "int32", name="A")
    B = te.compute((2, 2), lambda i, j: A[i, j] - 2, name="B")
    least = te.comm_reducer(
        lambda x, y: (tir.Select(x[0] < y[0], x[0], y[0]), tir.Select(x[0] < y[0], x[1], y[1])),
        lambda p, q: (te.max_value(p), te.const(-1, q)),
    )
    k = te.reduce_axis((0, 2), "k")
    least_value, place = te.compute((2,), lambda i: least((B[i, k], k.var), axis=k), name="C")
    s = te.create_schedule(place.op)
    s[B].compute_inline()
    a = np.array([[6, 5], [2, 4]], "int32")
    found = np.zeros(2, "int32"), np.zeros(2, "int32")
    te_sched.build(s, [A, least_value, place])(a, *found)
    np.testing.assert_array_equal(found[0], [3, 0])
    np.testing.assert_array_equal(found[1], [1, 0])


def test_a_guard_that_wraps_around_guards_nothing() -> None:
    A, index = te.placeholder((64,), name="A"), te.placeholder((N,), "int32", name="I")

    def guarded(i: Any) -> Any:
        inside = te.all(index[i] >= 0, index[i] + 2 < 66)
        return te.if_then_else(inside, A[index[i]], 0.0)

    B = te.compute((N,), guarded, name="B")
    function = te_sched.build(te.create_schedule(B.op), [A, index, B])
    a, b = np.arange(64, dtype="float32"), np.zeros(N, "float32")
    function(a, np.arange(N, dtype="int32") * 5 - 7, b)
    np.testing.assert_array_equal(b, [x if 0 <= x < 64 else 0 for x in range(-7, 5 * N - 7, 5)])
    with pytest.raises(AccessError, match="A has the indices 0 to 63"):
        function(a, np.full(N, 2**31 - 1, "int32"), b)


def test_a_clamp_stays_behind_what_may_wrap_around() -> None:
    A, index = te.placeholder((64,), name="A"), te.placeholder((N,), "int32", name="I")

    def body(inputs: Any, outputs: Any) -> Any:
        ib = tir.ir_builder.create()
        a, rows, out = (ib.buffer_ptr(buffer) for buffer in (*inputs, *outputs))
        with ib.for_range(0, N) as i:
            with ib.if_scope(rows[i] + 2 >= 66):
                out[i] = 0.0
            with ib.else_scope():
                out[i] = a[te.max(te.min(rows[i], 63), 0)]
        return ib.get()

    B = te.extern((N,), [A, index], body, dtype="float32", name="B")
    a, b = np.arange(64, dtype="float32"), np.zeros(N, "float32")
    largest = np.full(N, 2**31 - 1, "int32")
    te_sched.build(te.create_schedule(B.op), [A, index, B])(a, largest, b)
    np.testing.assert_array_equal(b, np.full(N, 63.0))  # 2**31 - 1 + 2 is below 66


NUMBERS = (0, 1, -1, 46341, 65536, 2**31 - 1, -(2**31))
# Of an index and a number that the call gives.
GIVEN: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "larger": (lambda i, n: i + n > n, lambda i, n: i + n > n),
    "square": (lambda i, n: n * n >= 0, lambda i, n: n * n >= 0),
    "doubled": (lambda i, n: te.floordiv(n * 2, 2).equal(n), lambda i, n: (n * 2) // 2 == n),
    "both": (
        lambda i, n: te.all(n + i >= 0, n + i < 8),
        lambda i, n: (n + i >= 0) & (n + i < 8),
    ),
    "rest": (
        lambda i, n: te.floormod(5, n * n).equal(5),
        lambda i, n: np.remainder(np.full_like(n, 5), n * n) == 5,
    ),
}


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("form", GIVEN)
def test_numbers_of_calls_wrap_around(form: str, lanes: int) -> None:
    declared, expected = GIVEN[form]
    n = te.var("n")
    B = te.compute((8,), lambda i: declared(i, n), name="B")
    s = te.create_schedule(B.op)
    inner = s[B].split(B.op.axis[0], 4)[1]
    if lanes > 1:
        s[B].vectorize(inner)
    function = te_sched.build(s, [n, B])
    for number in NUMBERS:
        found = np.zeros(8, bool)
        function(number, found)
        with np.errstate(all="ignore"):
            wanted = expected(np.arange(8, dtype="int32"), np.full(8, number, "int32"))
        np.testing.assert_array_equal(found, wanted, str(number))


QUOTIENTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "floordiv": (te.floordiv, np.floor_divide),
    "floormod": (te.floormod, np.remainder),
    "truncmod": (te.truncmod, np.fmod),
    "truncdiv": (te.truncdiv, lambda a, b: np.floor_divide(a - np.fmod(a, b), b)),
    "squares": (lambda a, b: te.floormod(a, b * b), lambda a, b: np.remainder(a, b * b)),
    "left": (lambda a, b: a << b, np.left_shift),
    "right": (lambda a, b: a >> b, np.right_shift),
}


@pytest.mark.parametrize("target", ["llvm", "cuda", "checked"])
@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "int64"])
def test_quotients_and_shifts_by_any_number_are_numpys(dtype: str, target: str) -> None:
    limits = np.iinfo(dtype)
    ends = [0, 1, 3, 8, 64, limits.max, limits.min, limits.max // 2 + 1, 65536 & limits.max]
    ends += [-1, -3] if limits.min else [255, 7]
    a, b = (one.ravel().copy() for one in np.meshgrid(np.array(ends, dtype), np.array(ends, dtype)))
    A, B = (te.placeholder(a.shape, dtype, name=name) for name in "AB")
    for name, (declared, expected) in QUOTIENTS.items():
        C = te.compute(a.shape, lambda i, declared=declared: declared(A[i], B[i]), name="C")
        s = te.create_schedule(C.op)
        _, inner = s[C].split(C.op.axis[0], 11)
        if target == "llvm":
            s[C].vectorize(inner)
        else:
            s[C].bind(inner, te.thread_axis("threadIdx.x"))
        module = te_sched.build(s, [A, B, C], "llvm" if target == "llvm" else "cuda")
        arrays = [a, b, np.zeros_like(a)]
        if target == "cuda":
            arrays = [te_sched.nd.array(array, te_sched.emulated_cuda(0)) for array in arrays]
        (module.check if target == "checked" else module)(*arrays)
        found = arrays[2].numpy() if target == "cuda" else arrays[2]
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, expected(a, b), name)


def test_sum_of_booleans_is_a_boolean() -> None:
    A, k = te.placeholder((4,), "bool", name="A"), te.reduce_axis((0, 4), "k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    function = te_sched.build(te.create_schedule(B.op), [A, B], verify=False)
    found = np.zeros(1, bool)
    function(np.array([True, True, False, False]), found)
    assert found.all()


def c(value: int, dtype: str) -> Any:
    return tir.const(value, dtype)


# Of a loop variable, in types that nobody counts in: (index, what numpy computes of arange(97)).
NARROW: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "squares": (
        lambda i: (i.astype("int8") * i.astype("int8")).astype("int32") % 97,
        lambda i: (i.astype("int8") * i.astype("int8")).astype("int32") % 97,
    ),
    "below zero": (
        lambda i: (i.astype("uint8") - c(5, "uint8")).astype("int32") % 97,
        lambda i: (i.astype("uint8") - np.uint8(5)).astype("int32") % 97,
    ),
    "unsigned": (
        lambda i: (i.astype("uint32") - c(5, "uint32")).astype("int64") % c(7, "int64"),
        lambda i: (i.astype("uint32") - np.uint32(5)).astype("int64") % 7,
    ),
    "comparison": (
        lambda i: tir.Select(
            i.astype("int16") * c(700, "int16") < c(0, "int16"), c(1, "int32"), c(0, "int32")
        ),
        lambda i: (i.astype("int16") * np.int16(700) < 0).astype("int32"),
    ),
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("vectorized", [False, True])
def test_narrow_and_unsigned_arithmetic_of_loops_wraps_around(name: str, vectorized: bool) -> None:
    index, expected = NARROW[name]
    T = te.placeholder((97,), "int32", name="T")
    B = te.compute((96,), lambda i: T[index(i)], name="B")
    s = te.create_schedule(B.op)
    if vectorized:
        s[B].vectorize(s[B].split(B.op.axis[0], 8)[1])
    table, result = np.arange(97, dtype="int32"), np.zeros(96, "int32")
    te_sched.build(s, [T, B])(table, result)
    np.testing.assert_array_equal(result, table[expected(np.arange(96))])


def test_proof_knows_that_narrow_arithmetic_wraps_around() -> None:
    A = te.placeholder((20000,), "int32", name="A")

    def square(i: Any) -> Any:
        return (i.astype("int8") * i.astype("int8")).astype("int32")

    B = te.compute((128,), lambda i: A[square(i)], name="B")
    with pytest.raises(BuildError, match="reads A at -112"):
        te_sched.build(te.create_schedule(B.op), [A, B])
    B = te.compute((128,), lambda i: te.if_then_else(square(i) >= 0, A[square(i)], -1), name="B")
    result, i = np.zeros(128, "int32"), np.arange(128, dtype="int8")
    te_sched.build(te.create_schedule(B.op), [A, B])(np.arange(20000, dtype="int32"), result)
    np.testing.assert_array_equal(result, np.maximum((i * i).astype("int32"), -1))


N_LARGE = 60000
VALUES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "max": (lambda i: te.max(i * i, 0), lambda i: np.maximum(i * i, 0)),
    "wide max": (
        lambda i: te.max((i * i).astype("int64"), c(0, "int64")),
        lambda i: np.maximum((i * i).astype("int64"), 0),
    ),
    "quotient": (lambda i: (i * N_LARGE) // N_LARGE, lambda i: (i * N_LARGE) // np.int32(N_LARGE)),
    "branch": (
        lambda i: te.if_then_else(i > 5, te.max(i * i, 0), i),
        lambda i: np.where(i > 5, np.maximum(i * i, 0), i),
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_loop_variables_wrap_around(name: str) -> None:
    value, expected = VALUES[name]
    B = te.compute((N_LARGE,), value, name="B")
    result = np.zeros(N_LARGE, B.dtype)
    te_sched.build(te.create_schedule(B.op), [B])(result)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(result, expected(np.arange(N_LARGE, dtype="int32")))


def test_values_of_sizes_wrap_around() -> None:
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    B = te.compute((n,), lambda i: te.max(n * n, 0), name="B")
    result = np.zeros(50000, "int32")
    te_sched.build(te.create_schedule(B.op), [A, B])(result.copy(), result)
    assert not result.any()


@pytest.mark.parametrize(("dtype", "value", "zeros"), [("int64", 1, 63), ("int32", -1, 0)])
def test_leading_zeros_of_constants_are_those_of_data(dtype: str, value: int, zeros: int) -> None:
    A = te.placeholder((1,), dtype, name="A")
    B = te.compute((2,), lambda i: te.if_then_else(i < 1, te.clz(A[0]), te.clz(c(value, dtype))))
    result = np.zeros(2, "int32")
    te_sched.build(te.create_schedule(B.op), [A, B])(np.array([value], dtype), result)
    assert result.tolist() == [zeros, zeros]


def clamped(x: Any, i: Any) -> Any:
    """x[i] * 2**20 + 5, or 49 where that is outside of 0 to 49."""
    value = x[i].astype("int32") * (1 << 20) + 5
    return te.if_then_else(te.all(value >= 0, value < 50), value, 49)


def test_a_guard_keeps_its_wrapping_sum_in_all_passes() -> None:
    """(x * 2**19 + 2) // 25 < 1 is another condition than x * 2**20 + 5 < 50."""

    def scatter(ins: Any, outs: Any) -> Any:
        builder = tir.ir_builder.create()
        x, out = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 50, name="j") as j:
            out[j] = 0.0
        with builder.for_range(0, 4, name="i") as i:
            out[clamped(x, i)] = 1.0
        return builder.get()

    x = te.placeholder((4,), name="X", dtype="uint64")
    b = te.extern((50,), [x], scatter, name="B", dtype="float32")
    built = te_sched.build(te.create_schedule(b.op), [x, b])
    for number in (0, 1, 2**11, 2**12, 2**12 + 29, 2**63 + 2048):
        found, expected = np.zeros((2, 50), "float32")
        with np.errstate(over="ignore"):
            value = int(np.uint64(number).astype(np.int32) * np.int32(1 << 20) + np.int32(5))
        expected[value if 0 <= value < 50 else 49] = 1
        built(np.full(4, number, "uint64"), found)
        np.testing.assert_array_equal(found, expected)


def test_constants_replace_lets_in_indices_that_wrap_around() -> None:
    n = te.var("n")
    table, x = te.placeholder((4,), name="T"), te.placeholder((4,), name="X", dtype="int64")
    other = te.placeholder((n,), name="Y", dtype="uint32")

    def at(i: Any) -> Any:
        less = x[i].astype("uint64") - (i * i - 100 * i).astype("uint64")
        limited = tir.Select(less < te.const(1 << 20, "uint64"), less, (3 - i * i).astype("uint64"))
        return (limited + (i * i * 100).astype("uint64")) & te.const(3, "uint64")

    b = te.compute((4,), lambda i: table[at(i)], name="B")
    c = te.compute((n,), lambda i: table[other[i] & te.const(3, "uint32")], name="C")
    s = te.create_schedule([b.op, c.op])
    s[b].unroll(b.op.axis[0])
    built = te_sched.build(s, [table, x, other, b, c])
    numbers = np.array([5, -(1 << 40), 1 << 62, -7])
    found, other_found = np.zeros(4, "float32"), np.zeros(2, "float32")
    built(
        np.arange(4, dtype="float32"),
        numbers,
        np.array([6, 2**32 - 1], "uint32"),
        found,
        other_found,
    )
    steps = np.arange(4)
    less = numbers.astype("uint64") - (steps * steps - 100 * steps).astype("uint64")
    limited = np.where(less < (1 << 20), less, (3 - steps * steps).astype("uint64"))
    np.testing.assert_array_equal(found, (limited + (steps * steps * 100).astype("uint64")) & 3)
    np.testing.assert_array_equal(other_found, [2, 3])


@pytest.mark.parametrize("sanitize", [False, True])
def test_temporaries_of_64_bit_sizes_are_counted_by_the_call(sanitize: bool) -> None:
    x = te.placeholder((15,), name="X", dtype="int32")
    a = te.placeholder((2,), name="A")
    b = te.compute((2,), lambda i: a[i] + 1.0, name="B")

    def at(i: Any) -> Any:
        less = te.min(x[i].astype("uint64") + 5, (i * 100).astype("uint64"))
        return te.max(te.min(less, te.const(1, "uint64")), te.const(0, "uint64"))

    c = te.compute((15,), lambda i: b[at(i)], name="C")
    s = te.create_schedule(c.op)
    _, inner = s[c].split(c.op.axis[0], factor=7)
    s[b].compute_at(s[c], inner)
    found = np.zeros(15, "float32")
    te_sched.build(s, [a, x, c], sanitize=sanitize)(np.float32([1, 2]), np.ones(15, "int32"), found)
    np.testing.assert_array_equal(found, [2, *[3] * 14])


def test_temporaries_of_unsigned_regions_are_no_larger_than_they_are() -> None:
    a = te.placeholder((2, 2, 2), name="A")
    x = te.placeholder((2,), name="X", dtype="uint16")
    b = te.compute((2, 2, 2), lambda i, j, k: a[i, j, k] * 2.0, name="B")

    def at(i: Any) -> Any:
        first = x[i].astype("uint32") - (46341 - i * i).astype("uint32")
        least = te.min(te.min(first, (100 - i * i).astype("uint32")), te.const(9, "uint32"))
        return te.max(least, te.const(0, "uint32"))

    c = te.compute((2, 2, 2), lambda i, j, k: b[at(i), j, k], name="C")
    s = te.create_schedule(c.op)
    cached = s.cache_read(b, "global", [c])
    s[cached].compute_at(s[c], s[c].fuse(*c.op.axis[:2]))
    fused = s[cached].fuse(*s[cached].op.axis[1:])
    _, outer, _, _ = s[cached].tile(s[cached].op.axis[0], fused, 2, 2)
    s[b].compute_at(s[cached], outer)
    values, found = np.arange(8, dtype="float32").reshape(2, 2, 2), np.zeros((2, 2, 2), "float32")
    te_sched.build(s, [a, x, c])(values, np.array([46342, 46340], "uint16"), found)
    np.testing.assert_array_equal(found, 2 * values[[1, 0]])
    func = functions_for_processor(s, [a, x, c], as_target("llvm"))["main"]
    rooms = [node.extents for node in statements(func.body) if isinstance(node, Allocate)]
    assert all(room.value <= 20 for (room,) in rooms if isinstance(room, IntImm))
