"""Cut loops where their guards change (TVM's LoopPartition).

Before::

    for i in range((n + 31) // 32):
        for j in range(32):
            if likely(i * 32 + j < n): C[i * 32 + j] = 1

After::

    for i in range(n // 32):
        for j in range(32): C[i * 32 + j] = 1
    for i in range((n + 31) // 32 - n // 32):
        for j in range(32):
            if i * 32 + n // 32 * 32 + j < n: C[i * 32 + n // 32 * 32 + j] = 1

A guard is a condition marked `likely`; under the pragma `loop_partition_hint` each comparison is
one. A loop with a guard that its variable decides is cut into the part before, the part where the
guard holds whatever the loops inside do, and the part after. A loop over blocks becomes a choice
between two bodies. Loops of constant extents are cut where `config.Lowering` asks for it.

What is built for a processor is cut further (`partition_for_speed`): constant extents, too, as long
as the program grows little. A parallel loop stays one loop, in which each iteration chooses; and
where a cut in a loop of constant extent moves, it becomes two versions of the loop.

Every iteration runs once, also where cuts of symbolic sizes lie outside of the loop. Afterwards
nothing is marked any more. Must not know where guards come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from te_sched import config
from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.deduce import COMPARISONS, deduce_bound, opposite
from te_sched.arith.int_set import EVERYTHING, NOTHING, IntervalSet, intersect
from te_sched.ir import expr as E
from te_sched.ir.expr import Call, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import (
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import Mapper, children, replace, substitute, walk
from te_sched.lower.statements import NOTHING as NO_STATEMENT
from te_sched.lower.statements import fresh_copy, is_nothing, sequence, statements

_HINT = "pragma_loop_partition_hint"
_REPEATED = ("vectorized", "unrolled")
# How many statements cutting may add to a program that is built, and per statement that it has.
_ROOM, _ROOM_PER_STATEMENT = 256, 8
_QUOTIENTS = (E.FloorDiv, E.FloorMod, E.Div, E.Mod)


def partition_loops(func: PrimFunc) -> PrimFunc:
    """The function with loops cut at their guards, and no marks."""
    if not any(_is_mark(node) for node in walk(func.body)):
        return func
    body = _Partitioner(func, config.current().lowering).visit(func.body)
    return replace(func, body=_Unmark().visit(body))  # type: ignore[no-any-return]


def _is_mark(node: Any) -> bool:
    if type(node) is Call:
        return bool(node.op == "tir.likely")
    return type(node) is AttrStmt and node.key == _HINT


class _Unmark(Mapper):
    """Takes marks away, and the branches that are decided."""

    def visit_IfThenElse(self, node: IfThenElse) -> Stmt:
        new: IfThenElse = self.generic(node)
        if type(new.condition) is not IntImm or node.condition is new.condition:
            return new
        chosen = new.then_case if new.condition.value else new.else_case
        return NO_STATEMENT if chosen is None else chosen

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        new: SeqStmt = self.generic(node)
        if new is node:
            return node
        return sequence([part for part in new.seq if not is_nothing(part)])

    def visit_Call(self, node: Call) -> Expr:
        new: Call = self.generic(node)
        return new.args[0] if new.op == "tir.likely" else new

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        new: AttrStmt = self.generic(node)
        return new.body if new.key == _HINT else new


class _Guard(NamedTuple):
    """A condition inside of a loop, and what the variables defined between them run over."""

    condition: Expr
    relaxed: dict[Var, IntervalSet]


class _Cut(NamedTuple):
    """Where guards with the given ids all are `truth`: from `begin` (None: the loop's start) to
    before `end` (None: the loop's end).
    """

    begin: Expr | None
    end: Expr | None
    decided: set[int]
    truth: bool


_Bounds = tuple[tuple[Expr, Expr], ...]  # where parts start, and their extents


class _Partitioner(Mapper):
    """Cuts loops from the outside in; parts are visited again.

    `sizes` additionally knows that no size of an argument is negative.
    """

    def __init__(self, func: PrimFunc, choices: config.Lowering) -> None:
        self.is_for_speed = choices.partition_for_speed and choices.partition_const_loop is None
        self.cuts_constant = bool(choices.partition_const_loop)
        self.keeps_single = choices.no_unroll_loop_with_extent_one
        self.unrolls_hinted = choices.unroll_loop_with_partition_hint_no_interval
        self.analyzer, self.sizes = Analyzer(), Analyzer()
        self.threads: dict[Var, IntervalSet] = {}
        self.hinted: set[Var] = set()
        self.is_vectorized, self.repeats = False, 1
        self.room = _ROOM + _ROOM_PER_STATEMENT * _weight(func.body) if self.is_for_speed else 0
        for buffer in func.buffer_map.values():
            for extent in buffer.shape:
                if type(extent) is not IntImm:
                    self.sizes.mark_nonnegative(extent)

    # -- loops -------------------------------------------------------------------

    def visit_For(self, node: For) -> Any:
        is_constant = type(node.min) is IntImm and type(node.extent) is IntImm
        cuts_constant = self.cuts_constant or (self.is_for_speed and not self.is_vectorized)
        if not is_constant or cuts_constant:
            new = self._partitioned(node)
            if new is not None:
                return new
        return self._whole(node)

    def _whole(self, node: For) -> Stmt:
        """A loop that is not cut itself."""
        self._bind(node.loop_var, node.min, node.extent)
        outside = self.is_vectorized, self.repeats
        self.is_vectorized = self.is_vectorized or node.kind == "vectorized"
        if node.kind == "unrolled" and type(node.extent) is IntImm:
            self.repeats *= max(node.extent.value, 1)
        new: Stmt = self.generic(node)
        self.is_vectorized, self.repeats = outside
        return new

    def _bind(self, var: Var, low: Expr, extent: Expr) -> None:
        for analyzer in (self.analyzer, self.sizes):
            analyzer.bind(var, Range(low, extent))

    def _partitioned(self, node: For) -> Stmt | None:
        """The parts of a loop; None where it cannot be cut."""
        cut = self._cut(node.loop_var, node.min, node.extent, node.body)
        if cut is not None:
            return self._parts(node, cut)
        if self.unrolls_hinted and node.loop_var in self.hinted:
            return self._whole(replace(node, kind="unrolled"))
        return None

    def _parts(self, node: For, cut: _Cut) -> Stmt | None:
        low, after = node.min, build.add(node.min, node.extent)
        begin, stop = low, low
        if cut.begin is not None:
            begin = self._at_least(cut.begin, low)
            stop = self._at_most(begin, after)
        end = rest = after
        if cut.end is not None:
            end = self._at_most(cut.end, after)
            rest = self._at_least(cut.end, begin)
        bounds = (
            (low, self._difference(stop, low)),
            (begin, self._difference(end, begin)),
            (self._at_most(rest, after), self._difference(after, rest)),
        )
        is_steady = all(type(extent) is IntImm for _, extent in bounds)
        if self.is_for_speed:
            if not self._has_room(node, bounds):
                return None
            if node.kind == "parallel":
                return self._branches(node, cut, bounds)
            if type(node.extent) is IntImm and not is_steady:
                return self._versions(node, cut)
        if node.kind in _REPEATED and type(node.extent) is IntImm and not is_steady:
            return None
        decided = _Decide(cut.decided, cut.truth).visit(node.body)
        parts: list[Stmt] = []
        for position, (start, extent) in enumerate(bounds):
            if _is_none(extent):
                continue
            is_middle = position == 1
            body, var = decided if is_middle else node.body, node.loop_var
            if parts:
                var = self._copied(var)
                body = fresh_copy(body, {node.loop_var: var})
            parts.append(
                self._part(replace(node, loop_var=var, body=body), start, extent, is_middle)
            )
        return sequence(parts)

    def _copied(self, var: Var) -> Var:
        copy = Var(var.name, var.dtype)
        if var in self.hinted:
            self.hinted.add(copy)
        return copy

    def _part(self, node: For, start: Expr, extent: Expr, is_middle: bool) -> Stmt:
        """One part of a loop, counted from 0, cut further where it can be."""
        var, body = node.loop_var, node.body
        zero = IntImm(0, var.dtype)
        if type(extent) is IntImm and extent.value == 1 and not self.keeps_single:
            return self.visit(substitute(body, {var: start}))  # type: ignore[no-any-return]
        if not (type(start) is IntImm and start.value == 0):
            body = substitute(body, {var: build.add(var, start)})
        part = replace(node, min=zero, extent=extent, body=body)
        if is_middle or type(extent) is IntImm:
            return self.visit(part)  # type: ignore[no-any-return]
        return part  # type: ignore[no-any-return]

    # -- for speed ---------------------------------------------------------------

    def _has_room(self, node: For, bounds: _Bounds) -> bool:
        """Whether copies of a loop's body may be made; notes that they are."""
        copies = sum(not _is_none(extent) for _, extent in bounds) - 1
        added = copies * _weight(node.body) * self.repeats
        if added > self.room:
            return False
        self.room -= added
        return True

    def _branches(self, node: For, cut: _Cut, bounds: _Bounds) -> Stmt:
        """A parallel loop stays one; each iteration chooses its body."""
        self._bind(node.loop_var, node.min, node.extent)
        var = node.loop_var
        clean = self.visit(_Decide(cut.decided, cut.truth).visit(node.body))
        inside: Expr = build.truth(True)
        if not _is_none(bounds[0][1]):
            inside = E.GE(var, bounds[1][0])
        if not _is_none(bounds[2][1]):
            inside = build.both(inside, E.LT(var, bounds[2][0]))
        if type(inside) is IntImm:
            return replace(node, body=clean)  # type: ignore[no-any-return]
        outside = [one for one in (bounds[0], bounds[2]) if not _is_none(one[1])]
        values: dict[Var, Expr] = {}
        if len(outside) == 1 and type(outside[0][1]) is IntImm and outside[0][1].value == 1:
            values = {var: outside[0][0]}
        other = self.visit(fresh_copy(node.body, values))
        return replace(node, body=IfThenElse(inside, clean, other))  # type: ignore[no-any-return]

    def _versions(self, node: For, cut: _Cut) -> Stmt:
        """A loop of constant extent once without the guards, for when they hold throughout."""
        decided = _Decide(cut.decided, cut.truth).visit(node.body)
        throughout: Expr = build.truth(True)
        if cut.begin is not None:
            throughout = E.LE(cut.begin, node.min)
        if cut.end is not None:
            after = build.add(node.min, node.extent)
            throughout = build.both(throughout, E.LE(after, cut.end))
        clean = self.visit(replace(node, body=decided))
        var = self._copied(node.loop_var)
        other = replace(node, loop_var=var, body=fresh_copy(node.body, {node.loop_var: var}))
        return IfThenElse(throughout, clean, self._whole(other))

    # -- what is known -----------------------------------------------------------

    def _at_least(self, value: Expr, bound: Expr) -> Expr:
        if self._is_ordered(bound, value):
            return value
        return bound if self._is_ordered(value, bound) else build.maximum(value, bound)

    def _at_most(self, value: Expr, bound: Expr) -> Expr:
        if self._is_ordered(value, bound):
            return value
        return bound if self._is_ordered(bound, value) else build.minimum(value, bound)

    def _is_ordered(self, a: Expr, b: Expr) -> bool:
        return self.sizes.can_prove(build.less_equal(a, b))

    def _is_less(self, a: Expr, b: Expr) -> bool:
        return self.sizes.can_prove(build.less(a, b))

    def _difference(self, a: Expr, b: Expr) -> Expr:
        return self.analyzer.simplify(build.sub(a, b))

    # -- threads -----------------------------------------------------------------

    def visit_AttrStmt(self, node: AttrStmt) -> Any:
        about = node.node
        if node.key == _HINT:
            self.hinted.add(about.var if isinstance(about, IterVar) else about)
            if type(node.body) is For:  # in a copy, the loop has a variable of its own
                self.hinted.add(node.body.loop_var)
        if node.key != "thread_extent" or not isinstance(about, IterVar):
            return self.generic(node)
        var, zero = about.var, IntImm(0, node.value.dtype)
        if about.thread_tag.startswith("blockIdx"):
            if type(node.value) is not IntImm or self.cuts_constant:
                new = self._by_blocks(node, var, zero)
                if new is not None:
                    return new
            self._bind(var, zero, node.value)
            return self.generic(node)
        self._bind(var, zero, node.value)
        self.threads[var] = _values(zero, node.value)
        new = self.generic(node)
        del self.threads[var]
        return new

    def _by_blocks(self, node: AttrStmt, var: Var, zero: Expr) -> Stmt | None:
        """The kernel with a body of its own for the blocks where the guards hold."""
        cut = self._cut(var, zero, node.value, node.body)
        if cut is None or not cut.truth:
            return None
        inside: Expr = build.truth(True)
        if cut.begin is not None and not self._is_ordered(cut.begin, zero):
            inside = E.GE(var, cut.begin)
        if cut.end is not None and not self._is_ordered(node.value, cut.end):
            inside = build.both(inside, E.LT(var, self._at_most(cut.end, node.value)))
        return _InnermostThreads(inside, cut).visit(node)  # type: ignore[no-any-return]

    # -- guards ------------------------------------------------------------------

    def _cut(self, var: Var, low: Expr, extent: Expr, body: Stmt) -> _Cut | None:
        """Where some guards of a loop hold, or else where some do not."""
        guards = list(_guards(body, dict(self.threads), var in self.hinted))
        guards = [guard for guard in guards if _can_be_asked_outside(guard.condition, var)]
        if not guards:
            return None
        whole = _values(low, extent)
        for truth in (True, False):
            found = self._common(_intervals(var, guards, truth), whole)
            if found is not None:
                interval, decided = found
                one = IntImm(1, var.dtype)
                end = None
                if interval.max is not None:
                    end = self.analyzer.simplify(build.add(interval.max, one))
                return _Cut(interval.min, end, decided, truth)
        return None

    def _common(
        self, intervals: dict[int, IntervalSet], whole: IntervalSet
    ) -> tuple[IntervalSet, set[int]] | None:
        """The values in a loop that intervals have in common, and which intervals have some."""
        common: IntervalSet = EVERYTHING
        decided: set[int] = set()
        for key, interval in intervals.items():
            both = intersect([common, interval]) if decided else interval
            if both is not NOTHING and not self._is_empty(intersect([both, whole])):
                common = both
                decided.add(key)
        return (common, decided) if decided else None

    def _is_empty(self, interval: IntervalSet) -> bool:
        if interval is NOTHING:
            return True
        low, high = interval
        return low is not None and high is not None and self._is_less(high, low)


def _is_none(extent: Expr) -> bool:
    return type(extent) is IntImm and extent.value <= 0


def _weight(node: Any) -> int:
    """How many statements do something, those of unrolled loops as often as they are repeated."""
    if isinstance(node, BufferStore | Evaluate):
        return 1
    weight = sum(_weight(child) for child in children(node) if isinstance(child, Stmt))
    if isinstance(node, For) and node.kind == "unrolled" and type(node.extent) is IntImm:
        return weight * max(node.extent.value, 0)
    return weight


def _values(low: Expr, extent: Expr) -> IntervalSet:
    return IntervalSet(low, build.sub(build.add(low, extent), IntImm(1, low.dtype)))


def _guards(node: Any, relaxed: dict[Var, IntervalSet], is_hinted: bool) -> Iterator[_Guard]:
    """The guards in a statement or expression."""
    kind = type(node)
    if kind is Call and node.op == "tir.likely":
        yield _Guard(node.args[0], relaxed)
        return
    if is_hinted and kind in COMPARISONS:
        yield _Guard(node, relaxed)
        return
    if kind is For:
        relaxed = {**relaxed, node.loop_var: _values(node.min, node.extent)}
    elif kind is AttrStmt and isinstance(node.node, IterVar) and node.key == "thread_extent":
        zero = IntImm(0, node.value.dtype)
        relaxed = {**relaxed, node.node.var: _values(zero, node.value)}
    elif kind is AttrStmt and isinstance(node.node, IterVar):
        relaxed = {**relaxed, node.node.var: EVERYTHING}
    elif kind in (LetStmt, E.Let):
        relaxed = {**relaxed, node.var: EVERYTHING}
    for child in children(node):
        yield from _guards(child, relaxed, is_hinted)


def _can_be_asked_outside(condition: Expr, var: Var) -> bool:
    """Whether a guard speaks of the loop, and of nothing that is only known inside."""
    speaks = False
    for part in walk(condition):
        kind = type(part)
        if kind in (E.BufferLoad, E.ProducerLoad, Call):
            return False
        if kind in _QUOTIENTS and not (type(part.b) is IntImm and part.b.value):
            return False
        speaks = speaks or part is var
    return speaks


def _intervals(var: Var, guards: list[_Guard], truth: bool) -> dict[int, IntervalSet]:
    """For which values of a variable each guard is known to be true, or false; by their ids."""
    found: dict[int, IntervalSet] = {}
    for condition, relaxed in guards:
        asked = condition if truth else opposite(condition)
        interval = NOTHING if asked is None else deduce_bound(var, asked, relaxed)
        key = id(condition)
        found[key] = intersect([found[key], interval]) if key in found else interval
    return {key: interval for key, interval in found.items() if interval is not NOTHING}


class _Decide(Mapper):
    """Puts a truth value in the place of guards."""

    def __init__(self, decided: set[int], truth: bool) -> None:
        self.decided = decided
        self.truth = build.truth(truth)

    def visit_Call(self, node: Call) -> Expr:
        if node.op == "tir.likely" and id(node.args[0]) in self.decided:
            return Call(node.dtype, node.op, (self.truth,))
        return self.generic(node)  # type: ignore[no-any-return]

    def comparison(self, node: Any) -> Any:
        """A comparison under the pragma."""
        return self.truth if id(node) in self.decided else self.generic(node)


for _kind in COMPARISONS:
    _Decide._methods[_kind] = _Decide.comparison


class _InnermostThreads(Mapper):
    """Chooses between two bodies below the innermost threads of a kernel."""

    def __init__(self, inside: Expr, cut: _Cut) -> None:
        self.inside = inside
        self.cut = cut

    def visit_AttrStmt(self, node: AttrStmt) -> Any:
        if node.key != "thread_extent" or _has_threads(node.body):
            return self.generic(node)
        clean = _Decide(self.cut.decided, self.cut.truth).visit(node.body)
        return replace(node, body=IfThenElse(self.inside, clean, fresh_copy(node.body, {})))


def _has_threads(body: Stmt) -> bool:
    return any(type(node) is AttrStmt and node.key == "thread_extent" for node in statements(body))
