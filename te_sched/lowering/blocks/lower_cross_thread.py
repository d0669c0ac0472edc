"""Lower reductions of blocks over threads to tvm_thread_allreduce.

    for ko in range(4):                       for ki in T.thread_binding(32, ...):
        for ki in T.thread_binding(32, ...):      in_thread_B[0] = 0
            with T.block("B"):            ->      for ko in range(4):
                vk = ko * 32 + ki                     in_thread_B[0] = in_thread_B[0] + A[...]
                B[0] = B[0] + A[vk]               cross_thread_B[0] = allreduce(in_thread_B[0], ki)
                                                  if ki == 0: B[0] = cross_thread_B[0]

If a block has neither serial reduction loops nor a predicate, threads reduce its values directly.
A result in registers is available in all threads; a block that reads it outside of their loops is
executed by the first of them. (TVM's name: LowerCrossThreadReduction.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import conjuncts
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import ReductionError, Subject
from te_sched.ir import ops
from te_sched.ir.blocks import Block, BlockRealize
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    CommReducer,
    Expr,
    IntImm,
    IterVar,
    PointerType,
    Range,
    Var,
)
from te_sched.ir.stmt import AttrStmt, BufferStore, Evaluate, For, PrimFunc, Stmt
from te_sched.ir.visitor import AccessMapper, StatementMapper, replace, substitute, variables_of
from te_sched.lowering.statements import sequence
from te_sched.tensorir.facts.axes import REDUCTION, SPATIAL, values_of_kind
from te_sched.tensorir.updates import update_of

_FIRST = (IntImm(0),)


def lower_cross_thread(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with reductions over threads lowered to four steps each."""
    return func.with_body(_CrossThreadReductions(settings).visit(func.body))


@dataclass
class _Reduction:
    """A block that reduces over threads.

    `serial` are the unbound reduction loops, `threads` the bound ones. `place` is the loop around
    all statements of the reduction, None for the block itself.
    """

    realize: BlockRealize
    threads: list[For]
    serial: list[For]
    place: For | None
    stores: list[BufferStore]
    reducer: CommReducer
    sources: tuple[Expr, ...]
    cross: list[Buffer] = field(default_factory=list)
    own: list[Buffer] = field(default_factory=list)
    lifted: list[For] = field(default_factory=list)
    init_at: For | None = None


