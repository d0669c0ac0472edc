"""Reductions across threads become shuffles between the lanes of a warp, or go through memory.

`tvm_thread_allreduce(count, value..., condition, result..., thread...)` combines the values of all
threads along some thread axes, and returns the result to all of them. Threads are numbered with
threadIdx.x fastest; a warp is 32 consecutive threads. There are three methods, for R threads that
are combined:

    neighbors, R divides 32      shuffles R/2, R/4, ... 1 lanes down, then a broadcast of lane 0
    neighbors, 32 divides R      the same in each warp, whose first lane stores into shared memory;
                                  then the same in the first warp on the stored values
    otherwise                     a tree in shared memory

Barriers are inserted later (`insert_barriers`). Must not know where reductions come from.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from te_sched.config import AS_TVM, Lowering
from te_sched.errors import BuildError
from te_sched.ir import ops
from te_sched.ir.device_limits import WARP
from te_sched.ir.expr import (
    EQ,
    Buffer,
    BufferLoad,
    Call,
    CommReducer,
    Expr,
    IntImm,
    PointerType,
    Var,
)
from te_sched.ir.kernel import LaunchAxis, lane_mask, memory_scope, thread_axes, with_work
from te_sched.ir.ops import TRUE
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Stmt,
)
from te_sched.ir.visitor import StatementMapper, statements, substitute
from te_sched.lowering.statements import has_attribute, sequence
from te_sched.wording import wording

REDUCE_SCOPE = "reduce_scope"
_LEAVES = (BufferStore, Evaluate)


def lower_thread_reductions(kernel: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The kernel without `tvm_thread_allreduce`."""
    if not has_attribute(kernel.body, REDUCE_SCOPE):
        return kernel
    axes, body = thread_axes(kernel)
    reductions = ThreadReductions(kernel.attrs.get("global_symbol", "main"), axes, body)
    body = reductions.visit(body)
    for buffer in reductions.buffers:
        body = Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, body)
    return with_work(kernel, body)


@dataclass(frozen=True, slots=True)
class Team:
    """Threads that are combined: `rank` numbers them within their team, `group` the teams."""

    size: int
    rank: Expr
    groups: int
    group: Expr
    neighbors: bool


