"""Which allocations share memory, where it is made, and when it is of vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.config import TO_RUN
from te_sched.ir import ops
from te_sched.ir.expr import Broadcast, Buffer, Expr, IntImm, Ramp
from te_sched.ir.stmt import Allocate, BufferStore, For, IfThenElse, PrimFunc, Stmt
from te_sched.ir.visitor import walk
from te_sched.lowering.rewrite_storage import rewrite_storage
from te_sched.script import tir as T
from tests.lowering.build import (
    allocate,
    block,
    expected,
    function,
    loop,
    read,
    store,
    temporary,
    text,
    thread,
    var,
)

A = temporary("A", 64)
i, j, x, lane, n = var("i"), var("j"), var("x"), var("lane"), var("n")


def fill(target: Buffer, source: Buffer, shift: int = 0) -> Stmt:
    return loop(j, 64, store(target, read(source, j + shift) * 2.0, j))


def chain(first: Buffer, second: Buffer, shift: int = 0) -> PrimFunc:
    """A -> first -> second -> A"""
    inner = allocate(second, fill(second, first, shift), fill(A, second))
    return function(allocate(first, fill(first, A), inner), A)


def allocations(func: PrimFunc) -> list[Allocate]:
    return [node for node in walk(func.body) if isinstance(node, Allocate)]


def test_elementwise_result_takes_the_memory_of_its_source() -> None:
    func = rewrite_storage(chain(temporary("B", 64), temporary("C", 64)))
    assert [node.buffer_var.name for node in allocations(func)] == ["B"]
    assert "C" not in text(func)


def test_other_element_forbids_in_place() -> None:
    func = rewrite_storage(chain(temporary("B", 64), temporary("C", 64), shift=1))
    assert len(allocations(func)) == 2


def shared(n_allocations: int, make: Callable[[Buffer, Buffer], Stmt]) -> bool:
    """Whether a statement that computes C from B leaves so many allocations."""
    B, C = temporary("B", 64), temporary("C", 64)
    inner = allocate(C, make(C, B), fill(A, C))
    func = rewrite_storage(function(allocate(B, fill(B, A), inner), A))
    return len(allocations(func)) == n_allocations


def test_elements_that_are_computed_again_forbid_in_place() -> None:
    """The second time, the source is overwritten."""

    def again(extent: int | Expr) -> Callable[[Buffer, Buffer], Stmt]:
        return lambda C, B: loop(i, extent, loop(j, 64, store(C, read(B, j) + 1.0, j)))

    def overlapping(step: int, limit: int) -> Callable[[Buffer, Buffer], Stmt]:
        at = i * step + j

        def make(C: Buffer, B: Buffer) -> Stmt:
            guarded = IfThenElse(ops.less(j, limit), store(C, read(B, at) + 1.0, at), None)
            return loop(i, 8, loop(j, 8, guarded))

        return make

    assert shared(1, again(1))
    assert shared(2, again(2))
    assert shared(2, again(n))
    assert shared(1, overlapping(8, 8))
    assert shared(2, overlapping(7, 8))
    assert shared(1, overlapping(7, 7))  # the condition keeps them apart


def test_elements_that_are_copied_again_do_not_change() -> None:
    def copied(C: Buffer, B: Buffer) -> Stmt:
        return loop(i, 2, loop(j, 64, store(C, read(B, j), j)))

    def changed_before(C: Buffer, B: Buffer) -> Stmt:
        return loop(j, 64, store(C, read(B, j) + 1.0, j), store(C, read(B, j), j))

    assert shared(1, copied)
    assert shared(2, changed_before)


def test_parts_of_symbolic_rows_are_computed_once() -> None:
    """Rows of n - 1 elements, in 7 parts of 4s with a rest."""
    part = (n + 5) // 7
    column = x * part + j * 4 + lane
    conditions = ops.logical_and(ops.less(column + 1, n), ops.less(j * 4 + lane, part))

    def rows(row: Expr) -> Callable[[Buffer, Buffer], Stmt]:
        def make(C: Buffer, B: Buffer) -> Stmt:
            at = i * row + column
            body: Stmt = IfThenElse(conditions, store(C, read(B, at) + 1.0, at), None)
            for axis, extent in ((lane, 4), (j, (n + 26) // 28), (x, 7), (i, 13)):
                body = loop(axis, extent, body)
            return body

        return make

    assert shared(1, rows(n - 1))
    assert shared(2, rows(n - 2))


def test_two_stores_of_an_element_forbid_in_place() -> None:
    def two(first: Expr, second: Expr) -> Callable[[Buffer, Buffer], Stmt]:
        return lambda C, B: loop(
            i,
            32,
            block(*[store(C, read(B, at) * 2.0, at) for at in (first, second)]),
        )

    assert shared(1, two(i * 2, i * 2 + 1))
    assert shared(2, two(i * 2, i * 2))
    assert shared(2, two(i, 31 - i))


def test_repeated_instances_of_a_block_are_right() -> None:
    @T.prim_func
    def main(A: T.Buffer((10,), "float32"), Z: T.Buffer((10,), "float32")) -> None:
        Y = T.alloc_buffer((10,))
        D = T.alloc_buffer((10,))
        for i in range(10):
            with T.block("Y"):
                vi = T.axis.spatial(10, i)
                Y[vi] = A[vi] * T.float32(2)
        for i_0, i_1, i_2 in T.grid(8, 4, 2):
            with T.block("D"):
                vi = T.axis.spatial(10, i_0 * 2 + i_2)
                T.where((i_0 + i_1) * 2 + i_2 < 10)
                D[vi] = Y[vi] + T.float32(1)
        for i in range(10):
            with T.block("Z"):
                vi = T.axis.spatial(10, i)
                Z[vi] = D[vi] * T.float32(3)

    a, z = te_sched.nd.array(np.arange(10, dtype="float32")), te_sched.nd.empty((10,), "float32")
    te_sched.build(main, target="llvm")(a, z)
    np.testing.assert_array_equal(z.numpy(), (np.arange(10) * 2 + 1) * 3)


def test_other_type_or_scope_forbids_in_place() -> None:
    for other in (temporary("C", 64, dtype="int32"), temporary("C", 64, scope="shared")):
        assert len(allocations(rewrite_storage(chain(temporary("B", 64), other)))) == 2


def test_freed_memory_serves_again_and_is_as_large_as_the_largest() -> None:
    B, C = temporary("B", 64), temporary("C", 100)
    body = block(*[allocate(b, fill(b, A), fill(A, b)) for b in (B, C)])
    found = allocations(rewrite_storage(function(body, A)))
    assert [int(node.extents[0]) for node in found] == [100]  # type: ignore[call-overload]


def test_registers_do_not_share() -> None:
    local = [temporary(name, 64, scope="local") for name in "BC"]
    single = [temporary(name, 1) for name in "BC"]
    for B, C in (local, single):
        body = block(*[allocate(b, fill(b, A), fill(A, b)) for b in (B, C)])
        assert len(allocations(rewrite_storage(function(body, A)))) == 2


def test_memory_moves_out_of_loops_but_not_of_parallel_ones() -> None:
    B = temporary("B", 64)
    nest = loop(i, 4, loop(x, 4, allocate(B, fill(B, A), fill(A, B))), kind="parallel")
    assert text(rewrite_storage(function(nest, A))).startswith(
        expected("""
        for i in T.parallel(4):
            B = T.allocate([64], "float32", "global")
            for x in range(4):
        """)
    )


def test_memory_moves_to_the_first_thread() -> None:
    B = temporary("B", 64)
    inner = thread("threadIdx.x", 4, x, allocate(B, fill(B, A), fill(A, B)))
    func = rewrite_storage(function(thread("blockIdx.x", 4, i, inner), A))
    assert isinstance(func.body.body, Allocate)  # type: ignore[attr-defined]


def test_program_that_is_right_already_comes_back() -> None:
    B = temporary("B", 64)
    func = function(allocate(B, fill(B, A), fill(A, B)), A)
    assert rewrite_storage(func, TO_RUN) is func


def vector_program(base: int, extent: int = 64) -> PrimFunc:
    B = temporary("B", extent)
    index = Ramp(ops.add(ops.mul(i, 4), base), IntImm(1), 4)
    write = BufferStore(B, Broadcast(ops.const(1.0), 4), (index,))
    back = BufferStore(A, read(B, index), (index,))
    return function(allocate(B, loop(i, 16, block(write, back))), A)


def test_memory_that_is_touched_in_whole_vectors_is_of_vectors() -> None:
    found = allocations(rewrite_storage(vector_program(0)))[0]
    assert (found.dtype, int(found.extents[0])) == ("float32x4", 16)  # type: ignore[call-overload]


def test_unaligned_vectors_leave_memory_as_it_is() -> None:
    for func in (vector_program(2), vector_program(0, extent=66)):
        assert allocations(rewrite_storage(func))[0].dtype == "float32"


def test_memory_whose_size_depends_on_a_loop_stays_in_it() -> None:
    B, C = temporary("B", ops.add(i, 1)), temporary("C", 64)  # type: ignore[arg-type]
    inner = allocate(B, allocate(C, fill(C, A), fill(B, C), fill(A, B)))
    func = rewrite_storage(function(loop(i, 64, inner), A), TO_RUN)
    assert [type(one) for one in (func.body, func.body.body, func.body.body.body)] == [  # type: ignore[attr-defined]
        Allocate,
        For,
        Allocate,
    ]
    assert [one.buffer_var for one in allocations(func)] == [C.data, B.data]


def test_memory_of_threads_may_have_a_size_of_each() -> None:
    B = temporary("B", ops.add(i, 1))  # type: ignore[arg-type]
    inner = allocate(B, fill(B, A), fill(A, B))
    func = function(loop(i, 64, inner, kind="parallel"), A)
    assert rewrite_storage(func) is func


@pytest.mark.parametrize("extent", [0, 1, 5, 100])
def test_tiles_of_a_symbolic_number_of_parts(extent: int) -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    copy = s.cache_read(A, "local", [B])
    outer, inner = s[B].split(B.op.axis[0], nparts=16)
    first, *_ = s[B].tile(outer, inner, 2, 2)
    s[copy].compute_at(s[B], first)  # as many elements as that loop's variable says
    a, b = np.ones(extent, "float32"), np.zeros(extent, "float32")
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, 2)


def tagged(scope: str) -> PrimFunc:
    @T.prim_func
    def parts(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.allocate([3], "int8", scope)
        D = T.allocate([8], "float32", scope)
        B_1 = T.Buffer((3,), "int8", data=B, scope=scope)
        D_1 = T.Buffer((8,), data=D, scope=scope)
        for k in range(3):
            B_1[k] = T.Cast("int8", k)
        for k in range(8):
            D_1[k] = A[k] * T.float32(2)
        for k in range(8):
            C[k] = D_1[k] + D_1[7 - k] + T.Cast("float32", B_1[k % 3])

    return parts


@pytest.mark.parametrize("scope", ["local.L0A", "global:tag", "local_TB"])
def test_memory_of_a_tagged_scope_is_one_allocation(scope: str) -> None:
    func = rewrite_storage(tagged(scope))
    (memory,) = allocations(func)
    assert (memory.dtype, memory.extents[0].value) == ("int8", 36)
    assert "[k + 1] = A[k] * T.float32(2)" in str(func)
    a = np.arange(8, dtype="float32")
    c = np.zeros_like(a)
    te_sched.build(func)(a, c)
    np.testing.assert_array_equal(c, 2 * (a + a[::-1]) + np.arange(8) % 3)


@pytest.mark.parametrize("scope", ["global.workspace", "shared.dyn", "local", "wmma.matrix_a"])
def test_memory_of_other_scopes_is_not_joined(scope: str) -> None:
    assert len(allocations(rewrite_storage(tagged(scope)))) == 2


def test_tagged_memory_behind_a_pointer_stays() -> None:
    @T.prim_func
    def opaque(A: T.Buffer((8,), "float32")):
        B = T.allocate([8], "float32", "local.q")
        C = T.allocate([8], "float32", "local.q")
        B_1 = T.Buffer((8,), data=B, scope="local.q")
        C_1 = T.Buffer((8,), data=C, scope="local.q")
        B_1[0] = T.float32(1)
        C_1[0] = T.float32(2)
        T.call_extern("int32", "f", C)
        A[0] = B_1[0] + C_1[0]

    assert len(allocations(rewrite_storage(opaque))) == 2


def test_unused_memory_goes_with_its_declaration() -> None:
    @T.prim_func
    def idle(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.decl_buffer((8,))
        unused = T.decl_buffer((8,))  # noqa: F841
        for k in range(8):
            B[k] = A[k]
        for k in range(8):
            C[k] = B[k]

    found = str(rewrite_storage(idle))
    assert "B = T.decl_buffer((8,))" in found
    assert "unused" not in found


def test_shared_memory_of_vulkan_has_one_type() -> None:
    @T.prim_func
    def two(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float16")):
        B = T.allocate([64], "float32", "shared")
        D = T.allocate([64], "float16", "shared")
        B_1 = T.Buffer((64,), data=B, scope="shared")
        D_1 = T.Buffer((64,), "float16", data=D, scope="shared")
        for k in range(64):
            B_1[k] = A[k]
        for k in range(64):
            A[k] = B_1[k]
        for k in range(64):
            D_1[k] = T.Cast("float16", A[k])
        for k in range(64):
            C[k] = D_1[k]

    assert len(allocations(rewrite_storage(two))) == 1
    typed = two.with_attr("target", te_sched.target.Target("vulkan"))
    assert len(allocations(rewrite_storage(typed))) == 2


def test_pointers_that_are_used_in_whole_vectors_are_of_vectors() -> None:
    @T.prim_func
    def rows(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 6), "float32")):
        for k in range(4):
            row: T.handle("float32") = T.address_of(A[k, 0])
            other: T.handle("float32") = T.address_of(B[k, 0])
            R = T.Buffer((8,), data=row)
            S = T.Buffer((6,), data=other)
            R[0:4] = T.Broadcast(T.float32(1), 4)
            R[4:8] = R[0:4] + T.Broadcast(T.float32(1), 4)
            S[0:4] = T.Broadcast(T.float32(3), 4)

    found = str(rewrite_storage(rows))
    assert 'T.handle("float32x4", "global") = T.address_of(A[k, 0])' in found
    assert 'T.handle("float32", "global") = T.address_of(B[k, 0])' in found
    a, b = np.zeros((4, 8), "float32"), np.zeros((4, 6), "float32")
    te_sched.build(rows)(a, b)
    assert a.tolist() == [[1] * 4 + [2] * 4] * 4
    assert b.tolist() == [[3] * 4 + [0] * 2] * 4
