"""Primitives that change the layout of a tensor in memory: transform_layout, rolling_buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import ScheduleError, with_article
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm, IterVar, Range, Var
from te_sched.ir.index_map import AXIS_SEPARATOR
from te_sched.schedule.layouts import layout_map
from te_sched.schedule.primitives.checks import check_operation, names, stage_label
from te_sched.schedule.relations import Transform
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import AttachType, Fate, StageDraft, StageState
from te_sched.te.declare import index_names, keyword_names
from te_sched.te.operation import ComputeOp, PlaceholderOp
from te_sched.trace.primitive import primitive


class RearrangingPrimitives(StageState):
    """Primitives that set the layout of a stage in memory."""

    __slots__ = ()

    @primitive("Store {stage} in another layout", has_target=True)
    def transform_layout(
        self, mapping_function: Callable[..., Sequence[Any] | Expr]
    ) -> list[IterVar]:
        """Store the result in another layout, and iterate in the order of that layout.

        Parameters
        ----------
        mapping_function : (old indices) -> list of new indices, one to one, for example
            `lambda i, j: [i // 4, j, i % 4]`. All consumers are rewritten; for an input or output,
            the caller's array has the new shape. Arguments after `*` are the last indices:
            `lambda *i, n: [*i, n // 4, n % 4]`.

        Returns
        -------
        The new axes; an empty list for an input.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i], name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A[i]
        >>> outer, inner = s[B].transform_layout(lambda i: [i // 4, i % 4])
        >>> print(s)
        main(A: float32[8], B: float32[2, 4])
        └─ stage B
           └─ for axis0  0:2
              └─ for axis1  0:4
                 └─ B[(axis0 * 4 + axis1) // 4, (axis0 * 4 + axis1) % 4] = A[axis0 * 4 + axis1]
        """
        where = At(self)
        check_operation(self, "transform the layout of")
        if not isinstance(self.op, (ComputeOp, PlaceholderOp)):
            raise ScheduleError(
                f"cannot transform the layout of {stage_label(self)}: "
                f"it is {with_article(type(self.op).__name__)}",
                "only the result of a te.compute or a te.placeholder can be rearranged",
                "copy it with cache_read and rearrange the copy",
                where,
            )
        extents = self.layouts[-1].extents if self.layouts else self.op.output(0).shape
        last = keyword_names(mapping_function)
        called = f"transform_layout of {self.op.name}"
        index_texts = index_names(mapping_function, len(extents), called, last=last)
        variables = tuple(
            [Var(name, extent.dtype) for name, extent in zip(index_texts, extents, strict=True)]
        )
        count = len(extents) - len(last)
        named = dict(zip(last, variables[count:], strict=True))
        mapped_indices = mapping_function(*variables[:count], **named)
        results, separators = _new_indices(mapped_indices, self)
        layout = layout_map(variables, extents, results, separators, where)
        axes: list[IterVar] = []
        if isinstance(self.op, ComputeOp):
            axes = self._new_axes(layout.extents)
            self.draft.relations.append(Transform(self._layout_axes(), tuple(axes), layout))
            _replace_axes(self.draft, axes)
        self.draft.layouts = (*self.layouts, layout)
        return axes

    def _new_axes(self, extents: tuple[IntImm, ...]) -> list[IterVar]:
        for axis in self._layout_axes():
            if not any(axis is leaf for leaf in self.leaf_iter_vars):
                fate = f"was {self.fates[axis].text}" if axis in self.fates else "is not a loop"
                raise ScheduleError(
                    f"cannot transform the layout of {stage_label(self)}: "
                    f"axis {axis.var.name} {fate}",
                    help="call transform_layout before split and fuse, and use the axes it returns",
                    where=At(self, axis),
                )
        return [
            IterVar(
                Range(IntImm(0, extent.dtype), extent), Var(f"axis{at}", extent.dtype), "DataPar"
            )
            for at, extent in enumerate(extents)
        ]

    def _layout_axes(self) -> tuple[IterVar, ...]:
        for relation in reversed(self.relations):
            if isinstance(relation, Transform):
                return relation.targets
        return self.op.axis

    @primitive("Keep a rolling buffer of {stage}", has_target=True)
    def rolling_buffer(self) -> None:
        """Mark consecutive tiles of a stage as overlapping.

        A backend may use this to reuse the overlap; on a CPU each tile is computed whole.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
        >>> s = te.create_schedule(C)
        >>> s[B].compute_at(s[C], C.op.axis[0])
        >>> print(s)
        main(A: float32[8], C: float32[8])
        └─ stage C
           └─ for i  0:8
              ├─ B: float32[1] global, 4 bytes
              ├─ stage B
              │  └─ B[i] = A[i] + 1.0
              └─ C[i] = B[i] * 2.0
        >>> s[B].rolling_buffer()
        >>> print(s)
        main(A: float32[8], C: float32[8])
        └─ stage C
           └─ for i  0:8
              ├─ B: float32[1] global, 4 bytes
              ├─ B: rolling buffer
              ├─ stage B
              │  └─ B[i] = A[i] + 1.0
              └─ C[i] = B[i] * 2.0
        """
        check_operation(self, "use a rolling buffer for")
        if self.is_output or self.attach_type != AttachType.SCOPE:
            raise ScheduleError(
                f"cannot use a rolling buffer for {stage_label(self)}: "
                "it is not computed at a loop of another stage",
                "only an attached stage has tiles",
                "call compute_at first",
                At(self),
            )
        self.draft.is_rolling = True


def _replace_axes(draft: StageDraft, axes: list[IterVar]) -> None:
    relation = draft.relations[-1]
    replaced = set(relation.inputs)
    position = min(at for at, leaf in enumerate(draft.leaf_iter_vars) if leaf in replaced)
    kept = [leaf for leaf in draft.leaf_iter_vars if leaf not in replaced]
    draft.leaf_iter_vars = [*kept[:position], *axes, *kept[position:]]
    draft.all_iter_vars += axes
    fate = Fate(f"rearranged into {names(axes)}", draft.changes.place)
    draft.fates.update(dict.fromkeys(replaced, fate))


def _new_indices(indices: Any, stage: StageState) -> tuple[tuple[Expr, ...], tuple[int, ...]]:
    results: list[Expr] = []
    separators: list[int] = []
    for item in indices if isinstance(indices, list | tuple) else [indices]:
        if item is AXIS_SEPARATOR:
            separators.append(len(results))
            continue
        index = ops.convert(item)
        if not dtypes.is_integral(index.dtype):
            raise ScheduleError(
                f"new index {index} of transform_layout must be an integer, "
                f"got dtype {index.dtype}",
                help="return a list of integer expressions of the indices",
                where=At(stage),
            )
        results.append(index)
    return tuple(results), tuple(separators)
