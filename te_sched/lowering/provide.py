"""The statements of a compute stage: stores, reductions, cross-thread reductions.

Must not know how stages are put together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    CommReducer,
    Expr,
    IntImm,
    IterVar,
    PointerType,
    Reduce,
    Var,
)
from te_sched.ir.ops import TRUE
from te_sched.ir.stmt import (
    Allocate,
    AttrStmt,
    BufferRealize,
    BufferStore,
    Evaluate,
    IfThenElse,
    LetStmt,
    Stmt,
)
from te_sched.ir.visitor import children, substitute, walk
from te_sched.lowering.nests import (
    BindTensors,
    Nest,
    NestContext,
    always,
    guarded,
    has_dependent_domain,
    make_nest,
    threads_of,
    wrap,
)
from te_sched.lowering.statements import sequence
from te_sched.schedule.guards import bound_checks
from te_sched.schedule.relations import spread_down
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState
from te_sched.te.operation import ComputeOp, Operation


def main_nest(stage: StageState, scope: NestContext) -> Nest:
    """The loops that compute a stage, with its bound checks as guards."""
    nest = make_nest(stage, scope)
    guards = bound_checks(stage, scope.ranges, nest.values, settings=scope.settings)
    return _with_checks(nest, guards, stage, scope)


def _with_checks(nest: Nest, guards: list[Expr], stage: StageState, scope: NestContext) -> Nest:
    if guards and has_dependent_domain(stage.op):
        bind = scope.binding(nest.substitution())
        guards = [bind.visit(guard) for guard in guards]
    return Nest(nest.axes, nest.levels, nest.values, guards)


def wrap_levels(
    body: Stmt, stage: StageState, scope: NestContext, nest: Nest, start: int, stop: int
) -> Stmt:
    """`body` inside levels start..stop-1, with the stages attached to each of these axes."""
    for position in reversed(range(start, stop)):
        body = scope.attach(stage, nest.axes[position], body)
        body = wrap(body, nest.levels[position])
    return body


def provide_compute(stage: StageState, scope: NestContext) -> Stmt:
    """The loops and stores of a compute stage."""
    op = stage.op
    assert isinstance(op, ComputeOp)
    if op.reduce_axis and _reduces_across_threads(stage):
        return _provide_across_threads(stage, op, scope)
    nest = main_nest(stage, scope)
    bind = scope.binding(nest.substitution())
    if op.reduce_axis:
        return _provide_reduction(stage, op, scope, nest, bind)
    indices = tuple([bind.visit(axis.var) for axis in op.axis])
    stores = [
        BufferStore(scope.buffer_of(op.output(i)), bind.visit(body), indices)
        for i, body in enumerate(op.body)
    ]
    inner = _with_guards(sequence(stores), stage, nest, bind)
    return wrap_levels(inner, stage, scope, nest, 0, len(nest.axes))


def _with_guards(body: Stmt, stage: StageState, nest: Nest, bind: BindTensors) -> Stmt:
    if stage.store_predicate is not None:
        body = IfThenElse(bind.visit(stage.store_predicate), body)
    return guarded(body, nest.guards, likely=True)


def first_reduction_level(stage: StageState, op: Operation) -> tuple[int, frozenset[IterVar]]:
    """The number of leaf axes outside all reduction loops, and the axes that stem from reduce axes
    only.
    """
    data, reduction = 1, 2
    marks = dict.fromkeys(op.axis, data) | dict.fromkeys(op.reduce_axis, reduction)
    flags = spread_down(stage.relations, marks)
    pure = frozenset(axis for axis, mark in flags.items() if mark == reduction)
    for position, axis in enumerate(stage.leaf_iter_vars):
        if flags.get(axis, 0) & reduction:
            return position, pure
    return len(stage.leaf_iter_vars), pure


def init_nest(
    stage: StageState, scope: NestContext, nest: Nest, common: int, skipped: frozenset[IterVar]
) -> Nest:
    """The loops that initialize a reduction inside the `common` outer levels of its nest."""
    outer_values = {axis: nest.values[axis] for axis in nest.axes[:common]}
    init = make_nest(stage, scope, common, outer_values, skipped)
    is_bounded = stage.store_predicate is not None
    guards = bound_checks(stage, scope.ranges, init.values, is_bounded, skipped, scope.settings)
    return _with_checks(init, guards, stage, scope)


def _provide_reduction(
    stage: StageState, op: ComputeOp, scope: NestContext, nest: Nest, bind: BindTensors
) -> Stmt:
    common, pure = first_reduction_level(stage, op)
    reduces = _reductions(op)
    buffers = [scope.buffer_of(op.output(i)) for i in range(op.num_outputs)]

    init = init_nest(stage, scope, nest, common, pure)
    bind_init = scope.binding(init.substitution())
    at_init = tuple([bind_init.visit(axis.var) for axis in op.axis])
    start = reduces[0].init if reduces[0].init else reduces[0].combiner.identity
    starts = [
        BufferStore(buffer, bind_init.visit(value), at_init)
        for buffer, value in zip(buffers, start, strict=True)
    ]
    initialize = guarded(sequence(starts), init.guards, likely=True)
    initialize = wrap(initialize, [wrapper for level in init.levels for wrapper in level])

    indices = tuple([bind.visit(axis.var) for axis in op.axis])
    current = [BufferLoad(buffer, indices) for buffer in buffers]
    sources = [bind.visit(source) for source in reduces[0].source]
    update = combine_into(bind.visit(reduces[0].combiner), current, sources)
    if not always(reduces[0].condition):
        update = IfThenElse(bind.visit(reduces[0].condition), update)
    update = _with_guards(update, stage, nest, bind)
    update = wrap_levels(update, stage, scope, nest, common, len(nest.axes))
    return wrap_levels(sequence([initialize, update]), stage, scope, nest, 0, common)


def _reductions(op: ComputeOp) -> list[Reduce]:
    return [body for body in op.body if isinstance(body, Reduce)]


def combine_into(
    combiner: CommReducer, places: Sequence[BufferLoad], sources: Sequence[Expr]
) -> Stmt:
    """places = combiner(places, sources), all components at once."""
    mapping: dict[Var, Expr] = dict(zip(combiner.lhs, places, strict=True))
    mapping.update(zip(combiner.rhs, sources, strict=True))
    values = [substitute(result, mapping) for result in combiner.result]
    # A component is stored before the next one is computed, unless that reads the old value.
    kept: list[tuple[Var, Expr]] = []
    for position in range(1, len(values)):
        before = {target.buffer for target in places[:position]}
        if any(
            type(part) is BufferLoad and part.buffer in before for part in walk(values[position])
        ):
            var = Var(f"{places[position].buffer.name}.next", values[position].dtype)
            kept.append((var, values[position]))
            values[position] = var
    body = sequence(
        BufferStore(target.buffer, value, target.indices)
        for target, value in zip(places, values, strict=True)
    )
    for var, value in reversed(kept):
        body = LetStmt(var, value, body)
    return body


def _reduces_across_threads(stage: StageState) -> bool:
    return any(
        axis.kind == "CommReduce" and threads_of(stage, [axis]) for axis in stage.leaf_iter_vars
    )


def _provide_across_threads(stage: StageState, op: ComputeOp, scope: NestContext) -> Stmt:
    """Threads reduce their own parts, and tvm_thread_allreduce combines their results."""
    nest = main_nest(stage, scope)
    bind = scope.binding(nest.substitution())
    reduces = _reductions(op)
    combiner: CommReducer = bind.visit(reduces[0].combiner)
    condition = bind.visit(reduces[0].condition)
    sources: list[Expr] = [bind.visit(source) for source in reduces[0].source]
    reduced = [axis for axis in nest.axes if axis.kind == "CommReduce"]
    threads = [thread.var for axis in reduced for thread in threads_of(stage, [axis])]
    serial = [axis for axis in reduced if not threads_of(stage, [axis])]
    partial: list[Buffer] = []
    predicate: Expr = TRUE
    parts: list[Stmt] = []
    if serial:
        partial = _temporaries("normal_reduce_temp", reduces)
        places = [BufferLoad(buffer, (IntImm(0),)) for buffer in partial]
        for target, start in zip(places, combiner.identity, strict=True):
            parts.append(BufferStore(target.buffer, start, target.indices))
        update = guarded(combine_into(combiner, places, sources), [*nest.guards, condition])
        parts.append(_inside(update, stage, scope, nest, serial))
        sources = list(places)
    else:
        for guard in (*nest.guards, condition):
            predicate = ops.logical_and(predicate, guard)

    results = _temporaries("reduce_temp", reduces)
    loads = [BufferLoad(buffer, (IntImm(0),)) for buffer in results]
    arguments = (IntImm(len(reduces), "uint32"), *sources, predicate, *loads, *threads)
    combine = Evaluate(Call("handle", "tir.tvm_thread_allreduce", arguments))
    null = Call("handle", "tir.reinterpret", (IntImm(0, "uint64"),))
    parts.append(AttrStmt(combiner, "reduce_scope", null, combine))

    indices = tuple([bind.visit(axis.var) for axis in op.axis])
    buffers = [scope.buffer_of(op.output(i)) for i in range(op.num_outputs)]
    stores = [BufferStore(b, load, indices) for b, load in zip(buffers, loads, strict=True)]
    # A bound check of the reduction is in the predicate; one of data axes must guard the store,
    # which TVM omits.
    combined = {*threads, *(axis.var for axis in serial)}
    data_guards = [guard for guard in nest.guards if combined.isdisjoint(walk(guard))]
    store = guarded(sequence(stores), data_guards, likely=True)
    for thread in reversed(threads):
        store = IfThenElse(ops.equal(thread, IntImm(0, thread.dtype)), store, None, True)
    if stage.store_predicate is not None:
        store = IfThenElse(bind.visit(stage.store_predicate), store)
    body = sequence([*parts, store])
    for position in reversed(range(len(results))):
        for buffer in (results[position], *partial[position : position + 1]):
            body = Allocate(buffer.data, buffer.dtype, (IntImm(1),), TRUE, body)
    return _inside(
        body, stage, scope, nest, [a for a in nest.axes if a not in frozenset(serial)], serial
    )


def _inside(
    body: Stmt,
    stage: StageState,
    scope: NestContext,
    nest: Nest,
    axes: list[IterVar],
    loops: Sequence[IterVar] = (),
) -> Stmt:
    """`body` with these `loops`, inside the levels of some axes."""
    chosen = frozenset(axes)
    inner: frozenset[Var | Buffer] = frozenset(axis.var for axis in loops)
    inner |= {node.buffer for node in walk(body) if type(node) is BufferRealize}
    for position in reversed(range(len(nest.axes))):
        axis = nest.axes[position]
        if axis in chosen:
            attached = scope.attach(stage, axis, body)
            _check_attached(stage, axis, inner, _before(attached, body))
            body = wrap(attached, nest.levels[position])
    return body


def _before(whole: Stmt, body: Stmt) -> Iterator[Any]:
    """The parts of a statement but the last."""
    left: list[Any] = [whole]
    while left:
        node = left.pop()
        if node is not body:
            yield node
            left.extend(children(node))


def _check_attached(
    stage: StageState, axis: IterVar, inner: frozenset[Var | Buffer], nodes: Iterable[Any]
) -> None:
    """Refuse a stage attached at an axis that reads variables of loops further inside, or stages
    computed in them.
    """
    for node in nodes:
        if type(node) is Var and node in inner:
            needs = f"needs the value of loop {node.name}"
            help = f"compute it at axis {node.name}, or reorder {axis.var.name} before {node.name}"
        elif type(node) is BufferLoad and node.buffer in inner:
            name = node.buffer.name
            needs = f"reads {name}, which is computed further inside"
            help = f"compute {name} at axis {axis.var.name} too, or outside of it"
        else:
            continue
        raise LoweringError(
            f"cannot compute a stage at axis {axis.var.name} of stage {stage.op.name}: it {needs}",
            "in that loop each thread reduces its part, before the threads of "
            f"{axis.var.name} combine their results",
            help,
            where=At(stage, axis),
        )


def _temporaries(name: str, reduces: Sequence[Reduce]) -> list[Buffer]:
    """A buffer of one element for each component of a reduction, private to each thread."""
    buffers = []
    for i, reduce in enumerate(reduces):
        data = Var(f"{name}{i}", "handle", PointerType(reduce.dtype, "local"))
        buffers.append(Buffer(data, reduce.dtype, (IntImm(1),), (), IntImm(0), data.name))
    return buffers
