"""Reductions across threads as TVM writes them, in functions whose launches may be anywhere.

Shuffles go through temporaries, and barriers are explicit. (TVM's name: LowerThreadAllreduce;
`lowering.device.lower_thread_reductions` is what `build` does.) Must not know targets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from te_sched.config import AS_TVM, Lowering
from te_sched.ir import ops
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.device_limits import TAGS, WARP
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, PointerType, Select, Var
from te_sched.ir.kernel import LaunchAxis, barrier
from te_sched.ir.ops import TRUE
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    IfThenElse,
    PrimFunc,
    Stmt,
)
from te_sched.ir.visitor import AccessMapper, replace, statements
from te_sched.lowering.device.lower_thread_reductions import (
    REDUCE_SCOPE,
    PartialResults,
    Team,
    ThreadReductions,
    choose,
    shuffle,
    stores_of,
)
from te_sched.lowering.statements import has_attribute, sequence


def lower_thread_allreduce(
    func: PrimFunc, has_mask: bool = True, settings: Lowering = AS_TVM
) -> PrimFunc:
    """The function without `tvm_thread_allreduce`, in TVM's form.

    Its launches may be anywhere. `has_mask` is whether shuffles take the mask of active lanes.
    """
    if not has_attribute(func.body, REDUCE_SCOPE):
        return func
    launches = [
        LaunchAxis(node.node.thread_tag, node.node.var, node.value)
        for node in statements(func.body)
        if type(node) is AttrStmt and node.key == "thread_extent" and node.node.thread_tag in TAGS
    ]
    launches.sort(key=lambda axis: TAGS.index(axis.tag))
    reductions = _Allreduce(func, launches, has_mask)
    body = reductions.visit(func.body)
    return func.with_body(_Results(reductions.results).visit(body))


class _Allreduce(ThreadReductions):
    """Replaces reductions by TVM's statements: shuffles go through temporaries, barriers are
    explicit, and a result that warps combine is in shared memory (`results`, by the memory that the
    program has for it).
    """

    def __init__(self, func: PrimFunc, axes: Sequence[LaunchAxis], has_mask: bool) -> None:
        super().__init__(func.attrs.get("global_symbol", "main"), axes, func.body)
        self.has_mask = has_mask
        self.results: dict[Var, tuple[Buffer, Expr]] = {}
        self.seen: set[Var] = set()  # the memory of all results

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        return self.generic(node)

    def where(self, condition: Expr, value: Expr, otherwise: Expr) -> Expr:
        """The value of a thread, or the identity where it takes no part."""
        if isinstance(condition, IntImm):
            return choose(condition, value, otherwise)
        return Select(condition, value, otherwise)

    def reduced(
        self, node: AttrStmt, combine: PartialResults, own: list[BufferStore], team: Team
    ) -> Stmt:
        """The reduction, inside of the attribute and the declarations of its temporaries."""
        temporaries: list[Buffer] = []
        own_memory = {load.buffer.data for load in combine.places}
        if not own_memory.isdisjoint(self.seen):
            names = ", ".join(sorted(data.name for data in own_memory & self.seen))
            raise self.error(
                f"two reductions store their results in {names}", "give each one its own memory"
            )
        self.seen |= own_memory
        if any(
            not ops.is_const(extent, 1) for load in combine.places for extent in load.buffer.shape
        ):
            raise self.error("a result is in memory of several elements", "give it one element")
        if team.size == 1:
            return sequence(own)
        is_alone = team.groups == 1 and team.size < WARP
        if team.neighbors and (WARP % team.size == 0 or is_alone):
            steps = [*own, *self.in_registers(combine, team.size, team.rank, temporaries)]
            for number, result_load in enumerate(combine.places):
                result = _temporary(f"red_buf{number}", result_load.buffer.dtype)
                self.results[result_load.buffer.data] = result, IntImm(0)
            steps += [
                BufferStore(
                    load.buffer,
                    shuffle("tir.tvm_warp_shuffle", self.mask, load, lane, WARP),
                    load.indices,
                )
                for load in combine.places
                for lane in (ops.mul(team.size, team.group),)
            ]
        elif team.neighbors and team.size % WARP == 0:
            steps = self.by_warps(combine, own, team, temporaries)
        else:
            tree = [*own, *self.in_memory(combine, team)]
            steps = [step for level in tree for step in (level, Evaluate(barrier()))]
            temporaries = list(self.buffers)
            self.buffers.clear()
        body = sequence(steps)
        for buffer in reversed(temporaries):
            declared = DeclBuffer(buffer, body)
            body = Allocate(buffer.data, buffer.dtype, buffer.shape, TRUE, declared)
        return replace(node, body=body)

    def in_registers(
        self, combine: PartialResults, size: int, rank: Expr, temporaries: list[Buffer]
    ) -> list[Stmt]:
        """The first of each `size` lanes combines the values of all of them."""
        first = (IntImm(0),)
        steps: list[Stmt] = []
        self.mask = IntImm(0)
        if self.has_mask:
            mask = _temporary("mask", "uint32")
            temporaries.append(mask)
            active = Call("uint32", "tir.tvm_warp_activemask", ())
            steps.append(BufferStore(mask, active, first))
            self.mask = BufferLoad(mask, first)
        others = [
            _temporary(f"t{number}", load.buffer.dtype)
            for number, load in enumerate(combine.places)
        ]
        temporaries += reversed(others)
        offset = 1 << (math.ceil(math.log2(size)) - 1)
        while offset:
            for other, result_load in zip(others, combine.places, strict=True):
                value = shuffle("tir.tvm_warp_shuffle_down", self.mask, result_load, offset, WARP)
                steps.append(BufferStore(other, value, first))
            combined = combine.direct([BufferLoad(other, first) for other in others])
            if size < 2 * offset:  # only in the first step
                combined = IfThenElse(ops.less(ops.add(rank, offset), size), combined)
            steps.append(combined)
            size, offset = offset, offset // 2
        return steps

    def by_warps(
        self, combine: PartialResults, own: list[BufferStore], team: Team, temporaries: list[Buffer]
    ) -> list[Stmt]:
        """Reduce within each warp, then across the results of the warps."""
        warps, first = team.size // WARP, (IntImm(0),)
        kept = [(load.buffer.dtype, number) for number, load in enumerate(combine.places)]
        final, partial = (
            [_temporary(f"red_buf{number}", dtype) for dtype, number in kept] for _ in range(2)
        )
        staging = [
            _temporary("red_buf_staging", dtype, team.groups * warps, "shared") for dtype, _ in kept
        ]
        row = ops.mul(team.group, warps)
        of_partial = PartialResults(
            combine.reducer, [BufferLoad(buffer, first) for buffer in partial]
        )
        of_final = PartialResults(combine.reducer, [BufferLoad(buffer, first) for buffer in final])
        warp, lane = ops.floordiv(team.rank, WARP), ops.floormod(team.rank, WARP)
        steps: list[Stmt] = [
            BufferStore(buffer, store.value, first)
            for buffer, store in zip(partial, own, strict=True)
        ]
        inner: list[Buffer] = list(partial)
        steps += self.in_registers(of_partial, WARP, lane, inner)
        stored = sequence(stores_of(staging, ops.add(row, warp), of_partial.places))
        steps += [IfThenElse(ops.equal(lane, 0), stored), Evaluate(barrier())]
        loads = [BufferLoad(buffer, (ops.add(row, team.rank),)) for buffer in staging]
        starts = sequence(
            [BufferStore(buffer, value, first) for buffer, value in zip(final, loads, strict=True)]
        )
        steps.append(IfThenElse(ops.less(team.rank, warps), starts))
        temporaries += final
        steps += self.in_registers(of_final, warps, team.rank, temporaries)
        temporaries += [*inner, *staging]
        ends = [
            BufferStore(load.buffer, value, load.indices)
            for load, value in zip(combine.places, of_final.places, strict=True)
        ]
        steps += [IfThenElse(ops.equal(team.rank, 0), sequence(ends)), Evaluate(barrier())]
        for result_load in combine.places:
            result = _temporary("red_result", result_load.buffer.dtype, team.groups, "shared")
            self.results[result_load.buffer.data] = result, team.group
        return steps


class _Results(AccessMapper):
    """Redirects the accesses to results of teams to shared memory."""

    def __init__(self, results: dict[Var, tuple[Buffer, Expr]]) -> None:
        self.results = results

    def visit_Allocate(self, node: Allocate) -> Stmt:
        if node.buffer_var not in self.results:
            return self.generic(node)
        result, _ = self.results[node.buffer_var]
        body = self.visit(node.body)
        if result.scope() == "shared":
            body = AttrStmt(result.data, "volatile_scope", IntImm(1), body)
        return Allocate(result.data, result.dtype, result.shape, node.condition, body)

    def renewed(self, buffer: Buffer) -> Buffer:
        """The buffer in shared memory."""
        return self.results[buffer.data][0] if buffer.data in self.results else buffer

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The element of the team."""
        return (self.results[buffer.data][1],)


def _temporary(name: str, dtype: str, size: int = 1, scope: str = "local") -> Buffer:
    data = Var(name, "handle", PointerType(dtype, scope))
    return Buffer(data, dtype, (IntImm(size),), (), IntImm(0), name)