class _CrossThreadReductions(StatementMapper):
    """Rebuilds statements; `loops` are those around in the same block, `made` the new buffers."""

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings
        self.loops: list[For] = []
        self.made: list[Buffer] = []
        self.active: list[_Reduction] = []
        self.results: dict[Buffer, list[For]] = {}

    def visit_BlockRealize(self, node: BlockRealize) -> Stmt:
        threads = self._threads(node)
        if threads:
            return self._reduce(node, threads)
        loops, outer_buffers = self.loops, self.made
        self.loops, self.made = [], []
        body = self.visit(node.block.body)
        buffers = (*node.block.alloc_buffers, *self.made)
        self.loops, self.made = loops, outer_buffers
        block = replace(node.block, body=body, alloc_buffers=buffers)
        return self._by_first_thread(replace(node, block=block))

    def visit_For(self, node: For) -> Stmt:
        self.loops.append(node)
        body = self.visit(node.body)
        self.loops.pop()
        for reduction in self.active:
            if reduction.init_at is node:
                body = sequence([_initialized(reduction), body])
        if any(loop is node for active in self.active for loop in active.lifted):
            return body
        loop: Stmt = replace(node, body=body)
        for reduction in [active for active in self.active if active.place is node]:
            loop = self._finished(reduction, loop)
        return loop

    def _threads(self, node: BlockRealize) -> list[For]:
        """The thread loops over which a block reduces."""
        if node.block.init is None:
            return []
        used = values_of_kind(node, REDUCTION)
        bound_loops = [
            candidate for candidate in self.loops if candidate.thread_binding is not None
        ]
        threads = [candidate for candidate in bound_loops if candidate.loop_var in used]
        for loop in threads:
            assert loop.thread_binding is not None
            tag = loop.thread_binding.thread_tag
            if not tag.startswith("threadIdx"):
                raise _refused(
                    node.block, f"its reduction loop {loop.loop_var.name} is bound to {tag}",
                    "only the threads of a block can combine their values",
                    "bind the loop to threadIdx.x, y or z",
                )  # fmt: skip
        return threads

    def _reduce(self, node: BlockRealize, threads: list[For]) -> Stmt:
        """The part of a reduction that replaces its block."""
        used = values_of_kind(node, REDUCTION)
        related = [loop for loop in self.loops if loop.loop_var in used]
        serial = [loop for loop in related if loop.thread_binding is None]
        serial_loop = serial[0] if serial else None
        first = self.loops.index(serial_loop if serial_loop is not None else threads[0])
        outermost = self.loops.index(related[0])
        others = [loop for loop in self.loops[outermost:] if loop.loop_var not in used]
        spatial = values_of_kind(node, SPATIAL)
        if any(
            (loop.loop_var in spatial and self.loops.index(loop) > first)
            or (loop.thread_binding is None and not ops.is_const(loop.extent, 1))
            for loop in others
        ):
            raise _refused(
                node.block, "another loop is inside of its reduction loops",
                "all threads combine one value at a time",
                "move the reduction loops inside",
            )  # fmt: skip
        if self.settings.to_run:
            self._check_first_iteration(node, related)
        update = update_of(node.block, partial(_refused, node.block))
        reduction = _Reduction(node, threads, serial, serial_loop, *update)
        is_direct = serial_loop is None and ops.is_const(node.predicate, 1)
        reduction.cross = [_local(store.buffer, "cross_thread_") for store in update.stores]
        self.made += reduction.cross
        for store in update.stores:
            if store.buffer.scope() == "local":
                self.results[store.buffer] = threads
        if is_direct:
            return self._finished(reduction, None)
        reduction.own = [_local(store.buffer, "in_thread_") for store in update.stores]
        self.made += reduction.own
        outside = [
            loop for loop in threads if serial_loop is None or self.loops.index(loop) < first
        ]
        reduction.lifted = [loop for loop in threads if not any(loop is other for other in outside)]
        if outside and not reduction.lifted:
            reduction.init_at = outside[-1]
        self.active.append(reduction)
        own = _in_thread(reduction)
        return own if serial_loop is not None else self._finished(reduction, own)

    def _check_first_iteration(self, node: BlockRealize, reduced: list[For]) -> None:
        """Refuse a block that its first iteration does not initialize: a sequential program would
        continue with what the memory holds, and threads begin with the identity, as
        `initialize_empty` does if there is no iteration.
        """
        analyzer = Analyzer(self.settings)
        for loop in self.loops:
            analyzer.bind(loop.loop_var, Range(loop.min, loop.extent))
        first = {loop.loop_var: loop.min for loop in reduced}
        conditions: list[tuple[str, Expr]] = []
        has_values: Expr = ops.const(True)
        for axis, value in zip(node.block.iter_vars, node.iter_values, strict=True):
            if axis.kind == REDUCTION and axis.dom is not None:
                start, extent = axis.dom.min, axis.dom.extent
                at_start = f"iterator {axis.var.name} is at its start"
                conditions.append((at_start, ops.equal(value, start)))
                has_values = ops.logical_and(has_values, ops.greater(extent, 0))
        conditions += [
            ("its condition holds", part)
            for part in conjuncts(node.predicate)
            if variables_of(part) & first.keys()
        ]
        with analyzer.constraint(has_values):
            unproven = [
                what
                for what, condition in conditions
                if not analyzer.can_prove(substitute(condition, first))
            ]
        if unproven:
            raise _refused(
                node.block,
                f"it is not proven that {unproven[0]} in the first iteration",
                "T.init() would not be executed, and the threads do not know the old result",
                "let the reduction iterators begin at the start of their domain",
            )

    def _finished(self, reduction: _Reduction, own: Stmt | None) -> Stmt:
        """A reduction with its remaining steps, in the loops of its threads."""
        parts: list[Stmt | None] = [own, _combined(reduction), _written_back(reduction)]
        if reduction.lifted:
            parts.insert(0, _initialized(reduction))
        body = sequence(parts)
        for loop in reversed(reduction.lifted):
            body = replace(loop, body=body)
        return body

    def _by_first_thread(self, node: BlockRealize) -> Stmt:
        """A block that reads results in registers, executed by the first of the threads."""
        read = [region.buffer for region in node.block.reads if region.buffer in self.results]
        stays = all(region.buffer.scope() == "local" for region in node.block.writes)
        if not read or stays:
            return node
        bound = {
            loop.thread_binding.thread_tag for loop in self.loops if loop.thread_binding is not None
        }
        missing = {
            loop.thread_binding.thread_tag: loop
            for buffer in read
            for loop in self.results[buffer]
            if loop.thread_binding is not None and loop.thread_binding.thread_tag not in bound
        }
        result: Stmt = node
        predicate = node.predicate
        axes = []
        for tag, loop in missing.items():
            var = Var(f"t{tag[-1]}", loop.loop_var.dtype)
            is_first = ops.equal(var, ops.const(0, var.dtype))
            predicate = (
                is_first if ops.is_const(predicate, 1) else ops.logical_and(is_first, predicate)
            )
            axes.append((var, loop))
        if axes:
            result = replace(node, predicate=predicate)
        for var, loop in reversed(axes):
            assert loop.thread_binding is not None
            binding = replace(loop.thread_binding, var=Var("", var.dtype))
            result = replace(loop, loop_var=var, thread_binding=binding, body=result)
        return result


def _local(buffer: Buffer, prefix: str) -> Buffer:
    """A register for a component of a reduction."""
    name = prefix + buffer.name
    data = Var(name, "handle", PointerType(buffer.dtype, "local"))
    return Buffer(data, buffer.dtype, (IntImm(1),), (IntImm(1),), IntImm(0), name)


