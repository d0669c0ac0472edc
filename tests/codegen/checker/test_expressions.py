"""Expressions for all threads at once: numbers that they share, and arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.checker import check_program, intrinsics
from te_sched.codegen.checker.expressions import Compiler
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.lowering.device.pipeline import device_passes
from tests.codegen.checker import kernels as k


@pytest.mark.parametrize(
    "choose",
    [
        lambda A, tx: te_sched.tir.if_then_else(tx < 10, A[tx], E.FloatImm(0.0)),
        lambda A, tx: te.all(tx < 10, A[tx] > 0.5).astype("float32"),
        lambda A, tx: E.Not(te.any(tx >= 10, A[tx] < 0.5)).astype("float32"),
    ],
)
def test_reads_only_where_wanted(choose):
    def build(ib, A, C, tx):
        C[tx] = choose(A, tx)

    module = k.program(build, [k.array("A", 10), k.array("C", 32)], tx=32)
    result = np.full(32, np.nan, np.float32)
    assert check_program(module, [np.ones(10, np.float32), result]).ok
    np.testing.assert_array_equal(result, [1.0] * 10 + [0.0] * 22)


def test_lanes_of_vectors_are_read_only_where_wanted():
    def build(ib, A, C, tx):
        lanes = E.Ramp(tx * 4, E.IntImm(1), 4)
        wanted = E.LT(lanes, E.Broadcast(E.IntImm(126), 4))
        zero = E.Broadcast(E.FloatImm(0.0), 4)
        C[lanes] = E.Call("float32x4", "tir.if_then_else", (wanted, A[lanes], zero))

    module = k.program(build, [k.array("A", 126), k.array("C", 128)], tx=32)
    result = np.full(128, np.nan, np.float32)
    report = check_program(module, [np.ones(126, np.float32), result])
    assert report.ok, str(report)
    np.testing.assert_array_equal(result, [1.0] * 126 + [0.0] * 2)


@pytest.mark.parametrize("dtype", ["bool", "int8"])
def test_truth_values(dtype):
    a = te.placeholder((32,), "bool", name="A")
    c = te.compute((32,), lambda i: te_sched.tir.all(a[i], i < 20), name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = device_passes(te_sched.lower(s, [a, c], name="main")["main"])
    data, result = (np.arange(32) % 2).astype(dtype), np.zeros(32, dtype)
    assert check_program(module, [data, result]).ok
    np.testing.assert_array_equal(result, data * (np.arange(32) < 20))


def test_integers_wrap():
    def build(ib, A, C, tx):
        hashed = A[tx] * E.IntImm(1103515245) + E.IntImm(12345)
        C[tx] = E.Call("int32", "tir.shift_right", (hashed, E.IntImm(3)))

    module = k.program(build, [k.array("A", 32, "int32"), k.array("C", 32, "int32")], tx=32)
    data, result = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    assert check_program(module, [data, result]).ok
    np.testing.assert_array_equal(result, (data * np.int32(1103515245) + np.int32(12345)) >> 3)


a, b = E.Var("a", "int32"), E.Var("b", "int32")
LOW, HIGH = -(1 << 31), (1 << 31) - 1
EDGES = [LOW, -7, -1, 0, 1, 2, 7, HIGH]


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0


INTEGERS: dict[str, tuple[E.Expr, Callable[[int, int], int]]] = {
    "add": (E.Add(a, b), lambda x, y: x + y),
    "multiply": (E.Mul(a, b), lambda x, y: x * y),
    "floordiv": (E.FloorDiv(a, b), lambda x, y: x // y if y else 0),
    "floormod": (E.FloorMod(a, b), lambda x, y: x % y if y else 0),
    "div": (E.Div(a, b), truncated),
    "mod": (E.Mod(a, b), lambda x, y: x - truncated(x, y) * y if y else 0),
    "min": (E.Min(a, b), min),
    "max": (E.Max(a, b), max),
    "select": (E.Select(a < b, a, b * 2), lambda x, y: x if x < y else y * 2),
    "logic": (
        ops.cast("int32", E.Or(E.And(a < b, b > 0), E.Not(a >= 0))),
        lambda x, y: int((x < y and y > 0) or x < 0),
    ),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_of_all_threads_and_of_one_are_the_same(name: str) -> None:
    """As numbers, as arrays, and of both kinds: division by 0 is 0, results wrap around."""
    expression, meaning = INTEGERS[name]
    x, y = (grid.reshape(1, 1, -1, 1) for grid in np.meshgrid(EDGES, EDGES))
    x, y = x.astype(np.int32), y.astype(np.int32)
    arrays = np.broadcast_to(k.evaluate(expression, {a: x, b: y}), x.shape).reshape(-1)
    assert arrays.dtype == np.int32
    for number, (left, right) in enumerate(zip(x.flat, y.flat, strict=True)):
        expected = (meaning(int(left), int(right)) - LOW) % (1 << 32) + LOW
        alone = k.evaluate(expression, {a: int(left), b: int(right)})
        assert (alone, int(arrays[number])) == (expected, expected), (left, right)
        assert type(alone) is int
    for divisor in EDGES:
        mixed = np.asarray(k.evaluate(expression, {a: x, b: divisor}))
        np.testing.assert_array_equal(
            np.broadcast_to(mixed, x.shape), k.evaluate(expression, {a: x, b: x * 0 + divisor})
        )


def test_vectors() -> None:
    lanes = np.arange(32, dtype=np.int32).reshape(1, 1, 32, 1)
    ramp = E.Ramp(a, E.IntImm(3), 4)
    expected = lanes + 3 * np.arange(4).reshape(4, 1, 1, 1, 1)
    np.testing.assert_array_equal(k.evaluate(ramp, {a: lanes}), expected)
    chosen = E.Shuffle((ramp, E.Broadcast(b, 2)), tuple(map(E.IntImm, (5, 1))))
    result = k.evaluate(chosen, {a: lanes, b: 9})
    np.testing.assert_array_equal(result, np.stack([lanes * 0 + 9, lanes + 3]))
    alone = k.evaluate(E.Shuffle((ramp,), (E.IntImm(2),)), {a: 1})
    assert np.asarray(alone).item() == 7


def test_values_are_computed_again_where_variables_have_changed() -> None:
    machine = k.state()
    compiler = Compiler(machine, intrinsics.CALLS)
    thread, i = machine.slot(a), machine.slot(b)
    compiler.threads.add(thread)
    lanes = np.arange(32).reshape(1, 1, 32, 1)
    machine.assign(thread, lanes)
    code = compiler.value(a * b)
    results = []
    for value in (2, 3, 2):
        machine.assign(i, value)
        results.append(code.run())
    np.testing.assert_array_equal(results[1], lanes * 3)
    assert results[2] is results[0]
    machine.assign(thread, lanes + 1)
    np.testing.assert_array_equal(code.run(), lanes * 2 + 2)


def test_equal_indices_are_one() -> None:
    compiler = Compiler(k.state(), intrinsics.CALLS)
    assert compiler.index(a * 4 + 1) is compiler.index(a * 4 + 1)
    assert compiler.index(a * 4 + 1) is not compiler.index(b * 4 + 1)


def test_refuses_what_it_does_not_know() -> None:
    compiler = Compiler(k.state(), {})
    with pytest.raises(BuildError, match=r"support the intrinsic tir.exp in 'main_kernel'"):
        compiler.expression(te.exp(E.Var("x", "float32")))
    with pytest.raises(BuildError, match="a Shuffle with indices that are not constant"):
        compiler.expression(E.Shuffle((E.Ramp(a, E.IntImm(1), 2),), (b,)))
