"""mma.sync and ldmatrix on the emulated device: lanes exchange registers through arrays.

All threads write their registers of A and B into arrays, which hold the whole matrices of their
warp; then each thread computes its own elements of C:

    ptx_mma("m16n8k8", ..., a, 0, b, 0, c, 0)
                         ->
    for tx: A[warp][row of lane tx, register i][column] = a[i]; B[...] = b[i]
    for tx: c[i] = c[i] + A[warp][row, 0] * B[warp][0, column] + A[warp][row, 1] * ...

Must not know threads, only the number of the thread and an array between threads.
"""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.calls import of_type, target_of
from te_sched.codegen.cuda.matrix_registers import (
    LOAD,
    PRODUCT,
    Registers,
    element,
    load_of,
    product_of,
)
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.device_limits import WARP
from te_sched.lowering.statements import sequence

NewExchange = Callable[[str, int], E.Buffer]
_INT32 = (-(1 << 31), (1 << 31) - 1)


def is_of_registers(node: object) -> bool:
    """Whether a node is a call by which lanes give each other registers."""
    return isinstance(node, E.Call) and node.op in (PRODUCT, LOAD)


def exchange_registers(
    call: E.Call, thread: E.Expr, new_exchange: NewExchange
) -> tuple[S.Stmt, S.Stmt]:
    """The exchange of registers by all threads, then the computation of each thread.

    `new_exchange(dtype, n)` gives an array with n elements for each thread.
    """
    if call.op == PRODUCT:
        return _multiply(call, thread, new_exchange)
    return _load(call, thread, new_exchange)


def _lane(thread: E.Expr) -> tuple[E.Expr, E.Expr]:
    """lane // 4 and lane % 4"""
    return ops.floordiv(ops.floormod(thread, WARP), 4), ops.floormod(thread, 4)


def _multiply(call: E.Call, thread: E.Expr, new_exchange: NewExchange) -> tuple[S.Stmt, S.Stmt]:
    product = product_of(call)
    wide, warp = product.wide, ops.floordiv(thread, WARP)
    group, part = _lane(thread)

    def matrix(operand: Registers) -> Callable[[E.Expr, E.Expr], E.BufferLoad]:
        memory = new_exchange(wide, operand.count)
        start = ops.mul(warp, operand.rows * operand.columns)

        def at(row: E.Expr, column: E.Expr) -> E.BufferLoad:
            offset = ops.add(ops.mul(row, operand.columns), column)
            return E.BufferLoad(memory, (ops.add(start, offset),))

        return at

    sends: list[S.Stmt] = []
    matrices = []
    for operand in (product.a, product.b):
        at = matrix(operand)
        matrices.append(at)
        for number in range(operand.count):
            sent = at(*operand.place(number, group, part))
            value = of_type(operand.element(number), wide)
            sends.append(S.BufferStore(sent.buffer, value, sent.indices))
    left, right = matrices
    receives: list[S.Stmt] = []
    for number in range(product.c.count):
        row, column = product.c.place(number, group, part)
        own = product.c.element(number)
        total = of_type(own, wide)
        for k in range(product.a.columns):
            total = ops.add(total, ops.mul(left(row, E.IntImm(k)), right(E.IntImm(k), column)))
        if product.saturates and wide == "int64":
            low, high = (E.IntImm(bound, wide) for bound in _INT32)
            total = ops.maximum(ops.minimum(total, high), low)
        receives.append(S.BufferStore(own.buffer, of_type(total, own.dtype), own.indices))
    return sequence(sends), sequence(receives)


def _load(call: E.Call, thread: E.Expr, new_exchange: NewExchange) -> tuple[S.Stmt, S.Stmt]:
    load = load_of(call)
    source, start = _memory(load.source)
    addresses = new_exchange("int32", 1)
    sends = S.BufferStore(addresses, ops.add(start, load.offset), (thread,))
    group, part = _lane(thread)
    first = ops.mul(ops.floordiv(thread, WARP), WARP)
    receives: list[S.Stmt] = []
    for number in range(load.count):
        for inner in range(load.packed):
            row, column = load.place(inner, group, part)
            lane = ops.add(ops.add(first, row), 8 * number)
            index = ops.add(E.BufferLoad(addresses, (lane,)), column)
            value = element(source, index, 0, load.dtype)
            own = element(load.data, load.start, number * load.packed + inner, load.dtype)
            receives.append(S.BufferStore(own.buffer, value, own.indices))
    return sends, sequence(receives)


def _memory(pointer: E.Expr) -> tuple[E.Var, E.Expr]:
    """What a pointer points to, and the number of the element."""
    if isinstance(pointer, E.Var):
        return pointer, E.IntImm(0)
    load = target_of(pointer)
    if load is not None and len(load.indices) == 1:
        return load.buffer.data, load.indices[0]
    raise BuildError(
        f"ptx_ldmatrix loads from unknown memory: {pointer}",
        "it is emulated without a GPU",
        "pass the memory's pointer, address_of or access_ptr",
    )