class ThreadReductions(StatementMapper):
    """Replaces reductions; `buffers` are the shared buffers of the whole kernel."""

    def __init__(self, kernel: str, axes: Sequence[LaunchAxis], body: Stmt) -> None:
        self.kernel = kernel
        stored = [part.buffer.data for part in statements(body) if type(part) is BufferStore]
        self.stores = Counter(stored)  # by memory
        self.combined: set[Expr] = set()  # threads, by the reductions so far
        self.told: set[Var] = set()  # the memory of their results
        self.threads = [axis for axis in axes if not axis.is_block]
        self.blocks = [axis for axis in axes if axis.is_block]
        self.mask = lane_mask(axes)
        self.buffers: list[Buffer] = []

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key != REDUCE_SCOPE:
            return self.generic(node)
        reducer: CommReducer = node.node
        call = node.body.value if isinstance(node.body, Evaluate) else None
        if not isinstance(call, Call) or call.op != "tir.tvm_thread_allreduce":
            raise self.error("the body is not a tvm_thread_allreduce")
        count = len(reducer.lhs)
        values, condition = call.args[1 : 1 + count], call.args[1 + count]
        results = call.args[2 + count : 2 + 2 * count]
        reduced = [thread for thread in call.args[2 + 2 * count :] if type(thread) is Var]
        if blocks := [axis.tag for axis in self.blocks if any(axis.var is var for var in reduced)]:
            raise self.error(
                f"{blocks[0]} is an axis of blocks, which cannot synchronize",
                "factor the reduction with rfactor and reduce the parts in a second "
                f"{wording().computation}",
            )
        team = self.team(reduced)
        places = [load for load in results if isinstance(load, BufferLoad)]
        self.combined.update(reduced)
        self.told.update(load.buffer.data for load in places)
        combine = PartialResults(reducer, places)
        own = [
            BufferStore(load.buffer, self.where(condition, value, start), load.indices)
            for load, value, start in zip(places, values, reducer.identity, strict=True)
        ]
        return self.reduced(node, combine, own, team)

    def where(self, condition: Expr, value: Expr, otherwise: Expr) -> Expr:
        """The value of a thread, or the identity where it takes no part."""
        return choose(condition, value, otherwise)

    def reduced(
        self, node: AttrStmt, combine: PartialResults, own: list[BufferStore], team: Team
    ) -> Stmt:
        """The reduction of a team, each thread of which stores its `own` value first."""
        if team.size == 1:
            return sequence(own)
        if team.neighbors and WARP % team.size == 0:
            return sequence(
                [*own, *self.in_warp(combine, team.size), self.tell(combine, team.size)]
            )
        if team.neighbors and team.size % WARP == 0:
            return sequence([*own, *self.across_warps(combine, team)])
        return sequence([*own, *self.in_memory(combine, team)])

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        """One thread stores the result, unless each has memory of its own for it, such as
        registers."""
        return self.visit(node.then_case) if self.tells_all(node) else self.generic(node)

    def tells_all(self, node: IfThenElse) -> bool:
        """Whether one thread stores results of a reduction in registers that nothing else sets."""
        condition = node.condition
        if type(condition) is not EQ or condition.a not in self.combined or node.else_case:
            return False
        leaves = [part for part in statements(node.then_case) if type(part) in _LEAVES]
        return all(
            type(store) is BufferStore
            and type(store.value) is BufferLoad
            and store.value.buffer.data in self.told
            and memory_scope(store.buffer.data) == "local"
            and self.stores[store.buffer.data] == 1
            for store in leaves
        )

    def team(self, reduced: Sequence[Expr]) -> Team:
        """The threads that are combined."""
        size, groups = 1, 1
        rank: Expr = IntImm(0)
        group: Expr = IntImm(0)
        neighbors = True
        for axis in self.threads:  # x is the fastest
            if not isinstance(axis.extent, IntImm):
                raise self.error(f"the extent of {axis.tag} is not constant")
            if axis.extent.value == 1:
                continue
            if any(axis.var is thread for thread in reduced):
                neighbors = neighbors and groups == 1
                rank = ops.add(rank, ops.mul(axis.var, size))
                size *= axis.extent.value
            else:
                group = ops.add(group, ops.mul(axis.var, groups))
                groups *= axis.extent.value
        return Team(size, rank, groups, group, neighbors)

    # -- shuffles ----------------------------------------------------------------------------------

    def in_warp(self, combine: PartialResults, size: int) -> list[Stmt]:
        """The first of each `size` lanes combines the values of all of them."""
        steps = []
        offset = size // 2
        while offset:
            others = [
                shuffle("tir.tvm_warp_shuffle_down", self.mask, load, offset, size)
                for load in combine.places
            ]
            steps.append(combine.statement(others))
            offset //= 2
        return steps

    def tell(self, combine: PartialResults, size: int) -> Stmt:
        """Broadcast the value of the first lane."""
        return sequence(
            [
                BufferStore(
                    load.buffer,
                    shuffle("tir.tvm_warp_shuffle", self.mask, load, 0, size),
                    load.indices,
                )
                for load in combine.places
            ]
        )

    def across_warps(self, combine: PartialResults, team: Team) -> list[Stmt]:
        """Reduce within each warp, then across the results of the warps."""
        warps = team.size // WARP
        memory = self.memory(combine, team.groups * warps)
        row = ops.mul(team.group, warps)
        warp, lane = ops.floordiv(team.rank, WARP), ops.floormod(team.rank, WARP)
        stores = sequence(stores_of(memory, ops.add(row, warp), combine.places))
        steps = [
            *self.in_warp(combine, WARP),
            IfThenElse(ops.equal(lane, 0), stores),
        ]
        loads = [BufferLoad(buffer, (ops.add(row, lane),)) for buffer in memory]
        is_warp = TRUE if warps == WARP else ops.less(lane, warps)
        starts = [
            BufferStore(load.buffer, choose(is_warp, value, start), load.indices)
            for load, value, start in zip(
                combine.places, loads, combine.reducer.identity, strict=True
            )
        ]
        return [*steps, *starts, *self.in_warp(combine, WARP), self.tell(combine, WARP)]

    # -- memory ------------------------------------------------------------------------------------

    def in_memory(self, combine: PartialResults, team: Team) -> list[Stmt]:
        """A tree: the upper half is combined into the lower half until one is left."""
        memory = self.memory(combine, team.groups * team.size)
        groups = team.groups

        def place_of(rank: Expr) -> Expr:
            return ops.add(ops.mul(rank, groups), team.group)

        steps = stores_of(memory, place_of(team.rank), combine.places)
        half = 1 << (math.ceil(math.log2(team.size)) - 1)
        remaining = team.size
        while half:
            others = [
                BufferLoad(buffer, (place_of(ops.add(team.rank, half)),)) for buffer in memory
            ]
            lower = ops.less(team.rank, remaining - half)
            steps.append(IfThenElse(lower, combine.statement(others)))
            if half > 1:
                stores = stores_of(memory, place_of(team.rank), combine.places)
                steps.append(IfThenElse(lower, sequence(stores)))
            remaining, half = half, half // 2
        first = place_of(IntImm(0))
        steps.append(
            IfThenElse(ops.equal(team.rank, 0), sequence(stores_of(memory, first, combine.places)))
        )
        for load, buffer in zip(combine.places, memory, strict=True):
            steps.append(BufferStore(load.buffer, BufferLoad(buffer, (first,)), load.indices))
        return steps

    def memory(self, combine: PartialResults, size: int) -> list[Buffer]:
        """Shared memory for the values, also used by other reductions of the kernel."""
        taken: list[Buffer] = []
        for load in combine.places:
            dtype = load.buffer.dtype
            free = [
                buffer
                for buffer in self.buffers
                if buffer.dtype == dtype
                and isinstance(buffer.shape[0], IntImm)
                and buffer.shape[0].value == size
                and not any(buffer is other for other in taken)
            ]
            taken.append(free[0] if free else self.new_buffer(dtype, size))
        return taken

    def new_buffer(self, dtype: str, size: int) -> Buffer:
        """A buffer in shared memory."""
        name = f"red_buf{len(self.buffers)}"
        data = Var(name, "handle", PointerType(dtype, "shared"))
        self.buffers.append(Buffer(data, dtype, (IntImm(size),), (), IntImm(0), name))
        return self.buffers[-1]

    def error(
        self, problem: str, help: str = "bind the reduction to a thread axis of constant extent"
    ) -> BuildError:
        """A reduction that cannot be lowered."""
        fault = f"cannot reduce across threads in kernel {self.kernel!r}: {problem}"
        return BuildError(fault, help=help)


