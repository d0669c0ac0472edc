"""Barriers, shuffles and fragments of warps."""

from typing import Any

import numpy as np
import pytest

from te_sched import tir
from te_sched.codegen.checker import ViolationKind, check_program
from te_sched.ir import expr as E
from tests.codegen.checker import kernels as k
from tests.codegen.emulator.kernels import WORDS, address, written


def fragments(with_fill=True):
    def build(ib, A, B, C, tx):
        parts = [
            ib.allocate(dtype, (256,), name, scope=f"wmma.{use}")
            for dtype, name, use in (
                ("float16", "a", "matrix_a"),
                ("float16", "b", "matrix_b"),
                ("float32", "c", "accumulator"),
            )
        ]
        a, b, c = (part.asobject().data for part in parts)
        sizes = (E.IntImm(16),) * 3
        zero, row = E.IntImm(0), E.StringImm("row_major")

        def call(op, *args):
            ib.emit(E.Call("handle", f"tir.{op}", args))

        def address(buffer):
            return E.Call("handle", "tir.address_of", (buffer[0],))

        if with_fill:
            call("tvm_fill_fragment", c, *sizes, zero, E.FloatImm(0.0))
        call("tvm_load_matrix_sync", a, *sizes, zero, address(A), E.IntImm(16), row)
        col = E.StringImm("col_major")
        call("tvm_load_matrix_sync", b, *sizes, zero, address(B), E.IntImm(16), col)
        call("tvm_mma_sync", c, zero, a, zero, b, zero, c, zero)
        call("tvm_store_matrix_sync", c, *sizes, zero, address(C), E.IntImm(16), row)

    arrays = [k.array("A", 256, "float16"), k.array("B", 256, "float16"), k.array("C", 256)]
    return k.program(build, arrays, tx=32)


def test_fragments():
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(2, 256)).astype(np.float16)
    c = np.full(256, np.nan, np.float32)
    report = check_program(fragments(), [a, b, c])
    assert report.ok, str(report)
    expected = a.reshape(16, 16).astype(np.float32) @ b.reshape(16, 16).T.astype(np.float32)
    np.testing.assert_allclose(c.reshape(16, 16), expected, rtol=1e-5, atol=1e-5)


def test_fragment_that_is_not_filled():
    a, b, c = np.ones(256, np.float16), np.ones(256, np.float16), np.ones(256, np.float32)
    report = check_program(fragments(False), [a, b, c])
    assert [one.kind for one in report.findings] == [ViolationKind.UNINITIALIZED_READ]
    assert "the fragment c" in report.findings[0].detail


def warp_steps(with_barrier):
    def build(ib, A, C, tx):
        s = ib.allocate("float32", (64,), "s", scope="shared")
        s[tx] = A[tx]
        if with_barrier:
            ib.emit(k.barrier("warp"))
        C[tx] = s[tx // 32 * 32 + (31 - tx % 32)]

    return k.program(build, [k.array("A", 64), k.array("C", 64)], tx=64)


@pytest.mark.parametrize("with_barrier", [True, False])
def test_barriers_of_warps(with_barrier):
    arguments = [np.arange(64, dtype=np.float32), np.zeros(64, np.float32)]
    assert check_program(warp_steps(with_barrier), arguments).ok is with_barrier


@pytest.mark.parametrize("place", ["fill", "load", "store", "multiply"])
def test_fragments_that_do_not_exist(place: str) -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        scopes = ("matrix_a", "matrix_b", "accumulator")
        a, b, c = (
            ib.allocate(dtype, (256,), scope, scope=f"wmma.{scope}").asobject().data
            for dtype, scope in zip(("float16", "float16", "float32"), scopes, strict=True)
        )
        fill, load, store, multiply = (
            I[0] if place == one else 0 for one in ("fill", "load", "store", "multiply")
        )
        source = WORDS("handle", "tir.tvm_access_ptr", WORDS("float16", "tir.type_annotation"),
                       A.asobject().data, 0, 256, 1)  # fmt: skip
        ib.emit(WORDS("handle", "tir.tvm_fill_fragment", c, 16, 16, 16, fill, 1.0))
        for number, one in ((load, a), (0, b)):
            there = (one, 16, 16, 16, number, source, 16, "row_major")
            ib.emit(WORDS("handle", "tir.tvm_load_matrix_sync", *there))
        ib.emit(WORDS("handle", "tir.tvm_mma_sync", c, 0, a, multiply, b, 0, c, 0))
        there = (c, 16, 16, 16, store, address(B[0]), 16, "row_major")
        ib.emit(WORDS("handle", "tir.tvm_store_matrix_sync", *there))

    module = written(body, ("float16", "int32", "float32"))
    for index, kinds in (
        (0, set()),
        (7, {ViolationKind.OUT_OF_BOUNDS}),
        (-1, {ViolationKind.OUT_OF_BOUNDS}),
    ):
        arrays = np.ones(256, "float16"), np.full(256, index, "int32"), np.zeros(256, "float32")
        report = module.check(*arrays)
        assert {one.kind for one in report.findings} - {ViolationKind.UNINITIALIZED_READ} == kinds


def test_negative_lanes_of_shuffles() -> None:
    def body(ib: Any, A: Any, I: Any, B: Any, tx: Any) -> None:  # noqa: E741
        every = tir.const(2**32 - 1, "uint32")
        for how in ("up", "down"):
            B[tx] = WORDS("float32", f"tir.tvm_warp_shuffle_{how}", every, A[tx], I[tx], 32, 32)

    values = np.arange(256, dtype="float32")
    for index in (-5, -(2**31), 2**31 - 1):
        result = np.zeros(256, "float32")
        assert written(body).check(values, np.full(256, index, "int32"), result).ok
        np.testing.assert_array_equal(result[:32], values[:32])


@pytest.mark.parametrize("width", [1, 4, 16, 32])
@pytest.mark.parametrize("how", ["", "_up", "_down"])
def test_shuffles_stay_in_their_group(how: str, width: int) -> None:
    """CUDA's __shfl_sync and its variants; a lane outside of the group gives the thread's own."""
    lanes = np.random.default_rng(0).integers(0, width, 64)

    def build(ib: Any, I: Any, C: Any, tx: Any) -> None:  # noqa: E741
        every = tir.const(2**32 - 1, "uint32")
        C[tx] = WORDS("int32", f"tir.tvm_warp_shuffle{how}", every, tx * 10, I[tx], width, 32)

    result = np.zeros(64, np.int32)
    module = k.program(build, [k.array("I", 64, "int32"), k.array("C", 64, "int32")], tx=64)
    assert check_program(module, [lanes.astype(np.int32), result]).ok
    for thread, lane in enumerate(lanes.tolist()):
        start = thread // width * width
        source = {"": start + lane, "_up": thread - lane, "_down": thread + lane}[how]
        is_inside = start <= source < start + width
        assert result[thread] == 10 * (source if is_inside else thread)


def test_active_lanes() -> None:
    def build(ib: Any, C: Any, tx: Any) -> None:
        C[tx] = tir.const(0, "uint32")
        with ib.if_scope(tx % 3 < 1):
            C[tx] = WORDS("uint32", "tir.tvm_warp_activemask")

    result = np.zeros(40, np.uint32)
    assert check_program(k.program(build, [k.array("C", 40, "uint32")], tx=40), [result]).ok
    active = [thread for thread in range(40) if thread % 3 == 0]
    masks = [sum(1 << x % 32 for x in active if x // 32 == warp) for warp in (0, 1)]
    assert result.tolist() == [masks[x // 32] if x in active else 0 for x in range(40)]
