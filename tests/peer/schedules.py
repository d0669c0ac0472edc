"""Schedules of both implementations as plain values, for comparison.

Names of axes and operations are part of the values, since they are printed.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir import expr as E
from te_sched.ir.visitor import INIT_FIELDS
from te_sched.schedule import AttachType, Schedule
from tests.peer.bridge import Bridge


def summary(schedule: Any) -> list[dict[str, Any]]:
    """The stages and groups of a schedule."""
    view = _Ours(schedule) if isinstance(schedule, Schedule) else _Theirs(schedule)
    return [view.stage(stage) for stage in (*schedule.stages, *schedule.groups)]


class _View:
    """Reads a schedule; subclasses have the methods that differ between implementations."""

    kinds: dict[str, str]

    def __init__(self, schedule: Any) -> None:
        self.groups = list(schedule.groups)

    def stage(self, stage: Any) -> dict[str, Any]:
        """The state of one stage or group."""
        result = {
            "attach": self.attachment(stage),
            "group": self.group_number(stage.group),
            "children": int(stage.num_child_stages),
        }
        if stage.op is None:
            return result
        return {
            **result,
            "op": (type(stage.op).__name__, str(stage.op.name), str(stage.origin_op.name)),
            "scope": str(stage.scope),
            "is_output": bool(stage.is_output),
            "leaf": [self.axis(axis) for axis in stage.leaf_iter_vars],
            "all": [self.axis(axis) for axis in stage.all_iter_vars],
            "relations": self.relations(stage),
            "attrs": self.attributes(stage),
            "body": self.body(stage),
        }

    def attachment(self, stage: Any) -> tuple[Any, ...]:
        """The kind of attachment and, for loops, the stage and the axis."""
        kind = int(stage.attach_type)
        if kind != AttachType.SCOPE:
            return (kind,)
        return kind, str(stage.attach_stage.op.name), str(stage.attach_ivar.var.name)

    def group_number(self, group: Any) -> int | None:
        """The position of a group in `schedule.groups`."""
        same = [
            i for i, one in enumerate(self.groups) if group is not None and self.same(one, group)
        ]
        return same[0] if same else None

    def relations(self, stage: Any) -> list[Any]:
        """The relations from which loops derive; TVM keeps others after rfactor."""
        live = {str(axis.var.name) for axis in stage.leaf_iter_vars}
        found = []
        for relation in reversed(stage.relations):
            axes, lengths = self.relation(relation)
            if live & {axes.get(name) for name in ("outer", "inner", "fused", "rebased", "iter")}:
                live |= set(axes.values())
                found.append((axes, lengths))
        return found

    def relation(self, relation: Any) -> tuple[Any, ...]:
        """The axes of a relation by name."""
        names = ("parent", "outer", "inner", "fused", "rebased", "iter")
        axes = {n: str(getattr(relation, n).var.name) for n in names if hasattr(relation, n)}
        lengths = {
            n: self.expr(getattr(relation, n))
            for n in ("factor", "nparts")
            if getattr(relation, n, None) is not None
        }
        return axes, lengths

    def attributes(self, stage: Any) -> list[Any]:
        """The annotations of loops and axes of the tensor that have any."""
        found = []
        for axis in (*stage.all_iter_vars, *stage.leaf_iter_vars):
            attr = self.attribute(stage, axis)
            if attr is None:
                continue
            found.append(
                (
                    str(axis.var.name),
                    self.iter_type(attr),
                    None if attr.bind_thread is None else str(attr.bind_thread.var.name),
                    [str(tensor.op.name) for tensor in attr.prefetch_data],
                    [self.expr(offset) for offset in attr.prefetch_offset],
                    int(attr.dim_align_factor),
                    int(attr.dim_align_offset),
                    [str(name).strip('"') for name in attr.pragma_keys],
                    [self.expr(value) for value in attr.pragma_values],
                )
            )
        return found

    def body(self, stage: Any) -> Any:
        """The bodies of a compute, unless it was inlined."""
        if type(stage.op).__name__ != "ComputeOp" or int(stage.attach_type) == 3:
            return None
        axes = [self.axis(axis) for axis in (*stage.op.axis, *stage.op.reduce_axis)]
        return axes, str(stage.op.tag), [self.expr(value) for value in stage.op.body]

    def axis(self, axis: Any) -> tuple[Any, ...]:
        """Name, kind, domain."""
        dom = axis.dom
        bounds = None if dom is None else (self.expr(dom.min), self.expr(dom.extent))
        return str(axis.var.name), self.kind(axis), str(axis.var.dtype), bounds


class _Ours(_View):
    def same(self, a: Any, b: Any) -> bool:
        return a is b

    def kind(self, axis: Any) -> str:
        return str(axis.kind)

    def iter_type(self, attr: Any) -> str:
        return str(attr.iter_type)

    def attribute(self, stage: Any, axis: Any) -> Any:
        return stage.iter_var_attrs.get(axis)

    def expr(self, value: Any) -> Any:
        return key(value)


class _Theirs(_View):
    def __init__(self, schedule: Any) -> None:
        super().__init__(schedule)
        self.bridge = Bridge()

    def same(self, a: Any, b: Any) -> bool:
        return bool(a.same_as(b))

    def kind(self, axis: Any) -> str:
        return E.ITER_KINDS[axis.iter_type]

    def iter_type(self, attr: Any) -> str:
        return E.ITER_KINDS[attr.iter_type]

    def attribute(self, stage: Any, axis: Any) -> Any:
        return dict(stage.iter_var_attrs.items()).get(axis)

    def expr(self, value: Any) -> Any:
        return key(self.bridge.convert(value))


def key(node: Any) -> Any:
    """A node as nested tuples, with names of named objects."""
    if isinstance(node, (tuple, list)):
        return tuple([key(item) for item in node])
    if isinstance(node, E.Reduce) and not node.axis:  # TVM keeps such reductions over nothing
        value = key(node.source[node.value_index])
        if isinstance(node.condition, E.IntImm):
            return value
        identity = key(node.combiner.identity[node.value_index])
        return "Select", key(node.condition), value, identity
    if isinstance(node, E.DataProducer):
        name = node.op.name if hasattr(node, "op") else node.name  # type: ignore[attr-defined]
        return str(name), node.value_index  # type: ignore[attr-defined]
    if isinstance(node, E.IterVar):
        return node.var.name, node.kind, key(node.dom)
    if isinstance(node, E.Var):
        return node.name, node.dtype
    if isinstance(node, E.FloatImm):
        return "float", float(node.value), node.dtype
    if isinstance(node, E.Node):
        fields = [key(getattr(node, name)) for name in INIT_FIELDS[type(node)]]
        return (type(node).__name__, *fields)
    return node
