"""The loops of a hybrid script, as its stage schedules them.

The user wrote the loops; a schedule splits, fuses, reorders and annotates those that are directly
inside each other. Must not know what the statements between them do.
"""

from __future__ import annotations

from collections.abc import Iterable

from te_sched.errors import LoweringError
from te_sched.ir.expr import Expr, IterVar, Var
from te_sched.ir.stmt import For, Stmt
from te_sched.ir.visitor import StatementMapper, substitute, variables_of, walk
from te_sched.lowering.nests import NestContext, guarded, wrap
from te_sched.lowering.provide import main_nest
from te_sched.schedule.relations import Fuse, Rebase, Split
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState


def scheduled_loops(body: Stmt, stage: StageState, scope: NestContext) -> Stmt:
    """The body of a script with the loops of its stage; unchanged if nothing is scheduled."""
    roots = stage.op.root_iter_vars()
    is_empty = all(scope.attach(stage, axis, body) is body for axis in stage.leaf_iter_vars)
    is_plain = not any(isinstance(relation, Split | Fuse) for relation in stage.relations)
    if is_empty and is_plain and not stage.iter_var_attrs and _in_order(stage, roots):
        return body
    return _Loops(stage, scope).visit(body)


class _Loops(StatementMapper):
    """Replaces chains of loops that are directly inside each other by those of a stage."""

    def __init__(self, stage: StageState, scope: NestContext) -> None:
        self.stage, self.scope = stage, scope
        self.nest = main_nest(stage, scope)
        self.values = self.nest.substitution()
        self.guards = [substitute(guard, self.values) for guard in self.nest.guards]
        self.roots = {axis.var: axis for axis in stage.op.root_iter_vars()}
        self.sources = _sources(stage)
        self.last = -1  # the position of the innermost leaf around this place

    def visit_For(self, node: For) -> Stmt:
        chain, body = [node], node.body
        while type(body) is For:
            chain.append(body)
            body = body.body
        roots = frozenset(self.roots[loop.loop_var] for loop in chain)
        leaves = [
            (position, axis)
            for position, axis in enumerate(self.nest.axes)
            if self.sources[axis] & roots
        ]
        self._check(roots, leaves)
        before, self.last = self.last, max([self.last, *(position for position, _ in leaves)])
        inner: Stmt = self.visit(body)
        self.last = before
        return self._wrapped(substitute(inner, self.values), leaves, roots)

    def _wrapped(
        self, body: Stmt, leaves: list[tuple[int, IterVar]], roots: frozenset[IterVar]
    ) -> Stmt:
        """The loops of a chain, each bound check at the outermost place where its axes are
        defined."""
        pending = [guard for guard in self.guards if self._concerns(guard, roots)]
        for position, axis in reversed(leaves):
            here = [guard for guard in pending if not self._variables(axis).isdisjoint(walk(guard))]
            pending = [guard for guard in pending if not any(guard is other for other in here)]
            body = guarded(body, here, likely=True)
            body = self.scope.attach(self.stage, axis, body)
            body = wrap(body, self.nest.levels[position])
        return guarded(body, pending, likely=True)

    def _concerns(self, guard: Expr, roots: frozenset[IterVar]) -> bool:
        used = frozenset(walk(guard))
        return any(
            self.sources[axis] & roots and not used.isdisjoint(self._variables(axis))
            for axis in self.nest.axes
        )

    def _variables(self, axis: IterVar) -> set[Var]:
        """The variables of an axis: its own, or that of a thread."""
        return variables_of(self.nest.values[axis])

    def _check(self, roots: frozenset[IterVar], leaves: list[tuple[int, IterVar]]) -> None:
        for count, (position, axis) in enumerate(leaves):
            if not self.sources[axis] <= roots:
                raise self._apart(axis, "it is fused of loops with other statements between them")
            if position < self.last:
                raise self._apart(
                    axis, "it is moved out of a loop that it is not directly inside of"
                )
            used = frozenset(walk(substitute(self.scope.ranges[axis].extent, self.values)))
            for _, inner in leaves[count:]:
                if not used.isdisjoint(self._variables(inner)):
                    why = f"its extent depends on {inner.var.name}, which is not outside of it"
                    raise self._apart(axis, why)

    def _apart(self, axis: IterVar, problem: str) -> LoweringError:
        return LoweringError(
            f"cannot schedule loop {axis.var.name} of a hybrid script: {problem}",
            "loops that are fused or reordered must be perfectly nested",
            "fuse and reorder loops that are directly inside each other, or write the script so",
            At(self.stage, axis),
        )


def _in_order(stage: StageState, roots: Iterable[IterVar]) -> bool:
    sources = _sources(stage)
    return [sources[axis] for axis in stage.leaf_iter_vars] == [frozenset([axis]) for axis in roots]


def _sources(stage: StageState) -> dict[IterVar, frozenset[IterVar]]:
    """The loops of the script that each axis of a stage comes from."""
    sources = {axis: frozenset([axis]) for axis in stage.op.root_iter_vars()}
    for relation in stage.relations:
        if isinstance(relation, Split):
            sources[relation.outer] = sources[relation.inner] = sources[relation.parent]
        elif isinstance(relation, Fuse):
            sources[relation.fused] = sources[relation.outer] | sources[relation.inner]
        elif isinstance(relation, Rebase):
            sources[relation.rebased] = sources[relation.parent]
    return sources