@dataclass(frozen=True, slots=True)
class PartialResults:
    """A reducer and the places of the partial result of a thread."""

    reducer: CommReducer
    places: list[BufferLoad]

    def direct(self, others: Sequence[Expr]) -> Stmt:
        """places = combine(places, others), without variables for a single component."""
        if len(self.places) > 1:
            return self.statement(others)
        (load,), (result,) = self.places, self.reducer.result
        values = {self.reducer.lhs[0]: load, self.reducer.rhs[0]: others[0]}
        return BufferStore(load.buffer, substitute(result, values), load.indices)

    def statement(self, others: Sequence[Expr]) -> Stmt:
        """places = combine(places, others), all components at once."""
        together = len(self.places) > 1  # a component must not read the new value of another
        values: dict[Var, Expr] = {}
        lets: list[tuple[Var, Expr]] = []
        for variables, operands, kept in (
            (self.reducer.lhs, self.places, together),
            (self.reducer.rhs, others, True),
        ):
            for var, value in zip(variables, operands, strict=True):
                values[var] = fresh = Var(var.name, var.dtype) if kept else value
                if isinstance(fresh, Var):
                    lets.append((fresh, value))
        stores: Stmt = sequence(
            [
                BufferStore(load.buffer, substitute(result, values), load.indices)
                for load, result in zip(self.places, self.reducer.result, strict=True)
            ]
        )
        for var, value in reversed(lets):
            stores = LetStmt(var, value, stores)
        return stores


def choose(condition: Expr, value: Expr, otherwise: Expr) -> Expr:
    if isinstance(condition, IntImm):
        return value if condition.value else otherwise
    return Call(value.dtype, "tir.if_then_else", (condition, value, otherwise))


def shuffle(op: str, mask: Expr, load: BufferLoad, lane: int | Expr, width: int) -> Expr:
    arguments = (mask, load, ops.convert(lane), IntImm(width), IntImm(WARP))
    return Call(load.dtype, op, arguments)


def stores_of(memory: Sequence[Buffer], index: Expr, places: Sequence[BufferLoad]) -> list[Stmt]:
    return [
        BufferStore(buffer, load, (index,)) for buffer, load in zip(memory, places, strict=True)
    ]
