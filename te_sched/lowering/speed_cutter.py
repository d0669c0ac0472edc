"""Cutting loops at their guards for a processor, as far as it is profitable.

More loops are cut than in TVM: loops of constant extents, and the parts that are cut off, if a loop
runs often in comparison with the size of its copies, and within a budget: without one, each of
several nested loops would double the program. A parallel loop stays one loop, in which each
iteration chooses its body. If a cut depends on outer loops, the loop gets a version without guards:

    for i in range(100):                        for i in range(100):
        for j in range(8):                          if i % 13 < 12:
            if likely(i % 13 * 8 + j < 100): ->         for j in range(8): ...
                ...                                 else:
                                                        for j in range(8): if ...: ...

Vectorized loops are cut, but nothing inside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace as with_settings
from typing import NamedTuple

from te_sched.arith import build
from te_sched.config import Lowering
from te_sched.ir import ops
from te_sched.ir.expr import Call, Expr, IntImm, Var
from te_sched.ir.stmt import Allocate, For, IfThenElse, SeqStmt, Stmt
from te_sched.ir.visitor import replace, variables_of
from te_sched.lowering.cutter import Cleaner, Cutter
from te_sched.lowering.guards import Cut, is_mark
from te_sched.lowering.statements import fresh_copy, has_attribute, is_nothing, nodes_of, sequence

_SYMBOLIC = 1024  # assumed iterations of a loop of unknown extent
_SHARE = 32  # share of a program's executions below which guards do not matter
_GROWTH, _ALWAYS = (
    3,
    64,
)  # allowed growth in statements: a factor of those of the program, and a number in all
_LANES = 8  # lanes of a vector are about one instruction; with a guard, one each
_CALLS = frozenset((Call,))


class _Size(NamedTuple):
    """The number of statements to compile with loops unrolled, of their executions, and of their
    executions under a guard.
    """

    statements: int
    runs: int
    guarded: int


class SpeedCutter(Cutter):
    """Cuts loops that run often; `turns` is the number of executions of the visited statement,
    `room` the number of statements that may still be added.
    """

    worth = 16384  # executions under guards, per added statement

    def __init__(self, settings: Lowering, body: Stmt) -> None:
        super().__init__(with_settings(settings, no_unroll_loop_with_extent_one=True))
        self.sizes: dict[Stmt, _Size] = {}
        self.choices: set[IfThenElse] = set()  # between versions of loops
        self.least = self.size(body).runs // _SHARE
        self.room = max(_GROWTH * self.size(body).statements, _ALWAYS)
        self.turns = 1

    cuts_constant_loops = True

    def decided(self, body: Stmt, cut: Cut) -> Stmt:
        return Cleaner(cut.known, is_last=False).visit(body)

    def visit_Allocate(self, node: Allocate) -> Stmt:
        # Memory whose size depends on outer loops will be allocated before them.
        extents = tuple([self._largest(extent) for extent in node.extents])
        return self.generic(replace(node, extents=extents))

    def _largest(self, extent: Expr) -> Expr:
        if not all(map(self._is_bounded, variables_of(extent))):
            return extent
        most = self.analyzer.const_bounds(extent)[1]
        fits = most is not None and most < ops.int_limits(extent.dtype)[1]
        return build.imm(most, extent.dtype) if fits and most is not None else extent

    def _is_bounded(self, var: Var) -> bool:
        """Whether a variable is of a loop of known extent."""
        most = self.analyzer.const_bounds(var)[1]
        return most is not None and most < ops.int_limits(var.dtype)[1]

    def uncut(self, node: For) -> Stmt:
        if node.kind == "vectorized":
            return node
        with self.repeated(self.count(node.extent)):
            new = super().uncut(node)
        assert isinstance(new, For)
        return self.apart(new) if node.kind == "unrolled" else new

    def apart(self, node: For) -> Stmt:
        """An unrolled loop of versions as versions of the loop: those with guards run seldom, and
        are not worth copies.
        """
        choice = node.body
        if type(choice) is not IfThenElse or choice not in self.choices:
            return node
        if node.loop_var in variables_of(choice.condition) or choice.else_case is None:
            return node
        guarded = replace(node, kind="serial", body=choice.else_case)
        fast = replace(node, body=choice.then_case)
        return self.choice(choice.condition, fast, fresh_copy(guarded, {}))

    def choice(self, is_whole: Expr, fast: Stmt, guarded: Stmt) -> IfThenElse:
        """A version without guards if they hold in all iterations, otherwise one with them."""
        branch = IfThenElse(is_whole, fast, guarded)
        self.choices.add(branch)
        return branch

    def split(self, node: For, cut: Cut) -> Stmt:
        if node.kind == "vectorized" and has_attribute(node.body, "double_buffer_scope"):
            return self.uncut(node)  # an outer iteration reads what the previous one fetched
        if node.kind == "parallel":
            return self.choosing(node, cut)
        if type(node.extent) is IntImm and not cut.is_fixed:
            return self.versions(node, cut)
        parts = [self.settled(part)[0] for part in self.parts(node, cut) if type(part) is For]
        parts = [part for part in parts if not is_nothing(part.body)]
        if not self.pays(node, parts):
            return self.uncut(node)
        cut_again = {
            part: self.again(part)
            for part in sorted(parts, key=lambda part: self.size(part).runs, reverse=True)
        }
        return sequence([cut_again[part] for part in parts])

    def again(self, part: For) -> Stmt:
        """A part of a loop, cut again if the number of its iterations is known."""
        return self.visit(part) if type(part.extent) is IntImm else self.uncut(part)

    def choosing(self, node: For, cut: Cut) -> Stmt:
        """One loop, in which the iterations of the cut have a separate body."""
        var, inside = node.loop_var, self.decided(node.body, cut)
        if not self.pays(node, [inside, node.body]):
            return self.uncut(node)
        count, after = (
            self.analyzer.simplify(build.sub(end, begin))
            for begin, end in ((cut.begin, cut.end), (cut.end, cut.stop))
        )
        is_last = cut.begin is node.min and type(after) is IntImm and after.value == 1
        others = fresh_copy(node.body, {var: cut.end} if is_last else {})
        with self.repeated(self.count(count)):
            inside = self.visit(inside)
        with self.repeated(max(self.count(node.extent) - self.count(count), 1)):
            others = self.visit(others)
        return replace(node, body=IfThenElse(cut.has(var), inside, others))

    def versions(self, node: For, cut: Cut) -> Stmt:
        """The loop without guards if they hold in all iterations, otherwise with them."""
        is_whole = self.analyzer.simplify(
            build.both(build.less_equal(cut.begin, node.min), build.less_equal(cut.stop, cut.end))
        )
        inside = replace(node, body=self.decided(node.body, cut))
        guarded = fresh_copy(node, {})
        assert isinstance(guarded, For)
        if type(is_whole) is IntImm or not self.pays(node, [node, inside]):
            return self.uncut(node)
        return self.choice(is_whole, self.visit(inside), self.uncut(guarded))

    def pays(self, node: For, parts: Sequence[Stmt]) -> bool:
        """Whether a loop runs often enough to be replaced by possibly more statements, which are
        taken from the budget.
        """
        added = sum(self.size(part).statements for part in parts) - self.size(node).statements
        guarded = self.turns * self.size(node).guarded
        is_much = guarded >= max(self.least, self.worth * added) and added <= self.room
        if added > 0 and not is_much and node.loop_var not in self.hinted:
            return False
        self.room -= added
        return True

    @contextmanager
    def repeated(self, count: int) -> Iterator[None]:
        """A scope whose statements run `count` times as often."""
        outside = self.turns
        self.turns *= count
        yield
        self.turns = outside

    def count(self, extent: Expr) -> int:
        """An estimate of the number of iterations of a loop."""
        if type(extent) is IntImm:
            return max(extent.value, 1)
        most = self.analyzer.const_bounds(extent)[1]
        return _SYMBOLIC if most is None else min(max(most, 1), _SYMBOLIC)

    def size(self, node: Stmt) -> _Size:
        """The size of a statement."""
        size = self.sizes.get(node)
        if size is None:
            size = self.sizes[node] = self._measured(node)
        return size

    def _measured(self, node: Stmt) -> _Size:
        if isinstance(node, For):
            inside, count = self.size(node.body), self.count(node.extent)
            lanes = count if node.kind == "vectorized" else 1
            copies = count if node.kind == "unrolled" else max(lanes // _LANES, 1)
            turns = count * min(lanes, _LANES)
            return _Size(inside.statements * copies, inside.runs * count, inside.guarded * turns)
        if isinstance(node, SeqStmt):
            return self._sum(node.seq)
        if isinstance(node, IfThenElse):
            cases = (node.then_case, node.else_case)
            size = self._sum([case for case in cases if case is not None])
            return size._replace(guarded=size.runs) if _has_mark(node.condition) else size
        body = getattr(node, "body", None)
        if body is not None:
            return self.size(body)
        return _Size(0 if is_nothing(node) else 1, 1, int(_has_mark(node)))

    def _sum(self, parts: Iterable[Stmt]) -> _Size:
        return _Size(*map(sum, zip(*map(self.size, parts), strict=True)))


def _has_mark(node: Stmt | Expr) -> bool:
    return any(map(is_mark, nodes_of(node, _CALLS)))
