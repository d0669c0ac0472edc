"""Races are found, whatever other threads have done with the element in between."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched.codegen.checker import ViolationKind, check_program
from te_sched.codegen.checker.machine import Site
from te_sched.codegen.checker.memory import Index, TrackedMemory
from te_sched.codegen.checker.shadow import AccessHistory
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


def test_redundant_writes_of_one_value_are_no_race():
    def build(ib, C, bx, tx):
        C[bx] = E.FloatImm(3.0)

    module = k.program(build, [k.array("C", 4)], bx=4, tx=32)
    assert check_program(module, [np.zeros(4, np.float32)]).ok


def test_values_kept_for_one_access_are_seen_by_others():
    def build(ib, C, D, tx):
        C[tx] = E.FloatImm(1.0)
        with ib.for_range(0, 3) as i:
            D[i * 32 + tx] = C[31 - tx]
            C[tx] = C[tx] + C[tx]
            C[tx] = C[tx] + E.FloatImm(1.0)

    arguments = [np.zeros(32, np.float32), np.zeros(96, np.float32)]
    module = k.program(build, [k.array("C", 32), k.array("D", 96)], tx=32)
    assert not check_program(module, arguments).ok
    np.testing.assert_array_equal(arguments[1], np.repeat([1.0, 3.0, 7.0], 32))
    np.testing.assert_array_equal(arguments[0], [15.0] * 32)


def test_a_change_after_a_known_sequence_is_found():
    def build(ib, A, C, tx):
        s = ib.allocate("float32", (32,), "s_shared", scope="shared")
        with ib.for_range(0, 4, name="k") as i:
            s[tx] = A[tx]
            k.wait(ib)
            C[tx] = s[31 - tx]
            with ib.if_scope(i >= 2):
                s[tx] = A[tx] * E.FloatImm(2.0)
            k.wait(ib)

    module = k.program(build, [k.array("A", 32), k.array("C", 32)], tx=32)
    report = check_program(module, [np.ones(32, np.float32), np.zeros(32, np.float32)])
    (found,) = report.findings
    assert (found.kind, found.loops) == (ViolationKind.READ_WRITE_RACE, {"k": 2})


def random_accesses(generator: np.random.Generator, scope: str) -> tuple[set[str], set[str]]:
    """The kinds of races that are found in random accesses, and those that there are."""
    machine = k.state((4, 1, 1), 2)
    inner = machine.space.shape[3:] if scope == "shared" else ()
    memory = TrackedMemory("m", "float32", scope, 8, inner)
    memory.shadow = AccessHistory(machine, memory)
    threads, shape = np.arange(4).reshape(1, 1, 4, 1), machine.space.shape
    own = threads + (np.arange(2) * 4 if scope == "global" else 0)
    values = (own, own, own[:, :, ::-1], threads, np.full((1, 1, 1, 1), 2), own // 2)
    places = [Index(one) for one in values]
    masks: list[Any] = [None, None, threads == 2, threads < 2, np.arange(2).reshape(1, 1, 1, 2) < 1]
    done: list[tuple[str, int, tuple[int, int], int]] = []  # what, element, block and thread, epoch
    races: set[str] = set()
    for step in range(int(generator.integers(3, 9))):
        if generator.random() < 0.3:
            machine.epoch = machine.epoch + 1
            memory.shadow.pass_barrier(True)
            continue
        place, mask = (pool[generator.integers(len(pool))] for pool in (places, masks))
        does = generator.choice(["read", "write", "update"])
        machine.sites.append(Site(step, "m", f"m[{step}]", does))
        if does != "write":
            getattr(memory.shadow, does)(place, mask, machine.sites[-1])
        else:  # values that nothing else writes
            written = np.arange(8, dtype=np.float32).reshape(shape) + 8 * step
            memory.shadow.write(place, mask, written, "float32", machine.sites[-1])
        for _, _, thread, block in np.argwhere(np.broadcast_to(mask is None or mask, shape)):
            element = int(np.broadcast_to(place.values, shape)[0, 0, thread, block])
            element += 8 * int(block) * (scope == "shared")
            done.append((does, element, (block, thread), int(machine.epoch[0])))
    for (first, x, one, before), (second, y, other, after) in itertools.combinations(done, 2):
        is_ordered = one[0] == other[0] and before != after
        if x == y and one != other and not is_ordered and (first != second or first == "write"):
            is_written_twice = second == "write" and first != "read"
            races.add(f"{'write' if is_written_twice else 'read'}-write race")
    return {str(one.kind) for one in machine.report.findings}, races


@pytest.mark.parametrize("scope", ["shared", "global"])
def test_races_are_found_as_by_comparing_all_pairs(scope: str) -> None:
    generator = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        kinds, expected = random_accesses(generator, scope)
        if "write-write race" in kinds:  # of the writers only the last one is kept
            kinds |= expected - {"write-write race"}
        assert kinds == expected
        seen.add(frozenset(expected))
    assert len(seen) == 4
