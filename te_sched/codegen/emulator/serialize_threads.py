"""Serializes the threads of a kernel: loops over threads, split at synchronization points.

The code between two barriers is executed for all threads of a block, one after the other, before
any thread continues. A barrier in a loop thus interchanges the loop and the threads, and values
that live across a barrier are stored per thread:

    attr(bx, "thread_extent", 4)                  for bx in parallel(4):
        attr(tx, "thread_extent", 16)                 A_shared = allocate([16])
            A_shared = allocate([16])                 C_local = allocate([1 * 16])
            C_local = allocate([1])                   for k in range(8):
            for k in range(8):             ->             for tx in range(16):
                A_shared[tx] = A[k, tx]                       A_shared[tx] = A[k, tx]
                tvm_storage_sync("shared")                for tx in range(16):
                C_local[0] += A_shared[15 - tx]               C_local[tx] += A_shared[15 - tx]

A shuffle is a cut as well: all threads store their values, then all load the values that they need
(so are products of matrices in registers, `matrix_registers`).
So is what warps do with fragments of matrices (`fragments`), which is done once for each warp.
Must not know how the result is compiled.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from te_sched.codegen.calls import array_of
from te_sched.codegen.emulator.fragments import (
    Fragments,
    is_fragment,
    is_of_warp,
    uses_fragments,
)
from te_sched.codegen.emulator.matrix_registers import exchange_registers, is_of_registers
from te_sched.errors import BuildError, kind_of
from te_sched.ir import dtypes, ops
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.device_limits import SHUFFLE_WIDTHS, WARP
from te_sched.ir.kernel import BARRIER, LaunchAxis, thread_axes, thread_number
from te_sched.ir.message_text import spelled
from te_sched.ir.ops import TRUE
from te_sched.ir.storage_scopes import storage_scope
from te_sched.ir.visitor import AccessMapper, Mapper, replace, substitute, walk
from te_sched.lowering.statements import fresh_copy, sequence

_SHUFFLES = frozenset(
    ("tir.tvm_warp_shuffle", "tir.tvm_warp_shuffle_up", "tir.tvm_warp_shuffle_down")
)


def _is_private(data: E.Var) -> bool:
    return storage_scope(data.scope).owner == "thread"


def serialize_threads(kernel: S.PrimFunc) -> S.PrimFunc:
    """A function with the parameters of the kernel that does for all blocks what it does."""
    axes, body = thread_axes(kernel)
    serializer = _Serializer(kernel, [axis for axis in axes if not axis.is_block])
    body = serializer.block(body)
    for data, dtype, size in serializer.exchanges:
        body = S.Allocate(data, dtype, (size,), TRUE, body)
    blocks = [axis for axis in axes if axis.is_block]
    return kernel.with_body(_over_blocks(blocks, body))


def _over_blocks(blocks: Sequence[LaunchAxis], body: S.Stmt) -> S.Stmt:
    """The blocks in parallel, threadIdx.x fastest."""
    if not blocks:
        return body
    if len(blocks) == 1:
        return S.For(blocks[0].var, E.IntImm(0), blocks[0].extent, "parallel", body)
    count: E.Expr = E.IntImm(1, "int64")  # there may be more than int32 counts
    for axis in blocks:
        count = ops.mul(count, ops.cast("int64", axis.extent))
    dtype = "int32" if isinstance(count, E.IntImm) and count.value < 1 << 31 else "int64"
    block = E.Var("block", dtype)
    rest: E.Expr = block
    for position, axis in enumerate(blocks):
        last = position == len(blocks) - 1
        extent = ops.cast(dtype, axis.extent)
        value = rest if last else ops.floormod(rest, extent)
        body = S.LetStmt(axis.var, ops.cast(axis.var.dtype, value), body)
        rest = rest if last else ops.floordiv(rest, extent)
    return S.For(block, E.IntImm(0, dtype), ops.cast(dtype, count), "parallel", body)


class _Serializer(Mapper):
    """Serializes one kernel; `exchanges` are arrays by which lanes tell each other values."""

    def __init__(self, kernel: S.PrimFunc, threads: Sequence[LaunchAxis]) -> None:
        self.name = kernel.attrs.get("global_symbol", "main")
        self.threads = threads
        self.thread, self.count = thread_number(threads)
        self.differing: set[E.Var] = {axis.var for axis in threads}
        self.spread: dict[E.Var, _Spread] = {}  # what a thread keeps across cuts
        self.values: dict[E.Var, E.Expr] = {}  # of lets across cuts
        self.exchanges: list[tuple[E.Var, str, E.Expr]] = []
        warp = ops.floordiv(self.thread, WARP)
        self.fragments = Fragments(self.name, kernel.body, warp)

    def block(self, node: S.Stmt) -> S.Stmt:
        """What all threads of a block do."""
        if not _has_cut(node):
            return self.each_thread(node)
        if is_of_warp(node):
            return self.each_warp(node)
        return self.visit(node)

    def each_thread(self, node: S.Stmt) -> S.Stmt:
        """A statement without cuts, for one thread after the other."""
        body: S.Stmt = _Spreader(self.spread, self.values, self.thread, self.count).visit(node)
        fresh: dict[E.Var, E.Expr] = {}
        loops = []
        for axis in self.threads:
            loop = E.Var(axis.var.name, axis.var.dtype)
            fresh[axis.var] = loop
            loops.append((loop, axis.extent))
        body = fresh_copy(body, fresh)
        for loop, extent in loops:  # threadIdx.x innermost
            body = S.For(loop, E.IntImm(0, loop.dtype), extent, "serial", body)
        return body

    def each_warp(self, node: S.Stmt) -> S.Stmt:
        """Operations on fragments, executed for the first lane of each warp."""
        first = ops.equal(ops.floormod(self.thread, WARP), 0)
        return self.each_thread(S.IfThenElse(first, self.fragments.expand(node)))

    # -- statements with cuts ----------------------------------------------------------------------

    def visit_Stmt(self, node: S.Stmt) -> S.Stmt:
        raise self.error(f"a barrier inside of {kind_of(node)}")

    def visit_AttrStmt(self, node: S.AttrStmt) -> S.Stmt:
        return self.block(node.body)

    def visit_SeqStmt(self, node: S.SeqStmt) -> S.Stmt:
        groups = itertools.groupby(node.seq, lambda part: _has_cut(part) + is_of_warp(part))
        done: list[S.Stmt] = []
        for kind, parts in groups:
            if kind == 1:  # cuts; what threads or warps do between them is done at a time
                done += [self.block(part) for part in parts]
            else:
                done.append(self.block(sequence(parts)))
        return sequence(done)

    def visit_For(self, node: S.For) -> S.Stmt:
        self.check_uniform(node.min, f"loop {node.loop_var.name}")
        self.check_uniform(node.extent, f"loop {node.loop_var.name}")
        low, extent = self.outside(node.min), self.outside(node.extent)
        return replace(node, min=low, extent=extent, kind="serial", body=self.block(node.body))

    def visit_IfThenElse(self, node: S.IfThenElse) -> S.Stmt:
        self.check_uniform(node.condition, f"the condition {spelled(node.condition)}")
        other = None if node.else_case is None else self.block(node.else_case)
        return S.IfThenElse(self.outside(node.condition), self.block(node.then_case), other)

    def visit_While(self, node: S.While) -> S.Stmt:
        self.check_uniform(node.condition, f"the condition {spelled(node.condition)}")
        return S.While(self.outside(node.condition), self.block(node.body))

    def visit_LetStmt(self, node: S.LetStmt) -> S.Stmt:
        if _shuffles(node.value):
            return self.shuffled(node)
        if any(type(part) is E.BufferLoad for part in walk(node.value)):
            return self.kept(node)
        self.values[node.var] = substitute(node.value, self.values)
        return self.block(node.body)

    def kept(self, node: S.LetStmt) -> S.Stmt:
        """A let of something loaded: each thread keeps its value."""
        data = E.Var(node.var.name, "handle", E.PointerType(node.var.dtype, "local"))
        buffer = array_of(data, node.var.dtype)
        self.values[node.var] = E.BufferLoad(buffer, (E.IntImm(0),))
        store = S.BufferStore(buffer, node.value, (E.IntImm(0),))
        whole = sequence([store, node.body])
        return self.visit_Allocate(S.Allocate(data, node.var.dtype, (E.IntImm(1),), TRUE, whole))

    def visit_Allocate(self, node: S.Allocate) -> S.Stmt:
        data = node.buffer_var
        if is_fragment(data):
            return self.fragment(node)
        if _is_private(data):
            size: E.Expr = E.IntImm(1)
            for extent in node.extents:
                size = ops.mul(size, extent)
            room = E.Var(data.name, "handle", E.PointerType(node.dtype, "global"))
            self.spread[data] = _Spread(room, size, _is_accessed_by_vectors(node.body, data))
            return S.Allocate(
                room,
                node.dtype,
                (ops.mul(size, self.count),),
                node.condition,
                self.block(node.body),
            )
        return replace(node, body=self.block(node.body))

    def fragment(self, node: S.Allocate) -> S.Stmt:
        self.check_whole_warps("the fragments")
        room = self.fragments.room(node, ops.floordiv(ops.add(self.count, WARP - 1), WARP))
        return replace(room, body=self.block(node.body))

    def visit_Evaluate(self, node: S.Evaluate) -> S.Stmt:
        call = node.value
        if isinstance(call, E.Call) and call.op == BARRIER:
            return sequence([])
        if isinstance(call, E.Call) and is_of_registers(call):
            return self.exchanged(call)
        return self.shuffled(node)

    def shuffled(self, node: S.Stmt) -> S.Stmt:
        """A statement with shuffles: all threads store their values, then all load."""
        sends: list[S.Stmt] = []
        exchange = _Exchange(self, sends)
        node = exchange.visit(node)
        return sequence([*(self.each_thread(part) for part in sends), self.block(node)])

    visit_BufferStore = shuffled

    def exchanged(self, call: E.Call) -> S.Stmt:
        """What lanes do together with their registers."""
        self.check_whole_warps(call.op)
        sends, receives = exchange_registers(call, self.thread, self.new_exchange)
        return sequence([self.each_thread(sends), self.each_thread(receives)])

    def new_exchange(self, dtype: str, each: int = 1) -> E.Buffer:
        """An array with places for `each` values of each thread."""
        name = f"lanes{len(self.exchanges)}"
        data = E.Var(name, "handle", E.PointerType(dtype, "global"))
        size = ops.mul(self.count, each)
        self.exchanges.append((data, dtype, size))
        return E.Buffer(data, dtype, (size,), (), E.IntImm(0), name)

    # -- what is the same for all threads ----------------------------------------------------------

    def outside(self, e: E.Expr) -> E.Expr:
        """An expression that does not depend on the thread, outside of the loops over threads."""
        return substitute(e, self.values)

    def check_uniform(self, e: E.Expr, what: str) -> None:
        """Refuse a cut that not all threads reach."""
        for node in walk(self.outside(e)):
            private = isinstance(node, E.BufferLoad) and _is_private(node.buffer.data)
            if private or (isinstance(node, E.Var) and node in self.differing):
                raise self.error(
                    f"a barrier or shuffle inside of {what}, which differs between threads",
                    "all threads must reach a barrier or shuffle",
                )

    def check_whole_warps(self, what: str) -> None:
        """Refuse blocks with a part of a warp."""
        if isinstance(self.count, E.IntImm) and self.count.value % WARP:
            raise BuildError(
                f"block of {self.count.value} threads in kernel {self.name!r} is not made of whole "
                "warps",
                f"whole warps execute {what}",
                f"launch a multiple of {WARP} threads",
            )

    def error(self, what: str, why: str = "") -> BuildError:
        """An error about a construct that cannot be emulated."""
        return BuildError(
            f"cannot emulate {what} in kernel {self.name!r}",
            why,
            "take the barrier out of the condition or loop",
        )


class _Spread:
    """The layout of per-thread storage: interleaved by element, or contiguous by thread."""

    def __init__(self, data: E.Var, size: E.Expr, by_thread: bool) -> None:
        self.data, self.size, self.by_thread = data, size, by_thread

    def index(self, index: E.Expr, thread: E.Expr, count: E.Expr) -> E.Expr:
        """Where an element of a thread is."""
        factor, start = (
            (E.IntImm(1), ops.mul(thread, self.size)) if self.by_thread else (count, thread)
        )
        lanes = dtypes.lanes(index.dtype)
        if isinstance(index, E.Ramp):
            base = ops.add(ops.mul(index.base, factor), start)
            return E.Ramp(base, ops.mul(index.stride, factor), lanes)
        if lanes > 1:
            return ops.add(ops.mul(index, E.Broadcast(factor, lanes)), E.Broadcast(start, lanes))
        return ops.add(ops.mul(index, factor), start)


class _Spreader(AccessMapper):
    """Rewrites accesses to per-thread storage; replaces lets across cuts."""

    def __init__(
        self,
        spread: dict[E.Var, _Spread],
        values: dict[E.Var, E.Expr],
        thread: E.Expr,
        count: E.Expr,
    ) -> None:
        self.spread, self.values, self.thread, self.count = spread, values, thread, count

    def visit_Var(self, node: E.Var) -> E.Expr:
        value = self.values.get(node)
        return node if value is None else self.visit(value)

    def moved(self, buffer: E.Buffer, indices: tuple[E.Expr, ...]) -> tuple[E.Expr, ...]:
        (index,) = indices
        return (self.spread[buffer.data].index(index, self.thread, self.count),)

    def renewed(self, buffer: E.Buffer) -> E.Buffer:
        """The view of the memory of all threads."""
        spread = self.spread.get(buffer.data)
        if spread is None:
            return buffer
        shape = (ops.mul(spread.size, self.count),)
        return replace(buffer, data=spread.data, shape=shape, strides=(), elem_offset=E.IntImm(0))


class _Exchange(Mapper):
    """Replaces shuffles by loads of values of other lanes."""

    def __init__(self, serializer: _Serializer, sends: list[S.Stmt]) -> None:
        self.serializer, self.sends = serializer, sends

    def visit_Call(self, node: E.Call) -> E.Expr:
        if node.op not in _SHUFFLES:
            return self.generic(node)
        _, value, lane, width, _ = node.args
        if not isinstance(width, E.IntImm) or width.value not in SHUFFLE_WIDTHS:
            raise BuildError(
                f"shuffle width in kernel {self.serializer.name!r} must be 1, 2, 4, 8, 16 or 32, "
                f"got {width}",
                help="use one of these numbers as its width",
            )
        memory = self.serializer.new_exchange(node.dtype)
        thread, lane = self.serializer.thread, ops.cast("int32", self.visit(lane))
        self.sends.append(S.BufferStore(memory, self.visit(value), (thread,)))
        first = ops.sub(thread, ops.floormod(thread, width))
        own = ops.floormod(thread, width)
        if node.op == "tir.tvm_warp_shuffle":
            source = ops.add(first, ops.floormod(lane, width))
            there: E.Expr = ops.less(source, self.serializer.count)
        elif node.op == "tir.tvm_warp_shuffle_up":
            source = ops.sub(thread, lane)
            there = ops.logical_and(ops.less_equal(0, lane), ops.less_equal(lane, own))
        else:
            source = ops.add(thread, lane)
            inside = ops.less(lane, ops.sub(width, own))  # which does not overflow
            there = ops.logical_and(ops.less_equal(0, lane), inside)
            there = ops.logical_and(there, ops.less(source, self.serializer.count))
        index = E.Call("int32", "tir.if_then_else", (there, source, thread))
        return E.BufferLoad(memory, (index,))


def _shuffles(e: E.Expr) -> bool:
    return any(isinstance(part, E.Call) and part.op in _SHUFFLES for part in walk(e))


def _has_cut(node: S.Stmt) -> bool:
    """Whether threads wait for each other in a statement, or share memory that it allocates."""
    for part in walk(node):
        if isinstance(part, E.Call) and (part.op in _SHUFFLES or part.op == BARRIER):
            return True
        if uses_fragments(part) or is_of_registers(part):
            return True
        if type(part) is S.Allocate and not _is_private(part.buffer_var):
            return True
    return False


def _is_accessed_by_vectors(body: S.Stmt, data: E.Var) -> bool:
    return any(
        isinstance(node, E.BufferLoad | S.BufferStore)
        and node.buffer.data is data
        and dtypes.lanes(node.indices[-1].dtype) > 1
        for node in walk(body)
    )
