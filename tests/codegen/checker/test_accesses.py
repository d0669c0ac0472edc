"""Loads, stores and atomic operations, checked."""

import numpy as np
import pytest

from te_sched.codegen.checker import ViolationKind, check_program
from te_sched.ir import expr as E
from tests.codegen.checker import kernels as k


def histogram(is_atomic):
    def build(ib, A, H, bx, tx):
        if is_atomic:
            place = E.Call("handle", "tir.address_of", (H[A[bx * 64 + tx]],))
            ib.emit(E.Call("int32", "tir.atomic_add", (place, E.IntImm(1))))
        else:
            H[A[bx * 64 + tx]] = H[A[bx * 64 + tx]] + 1

    return k.program(build, [k.array("A", 128, "int32"), k.array("H", 4, "int32")], bx=2, tx=64)


def test_atomics_do_not_race():
    data, bins = np.arange(128, dtype=np.int32) % 4, np.zeros(4, np.int32)
    assert check_program(histogram(True), [data, bins], initialized=["H"]).ok
    np.testing.assert_array_equal(bins, [32] * 4)


def test_updates_that_are_not_atomic_race():
    data, bins = np.arange(128, dtype=np.int32) % 4, np.zeros(4, np.int32)
    report = check_program(histogram(False), [data, bins], initialized=["H"])
    assert {one.kind for one in report.findings} >= {ViolationKind.READ_WRITE_RACE}
    assert {one.buffer for one in report.findings} == {"H"}


def test_outputs_are_not_initialized():
    data, bins = np.arange(128, dtype=np.int32) % 4, np.zeros(4, np.int32)
    report = check_program(histogram(True), [data, bins])
    assert [one.kind for one in report.findings] == [ViolationKind.UNINITIALIZED_READ]


@pytest.mark.parametrize("is_read", [False, True])
def test_atomics_give_what_was_there_before(is_read):
    """Threads one after the other; a load of another thread races with them."""

    def build(ib, C, N, tx):
        place = E.Call("handle", "tir.address_of", (N[0],))
        C[tx] = E.Call("int32", "tir.atomic_max", (place, tx * 2))
        if is_read:
            C[tx] = N[0]

    before, count = np.zeros(32, np.int32), np.array([9], np.int32)
    module = k.program(build, [k.array("C", 32, "int32"), k.array("N", 1, "int32")], tx=32)
    report = check_program(module, [before, count], initialized=["N"])
    assert count == [62]
    if is_read:
        assert {one.kind for one in report.findings} == {ViolationKind.READ_WRITE_RACE}
    else:
        assert report.ok
        np.testing.assert_array_equal(before, np.maximum(9, 2 * np.arange(-1, 31)))


def test_accesses_outside_are_not_done_and_counted_once():
    """Loads give 0 there; the other threads go on."""

    def build(ib, A, C, tx):
        C[tx + 4] = A[tx - 4] + E.FloatImm(1.0)

    data, result = np.arange(1, 33, dtype=np.float32), np.zeros(32, np.float32)
    module = k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32)
    report = check_program(module, [data, result])
    found = [(one.buffer, one.index, one.count) for one in report.findings]
    assert sorted(found) == [("A", -4, 4), ("C", 32, 4)]
    np.testing.assert_array_equal(result[8:], data[:24] + 1)
    np.testing.assert_array_equal(result[:4], np.zeros(4))


def test_atomic_sums_of_bfloat16_are_rounded_each_time():
    """1 + 3/256 lies between two numbers of 8 bits, and is rounded up; then nothing is lost."""

    def build(ib, A, C, tx):
        place = E.Call("handle", "tir.address_of", (C[0],))
        ib.emit(E.Call("bfloat16", "tir.atomic_add", (place, A[tx])))

    def bits(*values):
        return (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)

    module = k.program(
        build, [k.array(name, n, "bfloat16") for name, n in (("A", 2), ("C", 1))], tx=2
    )
    total = bits(1.0)
    assert check_program(module, [bits(3 / 256, 1 / 64), total], initialized=["C"]).ok
    assert total == bits(1.0 + 1 / 64 + 1 / 64)
