"""The loops of one stage: the loop of each axis, the values of its sources, and guards.

A nest is a list of levels, one per leaf axis; a level is a list of functions that wrap a statement,
outermost
first. Must not know what is computed inside the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.data import DataDependence
from te_sched.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    DataProducer,
    Expr,
    IntImm,
    IterVar,
    ProducerLoad,
    Range,
    Var,
)
from te_sched.ir.message_text import spelled
from te_sched.ir.ops import TRUE
from te_sched.ir.retyped import Retyper
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, Stmt
from te_sched.ir.visitor import AccessMapper
from te_sched.lowering.bounds import is_private
from te_sched.schedule.relations import Ranges, Values
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import IterVarAttr, StageState
from te_sched.te.operation import Operation

Wrap = Callable[[Stmt], Stmt]

_FOR_KIND = {"Unrolled": "unrolled", "Vectorized": "vectorized", "Parallelized": "parallel"}
VIRTUAL_THREADS = ("vthread", "cthread")


class BindTensors(Retyper):
    """Replaces variables by values and reads of tensors by reads of their buffers.

    A value may be wider than its variable, if indices of 64 bits determine the region of a stage;
    then expressions that contain it are widened. In programs to run (`to_run`), data keeps the
    types as written, in which it wraps around.
    """

    def __init__(
        self,
        values: Mapping[Var, Expr],
        buffer_of: Callable[[DataProducer], Buffer],
        to_run: bool = False,
    ) -> None:
        self.values, self.buffer_of, self.to_run = values, buffer_of, to_run
        self.data = DataDependence()

    def unified(self, old: tuple[Expr, ...], a: Expr, b: Expr) -> tuple[Expr, Expr]:
        dtype = old[0].dtype
        is_other = self.to_run and (a.dtype != dtype or b.dtype != dtype)
        if is_other and any(map(self.data.of, old)):
            return ops.cast(dtype, a), ops.cast(dtype, b)
        return super().unified(old, a, b)

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)

    def visit_ProducerLoad(self, node: ProducerLoad) -> Expr:
        return BufferLoad(
            self.buffer_of(node.producer), tuple([self.visit(index) for index in node.indices])
        )


class ReplaceBuffers(AccessMapper):
    """Replaces buffers by others, at the same indices."""

    def __init__(self, buffers: Mapping[Buffer, Buffer]) -> None:
        self.buffers = buffers

    def renewed(self, node: Buffer) -> Buffer:
        return self.buffers.get(node, node)


@dataclass(frozen=True, slots=True)
class NestContext:
    """The context of a stage's statements. `attach(stage, axis, body)` puts the stages that are
    computed at an axis before `body`; `outer_threads` are launched around the stage.
    """

    ranges: Ranges
    buffer_of: Callable[[DataProducer], Buffer]
    attach: Callable[[StageState, IterVar, Stmt], Stmt]
    outer_threads: frozenset[IterVar]
    settings: Lowering = AS_TVM

    def binding(self, values: Mapping[Var, Expr]) -> BindTensors:
        """The substitution of these values for variables in the body of a stage."""
        return BindTensors(values, self.buffer_of, self.settings.to_run)


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops of a stage: `levels[i]` wraps what is inside leaf axis `axes[i]`; `values` is known for
    every axis.
    """

    axes: list[IterVar]
    levels: list[list[Wrap]]
    values: Values
    guards: list[Expr]

    def substitution(self) -> dict[Var, Expr]:
        """The values of the axes, by variable."""
        return {axis.var: value for axis, value in self.values.items() if value is not axis.var}


def wrap(body: Stmt, wrappers: Iterable[Wrap]) -> Stmt:
    """The statement inside the wrappers, of which the first is outermost."""
    for wrapper in reversed(list(wrappers)):
        body = wrapper(body)
    return body


def guarded(body: Stmt, conditions: Iterable[Expr], likely: bool = False) -> Stmt:
    """The statement under nested ifs, the first condition outermost."""
    for condition in reversed(list(conditions)):
        body = IfThenElse(Call("bool", "tir.likely", (condition,)) if likely else condition, body)
    return body


def make_nest(
    stage: StageState,
    scope: NestContext,
    first: int = 0,
    init_of: Values | None = None,
    skipped: frozenset[IterVar] = frozenset(),
) -> Nest:
    """The nest of a stage's leaf axes from number `first` on.

    For the loops that initialize a reduction, `init_of` holds the values of the axes before
    `first`, new variables
    are made, and `skipped` (reduction) axes are left out.
    """
    ranges = scope.ranges
    values: Values = dict(init_of) if init_of is not None else {}
    leaves = list(stage.leaf_iter_vars[first:])
    levels: list[list[Wrap]] = []
    launched = set(scope.outer_threads)
    if init_of is not None:
        launched |= threads_of(stage, stage.leaf_iter_vars[:first])
    for axis in leaves:
        if axis in skipped or axis.kind == "Opaque":
            values[axis] = axis.var
            levels.append([])
            continue
        attr = stage.iter_var_attrs.get(axis)
        thread = attr.bind_thread if attr is not None and attr.bind_thread is not None else axis
        if thread.thread_tag:
            levels.append(_thread_level(stage, axis, thread, ranges[axis], launched, values))
        else:
            levels.append(_loop_level(axis, attr, scope, init_of is not None, values))
    for relation in reversed(stage.relations):
        relation.indices_up(values, ranges)
    if has_dependent_domain(stage.op):
        _resolve(values, stage.op, scope)
    return Nest(leaves, levels, values, [])