def _refused(block: Block, what: str, why: str, help: str) -> ReductionError:
    return ReductionError(
        f"cannot reduce over threads in block {block.name_hint}: {what}",
        why,
        help,
        Subject("block", block.name_hint),
    )


def _regions(buffers: Sequence[Buffer]) -> tuple[BufferRegion, ...]:
    return tuple([BufferRegion(buffer, (Range(IntImm(0), IntImm(1)),)) for buffer in buffers])


def _simple(name: str, reads: Sequence[Buffer], writes: Sequence[Buffer], body: Stmt) -> Stmt:
    """A block without iterators."""
    block = Block((), _regions(reads), _regions(writes), name, None, body)
    return BlockRealize((), ops.TRUE, block)


def _initialized(reduction: _Reduction) -> Stmt:
    name = reduction.realize.block.name_hint + "_in_thread_init"
    pairs = zip(reduction.own, reduction.reducer.identity, strict=True)
    return _simple(name, (), reduction.own, sequence([BufferStore(b, v, _FIRST) for b, v in pairs]))


def _in_thread(reduction: _Reduction) -> Stmt:
    """The block that reduces into registers."""
    block = reduction.realize.block
    moved = _ToRegisters(
        {store.buffer: own for store, own in zip(reduction.stores, reduction.own, strict=True)}
    )
    return replace(
        reduction.realize,
        block=replace(
            block,
            name_hint=block.name_hint + "_in_thread",
            init=None,
            body=moved.visit(block.body),
            writes=_regions(reduction.own),
            reads=tuple([region for region in block.reads if region.buffer not in moved.buffers]),
        ),
    )


class _ToRegisters(AccessMapper):
    def __init__(self, buffers: dict[Buffer, Buffer]) -> None:
        self.buffers = buffers

    def renewed(self, node: Buffer) -> Buffer:
        return self.buffers.get(node, node)

    def moved(self, buffer: Buffer, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return _FIRST


def _combined(reduction: _Reduction) -> Stmt:
    """The block that combines the values of threads."""
    block = reduction.realize.block
    values = (
        [BufferLoad(own, _FIRST) for own in reduction.own]
        if reduction.own
        else list(reduction.sources)
    )
    arguments = (
        IntImm(len(values), "uint32"),
        *values,
        ops.TRUE,
        *[BufferLoad(buffer, _FIRST) for buffer in reduction.cross],
        *[loop.loop_var for loop in reduction.threads],
    )
    call = Evaluate(Call("handle", "tir.tvm_thread_allreduce", arguments))
    null = Call("handle", "tir.reinterpret", (IntImm(0, "uint64"),))
    body = AttrStmt(reduction.reducer, "reduce_scope", null, call)
    name = block.name_hint + "_cross_thread"
    if reduction.own:
        return _simple(name, reduction.own, reduction.cross, body)
    results = {store.buffer for store in reduction.stores}
    direct = replace(
        block,
        name_hint=name,
        init=None,
        body=body,
        reads=tuple([region for region in block.reads if region.buffer not in results]),
        writes=_regions(reduction.cross),
    )
    return replace(reduction.realize, block=direct)


def _written_back(reduction: _Reduction) -> Stmt:
    """The block that stores the result, executed by the first thread, or by each for registers."""
    block = reduction.realize.block
    pairs = zip(block.iter_vars, reduction.realize.iter_values, strict=True)
    kept = [(axis, value) for axis, value in pairs if axis.kind == SPATIAL]
    fresh = {axis.var: Var(axis.var.name, axis.var.dtype) for axis, _ in kept}
    axes = [IterVar(axis.dom, fresh[axis.var], axis.kind, axis.thread_tag) for axis, _ in kept]
    reduced = {loop.loop_var for loop in (*reduction.threads, *reduction.serial)}
    conditions = [
        part
        for part in conjuncts(reduction.realize.predicate)
        if not ops.is_const(part, 1) and not variables_of(part) & reduced
    ]
    if any(store.buffer.scope() != "local" for store in reduction.stores):
        conditions += [ops.equal(loop.loop_var, loop.min) for loop in reduction.threads]
    predicate: Expr = ops.TRUE
    for position, condition in enumerate(conditions):
        predicate = ops.logical_and(predicate, condition) if position else condition
    mapping: dict[Var, Expr] = dict(fresh)
    stores = [
        BufferStore(
            store.buffer,
            BufferLoad(buffer, _FIRST),
            tuple([substitute(index, mapping) for index in store.indices]),
        )
        for store, buffer in zip(reduction.stores, reduction.cross, strict=True)
    ]
    back = Block(
        tuple(axes),
        _regions(reduction.cross),
        tuple([substitute(region, mapping) for region in block.writes]),
        block.name_hint + "_write_back",
        None,
        sequence(stores),
    )
    return BlockRealize(tuple([value for _, value in kept]), predicate, back)
