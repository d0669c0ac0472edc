"""Primitives that change the loops of a stage: split, fuse, reorder, tile."""

from __future__ import annotations

from functools import partial, reduce
from typing import overload

from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.expr import ITER_KINDS, Expr, IntImm, IterVar, Range, Var
from te_sched.schedule.handles import BY_NAME, FLAG, IntegerExpr
from te_sched.schedule.primitives.checks import (
    check_distinct,
    check_kind,
    check_operation,
    flag,
    leaf_position,
    names,
    positive_integer,
    stage_label,
)
from te_sched.schedule.relations import Fuse, Singleton, Split
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import Fate, Length, StageDraft, StageState
from te_sched.trace.primitive import primitive

_LONGEST_NAME = 20_000  # characters, as after ten times split and fuse of one axis
_LOOPS = ("DataPar", "CommReduce", "Ordered")
_MOVABLE = ("DataPar", "CommReduce", "ThreadIndex")


class LoopPrimitives(StageState):
    """Primitives that change the loops of a stage."""

    __slots__ = ()

    @primitive(
        "Split {parent} into {results}",
        has_target=True,
        factor=BY_NAME,
        nparts=BY_NAME,
        disable_predication=FLAG._replace(by_name=True),
    )
    def split(
        self,
        parent: IterVar,
        factor: IntegerExpr | None = None,
        nparts: IntegerExpr | None = None,
        disable_predication: bool = False,
    ) -> tuple[IterVar, IterVar]:
        """Split a loop into two: `for i in range(n)` becomes `i.outer`, `i.inner`.

        Parameters
        ----------
        parent : the axis.
        factor : the length of the inner loop; that of the outer one is ceil(n / factor).
        nparts : the length of the outer loop, instead of `factor`.
        disable_predication : omit the guard, asserting that the length divides n. `build` checks
            this for constant n, otherwise each call does.

        Returns
        -------
        The outer and the inner axis.

        >>> from te_sched import te
        >>> A = te.placeholder((10,), name="A")
        >>> B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[10], B: float32[10])
        └─ stage B
           └─ for i  0:10
              └─ B[i] = A[i] + 1.0
        >>> outer, inner = s[B].split(B.op.axis[0], factor=4)
        >>> print(s)
        main(A: float32[10], B: float32[10])
        └─ stage B
           └─ for i.outer  0:3
              └─ for i.inner  0:4
                 └─ if i.inner + i.outer * 4 < 10
                    └─ B[i.inner + i.outer * 4] = A[i.inner + i.outer * 4] + 1.0
        """
        leaf_position(self, parent, "split")
        check_kind(self, parent, _LOOPS, "split")
        if (factor is None) == (nparts is None):
            raise ScheduleError(
                f"split of axis {parent.var.name} takes either factor or nparts, got "
                + ("neither" if factor is None else "both"),
                "each of the two lengths follows from the other",
                "give either factor= (length of the inner loop) or nparts= (of the outer one)",
                At(self, parent),
            )
        name, value = ("factor", factor) if factor is not None else ("nparts", nparts)
        length = positive_integer(value, name, "split", self, parent)
        is_exact = flag(disable_predication, "split disable_predication", At(self, parent))
        return _split(self.draft, parent, name, length, is_exact)

    @primitive("Fuse {args} into {results}", has_target=True)
    def fuse(self, *args: IterVar) -> IterVar:
        """Fuse adjacent loops, given from outer to inner, into one.

        Without arguments, it adds an outermost loop of one iteration.

        Returns
        -------
        The fused axis.

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for i  0:4
              └─ for j  0:8
                 └─ B[i, j] = A[i, j] + 1.0
        >>> fused = s[B].fuse(*B.op.axis)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for i.j.fused  0:32
              └─ B[i.j.fused // 8, i.j.fused % 8] = A[i.j.fused // 8, i.j.fused % 8] + 1.0
        """
        check_operation(self, "fuse")
        _check_consecutive(self, args)
        if not args:
            return _singleton(self.draft)
        _check_length(self, args)
        return reduce(partial(_fuse, self.draft), args)

    @primitive("Reorder the loops to {args}", has_target=True)
    def reorder(self, *args: IterVar) -> None:
        """Reorder loops, outermost first; the other loops keep their positions.

        The positions that the given loops have together are filled in the new order.

        >>> from te_sched import te
        >>> A = te.placeholder((4, 8), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for i  0:4
              └─ for j  0:8
                 └─ B[i, j] = A[i, j] + 1.0
        >>> i, j = B.op.axis
        >>> s[B].reorder(j, i)
        >>> print(s)
        main(A: float32[4, 8], B: float32[4, 8])
        └─ stage B
           └─ for j  0:8
              └─ for i  0:4
                 └─ B[i, j] = A[i, j] + 1.0
        """
        places = [leaf_position(self, axis, "reorder") for axis in args]
        for axis in args:
            check_kind(self, axis, _MOVABLE, "reorder")
        check_distinct(self, args, "reorder")
        _reorder(self.draft, args, places)

    @overload
    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: IntegerExpr, y_factor: IntegerExpr
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]: ...
    @overload  # tile(*C.op.axis, 8, 8)
    def tile(
        self, *args: *tuple[*tuple[IterVar, ...], IntegerExpr, IntegerExpr]
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]: ...
    # an unpacked tuple has at least two axes
    @primitive("Tile {x_parent} and {y_parent} into {results}", has_target=True)  # type: ignore[misc]
    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: IntegerExpr, y_factor: IntegerExpr
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and reorder the parts so that they iterate over tiles.

        Returns
        -------
        The axes x.outer, y.outer, x.inner, y.inner, which is also their new order.

        >>> from te_sched import te
        >>> A = te.placeholder((4,), name="A")
        >>> B = te.compute((4, 8), lambda i, j: A[i], name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[4], B: float32[4, 8])
        └─ stage B
           └─ for i  0:4
              └─ for j  0:8
                 └─ B[i, j] = A[i]
        >>> x_outer, y_outer, x_inner, y_inner = s[B].tile(*B.op.axis, 2, 4)
        >>> print(s)
        main(A: float32[4], B: float32[4, 8])
        └─ stage B
           └─ for i.outer  0:2
              └─ for j.outer  0:2
                 └─ for i.inner  0:2
                    └─ for j.inner  0:4
                       └─ B[i.inner + i.outer * 2, j.inner + j.outer * 4] = A[i.inner + i.outer * 2]
        """
        for axis in (x_parent, y_parent):
            leaf_position(self, axis, "tile")
            check_kind(self, axis, ("DataPar", "CommReduce"), "tile")
        check_distinct(self, (x_parent, y_parent), "tile")
        x_length = positive_integer(x_factor, "x_factor", "tile", self, x_parent)
        y_length = positive_integer(y_factor, "y_factor", "tile", self, y_parent)
        draft = self.draft
        x_outer, x_inner = _split(draft, x_parent, "factor", x_length)
        y_outer, y_inner = _split(draft, y_parent, "factor", y_length)
        order = (x_outer, y_outer, x_inner, y_inner)
        _reorder(draft, order, [_index(draft, axis) for axis in order])
        return order


def _derived(parent: IterVar, suffix: str) -> IterVar:
    return IterVar(None, Var(parent.var.name + suffix, parent.var.dtype), parent.kind)


def _split(
    stage: StageDraft, parent: IterVar, parameter: str, length: Expr, is_exact: bool = False
) -> tuple[IterVar, IterVar]:
    outer, inner = _derived(parent, ".outer"), _derived(parent, ".inner")
    if isinstance(length, IntImm):
        length = ops.cast(parent.var.dtype, length)
    else:
        text = f"the {parameter} of axis {parent.var.name} of {stage.op.name}"
        stage.lengths += (Length(text, length, parent.var.dtype),)
    factor, nparts = (length, None) if parameter == "factor" else (None, length)
    stage.relations.append(Split(parent, outer, inner, factor, nparts, is_exact))
    stage.all_iter_vars += (outer, inner)
    position = _index(stage, parent)
    stage.leaf_iter_vars[position : position + 1] = (outer, inner)
    stage.fates[parent] = Fate(
        f"split into {outer.var.name}, {inner.var.name}", stage.changes.place
    )
    return outer, inner


def _index(stage: StageDraft, axis: IterVar) -> int:
    return next(i for i, leaf in enumerate(stage.leaf_iter_vars) if leaf is axis)


def _check_consecutive(stage: StageState, axes: tuple[IterVar, ...]) -> None:
    """Refuse axes that are not adjacent: each must be next to those before it, on either side."""
    if not axes:
        return
    places = [leaf_position(stage, axis, "fuse") for axis in axes]
    if len(axes) > 1:
        for axis in axes:
            check_kind(stage, axis, _LOOPS, "fuse")
    check_distinct(stage, axes, "fuse")
    low = high = places[0]
    for axis, index in zip(axes[1:], places[1:], strict=True):
        if index not in (low - 1, high + 1):
            raise ScheduleError(
                f"cannot fuse {names(axes)} of {stage_label(stage)}: "
                f"axis {axis.var.name} is not next to those before it",
                f"the loops are {names(stage.leaf_iter_vars)}",
                "reorder the axes first, so that they follow each other",
                At(stage, axis),
            )
        low, high = min(low, index), max(high, index)


def _check_length(stage: StageState, axes: tuple[IterVar, ...]) -> None:
    """Limit the name of a fused axis, which joins those of its parts and can double each time."""
    length = sum(len(axis.var.name) for axis in axes)
    if length > _LONGEST_NAME:
        raise ScheduleError(
            f"name of the fused axis would have {length} characters, more than {_LONGEST_NAME}",
            "it joins the names of the axes: each split and fuse of the same axis doubles it",
            "leave out splits that a fuse undoes",
            At(stage),
        )


def _fuse(stage: StageDraft, first: IterVar, second: IterVar) -> IterVar:
    kind = max(first.kind, second.kind, key=ITER_KINDS.index)
    var = Var(f"{first.var.name}.{second.var.name}.fused", first.var.dtype)
    fused = IterVar(None, var, kind)
    places = _index(stage, first), _index(stage, second)
    outer, inner = (first, second) if places[0] < places[1] else (second, first)
    stage.relations.append(Fuse(outer, inner, fused))
    stage.all_iter_vars.append(fused)
    stage.leaf_iter_vars[min(places) : min(places) + 2] = [fused]
    location = stage.changes.place
    for axis in (outer, inner):
        stage.fates[axis] = Fate(f"fused into {fused.var.name}", location)
    return fused


def _singleton(stage: StageDraft) -> IterVar:
    axis = IterVar(Range(IntImm(0), IntImm(1)), Var("singleton"), "DataPar")
    stage.relations.append(Singleton(axis))
    stage.all_iter_vars.append(axis)
    stage.leaf_iter_vars.insert(0, axis)
    return axis


def _reorder(stage: StageDraft, order: tuple[IterVar, ...], places: list[int]) -> None:
    for axis, index in zip(order, sorted(places), strict=True):
        stage.leaf_iter_vars[index] = axis