def has_dependent_domain(op: Operation) -> bool:
    """Whether the range of some axis of an operation is not made of constants and variables
    alone."""
    return any(
        axis.dom is not None
        and not (type(axis.dom.min) is IntImm and type(axis.dom.extent) in (IntImm, Var))
        for axis in op.reduce_axis
    )


def _resolve(values: Values, op: Operation, scope: NestContext) -> None:
    """The minimum of an axis may depend on data and on the axes declared before it."""
    bindings: dict[Var, Expr] = {}
    bind = scope.binding(bindings)
    for axis in op.root_iter_vars():
        if axis in values:
            values[axis] = bind.visit(values[axis])
            bindings[axis.var] = values[axis]
    for axis, value in values.items():
        values[axis] = bind.visit(value)


def threads_of(stage: StageState, axes: Iterable[IterVar]) -> frozenset[IterVar]:
    """The threads that some axes of a stage are bound to."""
    attrs = (stage.iter_var_attrs.get(axis) for axis in axes)
    return frozenset(
        attr.bind_thread for attr in attrs if attr is not None and attr.bind_thread is not None
    )


def _thread_level(
    stage: StageState,
    axis: IterVar,
    thread: IterVar,
    bound: Range,
    launched: set[IterVar],
    values: Values,
) -> list[Wrap]:
    if not ops.is_const(bound.min, 0):
        raise LoweringError(
            f"axis {axis.var.name} is bound to {thread.thread_tag} but starts at "
            f"{spelled(bound.min)}",
            "thread indices start at zero",
            "split the axis first, or bind an axis that starts at zero",
            where=At(stage, axis),
        )
    virtual = thread.thread_tag in VIRTUAL_THREADS
    if virtual and not (isinstance(bound.extent, IntImm) and bound.extent.value > 0):
        raise LoweringError(
            f"axis {axis.var.name} is bound to a virtual thread but has extent "
            f"{spelled(bound.extent)}",
            "virtual threads are copies of statements, so their number must be a positive constant",
            "bind an axis of constant extent (split with nparts)",
            where=At(stage, axis),
        )
    extent = ops.cast(thread.var.dtype, bound.extent)
    is_own = is_private(stage.scope, thread.thread_tag)  # each thread computes all of it
    if not virtual and (is_own or ops.is_const(bound.extent, 1)):
        values[axis] = ops.cast(axis.var.dtype, bound.min)
    else:
        values[axis] = ops.cast(axis.var.dtype, thread.var)
    if thread in launched:
        return []
    launched.add(thread)
    key = "virtual_thread" if virtual else "thread_extent"
    return [lambda body: AttrStmt(thread, key, extent, body)]


def _loop_level(
    axis: IterVar, attr: IterVarAttr | None, scope: NestContext, init: bool, values: Values
) -> list[Wrap]:
    level: list[Wrap] = []
    bound = scope.ranges[axis]
    kind = _FOR_KIND.get(axis.kind, "serial")
    if attr is not None:
        kind = _FOR_KIND.get(attr.iter_type or axis.kind, "serial")
        for key, value in zip(attr.pragma_keys, attr.pragma_values, strict=True):
            level.append(_attribute(axis, f"pragma_{key}", value))
    if ops.is_const(bound.extent, 1) and not scope.settings.keep_trivial_loops:
        values[axis] = ops.cast(axis.var.dtype, bound.min)
    else:
        starts_at_zero = ops.is_const(bound.min, 0)
        if init:
            var = Var(axis.var.name + ".init", axis.var.dtype)
        elif starts_at_zero:
            var = axis.var
        else:
            var = Var(axis.var.name + ".idx", axis.var.dtype)
        zero = IntImm(0, axis.var.dtype)
        extent = ops.cast(axis.var.dtype, bound.extent)
        values[axis] = var if starts_at_zero else bound.min + var
        level.append(lambda body: For(var, zero, _bound_extent(extent, values, scope), kind, body))
    if attr is not None and attr.prefetch_data:
        for tensor, offset in zip(attr.prefetch_data, attr.prefetch_offset, strict=True):
            level.append(_attribute(scope.buffer_of(tensor), "prefetch_scope", offset))
    return level


def _bound_extent(extent: Expr, values: Values, scope: NestContext) -> Expr:
    # The extent of a data-dependent loop contains the axes that the stage was declared with.
    if type(extent) is IntImm:
        return extent
    of_vars = {axis.var: value for axis, value in values.items() if value is not axis.var}
    bound: Expr = scope.binding(of_vars).visit(extent)
    return bound


def _attribute(node: object, key: str, value: Expr | None) -> Wrap:
    return lambda body: AttrStmt(node, key, value if value is not None else IntImm(1), body)


def always(condition: Expr) -> bool:
    """Whether a condition is the constant true."""
    return condition is TRUE or ops.is_const(condition, 1)
