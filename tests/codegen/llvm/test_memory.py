"""Loads and stores: contiguous, strided, reversed, gathered; lanes of vectors."""

from __future__ import annotations

import ctypes
import mmap
import re
from typing import Any

import numpy as np
import pytest

from te_sched.codegen.llvm import arithmetic, machine, memory
from te_sched.codegen.llvm.types import Value, integer
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.llvm.instructions import new_function, run, text_of
from tests.codegen.programs import buffer, build, function, loop

N = 64


def ramp(base: object, stride: object, lanes: int) -> E.Ramp:
    return E.Ramp(ops.convert(base), ops.convert(stride), lanes)


@pytest.mark.parametrize("lanes", [2, 3, 8, 14, 16, 21])
@pytest.mark.parametrize("stride", [-3, -1, 0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float64"])
def test_strided_load_reads_its_elements_alone(lanes: int, stride: int, dtype: str) -> None:
    first = max(0, -stride * (lanes - 1))
    a = np.random.default_rng(0).integers(0, 2, first + max(stride, 0) * (lanes - 1) + 1)
    a = a.astype(dtype)
    A, C = buffer("A", [len(a)], dtype), buffer("C", [lanes], dtype)
    load = E.BufferLoad(A, (ramp(first, stride, lanes),))
    c = np.zeros(lanes, dtype)
    build(function([A, C], S.BufferStore(C, load, (ramp(0, 1, lanes),))))(a, c)
    np.testing.assert_array_equal(c, a[first + stride * np.arange(lanes)])


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("lanes", [5, 7, 14])
def test_vectors_of_uneven_lanes_are_loaded_with_a_mask(lanes: int, dtype: str) -> None:
    """Nothing is read behind them: there is no memory."""
    A, C = buffer("A", [lanes], dtype), buffer("C", [lanes], dtype)
    load = E.BufferLoad(A, (ramp(0, 1, lanes),))
    copy = build(function([A, C], S.BufferStore(C, load, (ramp(0, 1, lanes),))))
    assert ("masked.load" in copy.get_source("ll")) == machine.has_masks(machine.host_machine())
    page = mmap.PAGESIZE
    with mmap.mmap(-1, 2 * page) as memory_map:
        pages = np.frombuffer(memory_map, "uint8")
        start = pages.ctypes.data
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mprotect(ctypes.c_void_p(start + page), page, 0) == 0
        a = pages[page - lanes * np.dtype(dtype).itemsize : page].view(dtype)
        a[:] = np.arange(lanes)
        c = np.zeros(lanes, dtype)
        copy(a, c)
        np.testing.assert_array_equal(c, np.arange(lanes))
        assert libc.mprotect(ctypes.c_void_p(start + page), page, 3) == 0
        del a, pages


@pytest.mark.parametrize("stride", [-2, -1, 1, 2, 3])
def test_strided_store_writes_its_elements_alone(stride: int) -> None:
    lanes, size = 8, 32
    first = max(0, -stride * (lanes - 1))
    A, C = buffer("A", [lanes]), buffer("C", [size])
    value = E.BufferLoad(A, (ramp(0, 1, lanes),))
    a, c = np.arange(1, lanes + 1, dtype="float32"), np.zeros(size, "float32")
    build(function([A, C], S.BufferStore(C, value, (ramp(first, stride, lanes),))))(a, c)
    expected = np.zeros(size, "float32")
    expected[first + stride * np.arange(lanes)] = a
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "float16", "bool"])
def test_vector_index_gathers(dtype: str) -> None:
    A, K, C = buffer("A", [N], dtype), buffer("K", [N], "int32"), buffer("C", [N], dtype)

    def body(i: E.Var) -> S.Stmt:
        lanes = ramp(ops.mul(i, 16), 1, 16)
        load = E.BufferLoad(A, (E.BufferLoad(K, (lanes,)),))
        return S.BufferStore(C, load, (lanes,))

    random = np.random.default_rng(1)
    a, k = random.integers(0, 2, N).astype(dtype), random.integers(0, N, N, dtype="int32")
    for target in ("llvm", "llvm -mcpu=x86-64"):
        c = np.zeros(N, dtype)
        build(function([A, K, C], loop(N // 16, body)), target)(a, k, c)
        np.testing.assert_array_equal(c, a[k])


@pytest.mark.parametrize("stride", [9, 64])
def test_halves_that_are_apart_are_loaded_as_integers(stride: int) -> None:
    """Each went through a register of floats: transpositions took three times as long."""
    A, C = buffer("A", [16 * stride], "float16"), buffer("C", [16], "float16")
    load = E.BufferLoad(A, (ramp(0, stride, 16),))
    module = build(function([A, C], S.BufferStore(C, load, (ramp(0, 1, 16),))))
    a = np.random.default_rng(0).integers(0, 1 << 16, 16 * stride, "uint16")
    c = np.zeros(16, "uint16")
    module(a.view("float16"), c.view("float16"))
    np.testing.assert_array_equal(c, a[::stride])  # NaNs keep their bits
    assert "load half" not in module.get_source("ll")


def test_lanes_that_store_to_one_element_do_so_in_their_order() -> None:
    C = buffer("C", [4])
    values = E.Cast("float32x4", ramp(1, 1, 4))
    zeros = E.Broadcast(E.IntImm(2), 4)
    c = np.zeros(4, "float32")
    build(function([C], S.BufferStore(C, values, (zeros,))))(c)
    np.testing.assert_array_equal(c, [0, 0, 4, 0])


@pytest.mark.parametrize(
    ("stride", "dtype", "instructions"),
    [
        *[(1, "float32", ["load"]), (2, "float32", ["load"] * 2), (4, "int8", ["load"] * 4)],
        *[(5, "float32", ["load"] * 8), (-1, "float64", ["load"]), (None, "float32", [])],
    ],
)
def test_small_strides_are_shuffled(
    stride: int | None, dtype: str, instructions: list[str]
) -> None:
    """Larger ones are taken one by one, and indices from anywhere are gathered."""
    out, source = new_function(), buffer("A", [N], dtype)
    out.environment[source.data] = Value("%a", "handle")
    base = Value("%i", "int64" if stride is not None else "int64x8")
    memory.load(out, source, memory.LaneAddresses(8, base, stride))
    text = text_of(out)
    assert re.findall(r"= (load)", text) == instructions
    assert ("insertelement" in text) == (stride == 5)
    assert ("masked.gather" in text) == (stride is None)


NUMBERS = ("int32x4", [10, 20, 30, 40])
MORE = ("int32x4", [50, 60, 70, 80])


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda out, a, b: memory.lane(out, a, 2), [30]),
        (lambda out, a, b: memory.lane(out, memory.lane(out, a, 1), 0), [20]),
        (lambda out, a, b: memory.permute(out, a, b, [7, 0, 3]), [80, 10, 40]),
        (lambda out, a, b: memory.shuffle(out, [a, b], [5, 5]), [60, 60]),
        (lambda out, a, b: memory.shuffle(out, [memory.lane(out, a, 3), b], [1]), [50]),
        (
            lambda out, a, b: memory.concatenate(out, [memory.lane(out, b, 0), a]),
            [50, 10, 20, 30, 40],
        ),
        (lambda out, a, b: memory.broadcast(out, memory.lane(out, a, 1), 3), [20] * 3),
        (lambda out, a, b: memory.broadcast(out, integer(-7, "int32"), 2), [-7] * 2),
    ],
)
def test_lanes_of_vectors(write: Any, expected: list[int]) -> None:
    dtype = "int32" if len(expected) == 1 else f"int32x{len(expected)}"
    np.testing.assert_array_equal(run(write, [NUMBERS, MORE], dtype), expected)


