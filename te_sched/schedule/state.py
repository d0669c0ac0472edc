"""The state of a stage: its operation, its axes and their annotations.

Only the primitives (`schedule.primitives`) change this state. Must not know any primitive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from te_sched.errors import SourceLocation
from te_sched.ir.expr import Expr, IterVar
from te_sched.schedule.layouts import LayoutMap
from te_sched.schedule.relations import Relation
from te_sched.te.intrin_call import TensorIntrin
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.trace.drafts import Draft

if TYPE_CHECKING:
    from te_sched.schedule.program import ScheduleState


class AttachType(IntEnum):
    """Where a stage is computed."""

    GROUP_ROOT = 1  # at the root of its group, or of the program
    INLINE = 2  # in its consumers' expressions
    INLINED_ALREADY = 3  # nowhere: `normalize` substituted it into its consumers
    SCOPE = 4  # inside the loop `attach_ivar` of `attach_stage`
    SCAN_UPDATE = 5  # in the loop of a scan (groups only)


@dataclass(frozen=True, slots=True, eq=False)
class IterVarAttr:
    """The annotations of one axis. Immutable: a primitive replaces it."""

    iter_type: str = "DataPar"
    bind_thread: IterVar | None = None
    prefetch_data: tuple[Tensor, ...] = ()
    prefetch_offset: tuple[Expr, ...] = ()
    tensor_intrin: TensorIntrin | None = None
    dim_align_factor: int = 0
    dim_align_offset: int = 0
    pragma_keys: tuple[str, ...] = ()
    pragma_values: tuple[Expr | None, ...] = ()


PLAIN = IterVarAttr()


class Length(NamedTuple):
    """A loop length that depends on arguments of a call, described as "the factor of axis i of B",
    with the dtype of its axis.
    """

    text: str
    value: Expr
    dtype: str


class Fate(NamedTuple):
    """What replaced an axis that is not a loop anymore, and the source line of that call."""

    text: str
    place: SourceLocation


class StageDraft(Draft):
    """The new state of a stage, which a primitive computes."""

    __slots__ = ()

    all_iter_vars: list[IterVar]
    attach_ivar: IterVar | None
    attach_stage: StageState | None
    attach_type: AttachType
    fates: dict[IterVar, Fate]
    group: StageState | None
    is_double_buffered: bool
    is_rolling: bool
    iter_var_attrs: dict[IterVar, IterVarAttr]
    launched_threads: tuple[IterVar, ...]
    layouts: tuple[LayoutMap, ...]
    leaf_iter_vars: list[IterVar]
    lengths: tuple[Length, ...]
    num_child_stages: int
    op: Operation
    relations: list[Relation]
    scope: str
    store_predicate: Expr | None

    def set_attr(self, axis: IterVar, **changes: Any) -> None:
        """Change the annotations of an axis."""
        self.iter_var_attrs[axis] = changed(self.iter_var_attrs.get(axis, PLAIN), changes)

    def reset_axes(self, op: Operation, fate: Fate) -> None:
        """Restart from the axes of another operation; the previous loops get this fate."""
        kept = set(op.root_iter_vars())
        for axis in self.leaf_iter_vars:
            if axis not in kept:
                self.fates[axis] = fate
        for axis in kept:
            self.fates.pop(axis, None)
        self.iter_var_attrs = {
            axis: attr for axis, attr in self.iter_var_attrs.items() if axis in kept
        }
        self.all_iter_vars = list(op.root_iter_vars())
        self.leaf_iter_vars = [axis for axis in self.all_iter_vars if axis.kind != "Opaque"]
        self.relations = []
        self.op = op


class StageState:
    """The state of a stage, or of a group of stages (`is_group`; it has no operation)."""

    __slots__ = (*StageDraft.__annotations__, "is_group", "is_output", "origin_op", "schedule")

    op: Operation
    origin_op: Operation
    group: StageState | None
    attach_stage: StageState | None
    attach_ivar: IterVar | None
    store_predicate: Expr | None

    def __init__(self, op: Operation | None, schedule: ScheduleState) -> None:
        self.op = self.origin_op = op  # type: ignore[assignment]
        self.is_group = op is None
        self.schedule = schedule
        roots = op.root_iter_vars() if op is not None else ()
        self.all_iter_vars: list[IterVar] = list(roots)
        self.leaf_iter_vars: list[IterVar] = [axis for axis in roots if axis.kind != "Opaque"]
        self.relations: list[Relation] = []
        self.lengths: tuple[Length, ...] = ()  # includes loops that became axes
        self.iter_var_attrs: dict[IterVar, IterVarAttr] = {}
        self.launched_threads: tuple[IterVar, ...] = ()
        self.store_predicate = None
        self.attach_type = AttachType.GROUP_ROOT
        self.attach_ivar = None
        self.attach_stage = None
        self.scope = ""
        self.is_output = False
        self.is_double_buffered = False
        self.is_rolling = False
        self.layouts: tuple[LayoutMap, ...] = ()
        self.group = None
        self.num_child_stages = 0
        self.fates: dict[IterVar, Fate] = {}

    @property
    def attach_spec(self) -> StageState:
        """The stage or group whose attachment applies to this stage."""
        spec = self
        while spec.attach_type == AttachType.GROUP_ROOT and spec.group is not None:
            spec = spec.group
        return spec

    def copy_from(
        self, other: StageState, schedule: ScheduleState, twin: Mapping[StageState, StageState]
    ) -> None:
        """Copy a stage of another schedule; `twin` maps stages to their copies."""
        for name in StageState.__slots__:
            setattr(self, name, getattr(other, name))
        self.schedule = schedule
        self.all_iter_vars = list(other.all_iter_vars)
        self.leaf_iter_vars = list(other.leaf_iter_vars)
        self.relations = list(other.relations)
        self.iter_var_attrs = dict(other.iter_var_attrs)
        self.fates = dict(other.fates)
        self.group = twin[other.group] if other.group is not None else None
        self.attach_stage = twin[other.attach_stage] if other.attach_stage is not None else None

    @property
    def draft(self) -> StageDraft:
        """The new state of the stage, while a primitive computes it."""
        assert self.schedule.changes is not None
        draft: StageDraft = self.schedule.changes.draft(self, StageDraft)
        return draft


_FIELDS = IterVarAttr.__slots__
_VALUES = attrgetter(*_FIELDS)


def changed(attr: IterVarAttr, changes: Mapping[str, Any]) -> IterVarAttr:
    """A copy of the annotations of an axis with changes."""
    fields = dict(zip(_FIELDS, _VALUES(attr), strict=True))
    fields.update(changes)
    return IterVarAttr(**fields)
