"""No race is missed because other threads have read the same element later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched.codegen.checker import ViolationKind, check_program
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.kernel import BARRIER
from tests.codegen.checker import kernels as k


def wait_for_warp(ib: Any) -> None:
    ib.emit(E.Call("int32", BARRIER, (E.StringImm("warp"),)))


def kinds(build: Callable[..., None], **extents: int) -> set[ViolationKind]:
    program = k.program(build, [k.array("A", 128), k.array("C", 128)], **extents)
    arguments = [np.ones(128, "float32"), np.zeros(128, "float32")]
    report = check_program(program, arguments, initialized=["A", "C"])
    return {one.kind for one in report.findings}


@pytest.mark.parametrize("earlier", [40, 1])
def test_reader_of_another_warp(earlier: int) -> None:
    """Thread `earlier` reads, then two of the writer's warp, which waits, then thread 0 writes."""

    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        s = ib.allocate("float32", 64, name="s", scope="shared")
        s[tx] = A[tx]
        k.wait(ib)
        for reader in (earlier, 1, 2):
            with ib.if_scope(ops.equal(tx, reader)):
                C[tx] = s[0]
        wait_for_warp(ib)
        with ib.if_scope(ops.equal(tx, 0)):
            s[0] = E.FloatImm(2.0)

    assert kinds(build, tx=64) == ({ViolationKind.READ_WRITE_RACE} if earlier == 40 else set())


@pytest.mark.parametrize("writer", [0, 33, 63])
def test_all_threads_read_at_once(writer: int) -> None:
    def build(ib: Any, A: Any, C: Any, tx: E.Var) -> None:
        s = ib.allocate("float32", 64, name="s", scope="shared")
        s[tx] = A[tx]
        k.wait(ib)
        with ib.if_scope(tx >= 0):
            C[tx] = s[ops.floordiv(tx, 64)]
        wait_for_warp(ib)
        with ib.if_scope(ops.equal(tx, writer)):
            s[0] = E.FloatImm(2.0)

    assert kinds(build, tx=64) == {ViolationKind.READ_WRITE_RACE}


@pytest.mark.parametrize("block", [0, 1])
def test_reader_of_another_block(block: int) -> None:
    """A thread of `block` reads, then two of block 1, which waits; then block 1 writes."""

    def build(ib: Any, A: Any, C: Any, bx: E.Var, tx: E.Var) -> None:
        for at, reader in ((block, 5), (1, 1), (1, 2)):
            with ib.if_scope(ops.logical_and(ops.equal(bx, at), ops.equal(tx, reader))):
                C[64 + bx * 32 + tx] = A[0]
        k.wait(ib)
        with ib.if_scope(ops.logical_and(ops.equal(bx, 1), ops.equal(tx, 0))):
            A[0] = E.FloatImm(2.0)

    assert kinds(build, bx=2, tx=32) == ({ViolationKind.READ_WRITE_RACE} if block == 0 else set())


@pytest.mark.parametrize("block", [0, 1])
def test_atomic_of_another_block(block: int) -> None:
    def build(ib: Any, A: Any, C: Any, bx: E.Var, tx: E.Var) -> None:
        place = E.Call("handle", "tir.address_of", (A[0],))
        for at, one in ((block, 5), (1, 1), (1, 2)):
            with ib.if_scope(ops.logical_and(ops.equal(bx, at), ops.equal(tx, one))):
                ib.emit(E.Call("float32", "tir.atomic_add", (place, E.FloatImm(1.0))))
        k.wait(ib)
        with ib.if_scope(ops.logical_and(ops.equal(bx, 1), ops.equal(tx, 0))):
            C[0] = A[0]

    assert kinds(build, bx=2, tx=32) == ({ViolationKind.READ_WRITE_RACE} if block == 0 else set())