def test_lanes_keep_the_range_of_their_vector() -> None:
    out = new_function()
    vector, number = Value("%x", "int32x4", 2, 9, data=False), Value("%y", "int32", 0, 5, data=True)
    first = memory.lane(out, vector, 0)
    assert (first.lo, first.hi, first.data) == (2, 9, False)
    both = memory.concatenate(out, [first, number])
    assert (both.lo, both.hi, both.data) == (0, 9, True)


@pytest.mark.parametrize(
    ("index", "known", "align"),
    [
        *[(Value("%i", "int64", multiple=16), 64, 64), (Value("%i", "int64", multiple=4), 64, 16)],
        *[(integer(3, "int64"), 64, 4), (integer(0, "int64"), 64, 64), (integer(0, "int64"), 0, 4)],
    ],
)
def test_alignment_is_that_of_the_array_and_of_the_index(
    index: Value, known: int, align: int
) -> None:
    out, source = new_function(), buffer("A", [N])
    out.environment[source.data] = Value("%a", "handle")
    out.scopes.alignments[source.data] = known
    memory.load(out, source, memory.LaneAddresses(1, index, 1))
    assert text_of(out).endswith(f"align {align}")


def test_narrow_indices_are_extended_by_their_sign() -> None:
    out, pointer = new_function(), Value("%a", "handle")
    assert memory.address(out, pointer, "float32", integer(0, "int32")) == "%a"
    memory.address(out, pointer, "float32x3", Value("%i", "int32", -1, 5))
    memory.address(out, pointer, "bool", Value("%u", "uint32", 0, 5), inside=False)
    memory.address(out, pointer, "int8", integer(-3, "int32"))
    assert text_of(out).splitlines() == [
        "%v1 = sext i32 %i to i64",
        "%v2 = getelementptr inbounds [3 x float], ptr %a, i64 %v1",
        "%v3 = zext i32 %u to i64",
        "%v4 = getelementptr i8, ptr %a, i64 %v3",
        "%v5 = getelementptr inbounds i8, ptr %a, i64 -3",
    ]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64"])
@pytest.mark.parametrize("lanes", [4, 10, 32])
def test_masks_leave_lanes_alone(dtype: str, lanes: int) -> None:
    """Lanes from the limit on are not loaded, which gives zeros, and not stored."""
    n = E.Var("n", "int64")
    A, C = buffer("A", [n], dtype), buffer("C", [n + 40], dtype)
    mask = E.Call(f"boolx{lanes}", "tir.get_active_lane_mask", (ops.const(8, "int64"), n))
    load = E.BufferLoad(A, (ramp(8, 1, lanes),), mask)
    half = ops.const(8 + lanes // 2, "int64")
    fewer = E.Call(f"boolx{lanes}", "tir.get_active_lane_mask", (ops.const(8, "int64"), half))
    func = function([A, C], S.BufferStore(C, load, (ramp(8, 1, lanes),), fewer))
    built = build(func)
    for size in (0, 7, 8, 9, 8 + lanes - 1, 8 + lanes, 8 + lanes + 1):
        a = np.arange(1, size + 1).astype(dtype)
        c = np.full(size + 40, 77, dtype)
        expected = c.copy()
        stored = [a[8 + lane] if 8 + lane < size else 0 for lane in range(lanes // 2)]
        expected[8 : 8 + lanes // 2] = stored
        built(a, c)
        np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize(
    ("least", "constant", "places"),
    [
        (0, 3, ["ptr %p, i64 %v2", "ptr %v3, i64 3"]),
        (-1, 3, ["ptr %p, i64 %v2"]),  # the address without the constant may be before the array
        (5, -3, ["ptr %p, i64 %v2"]),
    ],
)
def test_constants_are_added_to_addresses(least: int, constant: int, places: list[str]) -> None:
    out = new_function()
    index = Value("%i", "int32", least, 100, False)
    total = arithmetic.binary(out, "add", index, integer(constant, "int32"))
    pointer = Value("%p", "handle")
    assert memory.address(out, pointer, "float32", total) == f"%v{2 + len(places)}"
    first, extended, *addresses = text_of(out).splitlines()
    assert first.endswith(f"add nsw i32 %i, {constant}")
    assert extended.endswith(f"sext i32 {'%i' if len(places) == 2 else '%v1'} to i64")
    assert [line.partition("float, ")[2] for line in addresses] == places


def test_constants_of_indices_are_added_once() -> None:
    out = new_function()
    index = Value("%i", "int64", 0, 100, False)
    for constant in (1, 2):
        index = arithmetic.binary(out, "add", index, integer(constant, "int64"))
    assert (index.base and index.base.text, index.offset) == ("%i", 3)
    assert arithmetic.binary(out, "mul", index, integer(2, "int64")).base is None


@pytest.mark.parametrize("lanes", [4, 16])
def test_lanes_without_a_bit_are_zeros_though_their_elements_exist(lanes: int) -> None:
    """They need not be where only the other lanes are stored."""
    A, C = buffer("A", [lanes], "float32"), buffer("C", [lanes], "float32")
    n = E.Var("n", "int32")
    mask = E.Call(f"boolx{lanes}", "tir.get_active_lane_mask", (E.IntImm(0), n))
    place = (ramp(0, 1, lanes),)
    value = E.BufferLoad(A, place, mask)
    a = np.arange(1, lanes + 1, dtype="float32")
    for predicate, rest in ((None, 0), (mask, -1)):
        func = function([A, C, n], S.BufferStore(C, value, place, predicate))
        c = np.full(lanes, -1, "float32")
        build(func)(a, c, 3)
        np.testing.assert_array_equal(c, [1, 2, 3, *[rest] * (lanes - 3)])
