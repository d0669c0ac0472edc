"""Partitioning of loops at their guards as in TVM, and removal of decided conditions.

A loop is cut into the iterations before, those in which its guards are decided, and those after;
a loop over blocks becomes a choice between two bodies. Must not know how the guards are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet
from te_sched.config import Lowering
from te_sched.ir.expr import Call, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import AttrStmt, For, IfThenElse, SeqStmt, Stmt
from te_sched.ir.visitor import Mapper, StatementMapper, replace
from te_sched.lowering.guards import Cut, find_cut, is_guarded, is_hint, is_mark, values
from te_sched.lowering.statements import NOTHING, fresh_copy, is_nothing, sequence


class Cutter(StatementMapper):
    """Cuts from the outermost loop inwards. Parts of constant size that are cut off are visited
    again."""

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings
        self.analyzer = Analyzer(settings)
        self.hinted: set[Var] = set()
        self.partitioned: set[Var] = set()  # of loops whose guards are decided
        self.threads: dict[Var, IntervalSet] = {}

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if is_hint(node):
            # In a copy, the hint still names the original loop.
            loop = node.body if type(node.body) is For else None
            about = node.node.var if isinstance(node.node, IterVar) else node.node
            self.hinted.add(about if loop is None else loop.loop_var)
            return self.visit(node.body)
        axis = loop_of(node)
        if axis is None:
            return self.generic(node)
        self.analyzer.bind(axis.var, axis.range)
        if axis.tag.startswith("threadIdx"):
            self.threads[axis.var] = values(axis.range)
        cut = self.find(axis.var, axis.range, node.body) if axis.kind == "block" else None
        if cut is None:
            return self.generic(node)
        return replace(node, body=_BlockChooser(axis.var, cut).visit(node.body))

    def visit_For(self, node: For) -> Stmt:
        node, cut = self.settled(node)
        return self.uncut(node) if cut is None else self.split(node, cut)

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        return _without_nothing(node, self.generic(node))

    def settled(self, node: For) -> tuple[For, Cut | None]:
        """The loop without guards that are constant over all iterations, and its cut."""
        whole = Range(node.min, node.extent)
        self.analyzer.bind(node.loop_var, whole)
        while (cut := self.find(node.loop_var, whole, node.body)) is not None and cut.is_whole:
            node = replace(node, body=self.decided(node.body, cut))
        return node, cut

    def decided(self, body: Stmt, cut: Cut) -> Stmt:
        """The body of a loop within a cut."""
        return Decider(cut.known).visit(body)

    def find(self, var: Var, whole: Range, body: Stmt) -> Cut | None:
        """The cut of a loop, if it may be cut."""
        is_hinted = var in self.hinted
        is_constant = type(whole.min) is IntImm and type(whole.extent) is IntImm
        if is_constant and not (self.cuts_constant_loops or is_hinted):
            return None
        return find_cut(var, whole, body, is_hinted, self.threads, self.analyzer)

    @property
    def cuts_constant_loops(self) -> bool:
        """Whether loops of constant extents are also cut."""
        return bool(self.settings.partition_const_loop)

    def uncut(self, node: For) -> Stmt:
        """The loop with its inner loops cut; one with a hint and guards may be unrolled."""
        new = self.generic(node)
        is_unrolled = (
            self.settings.unroll_loop_with_partition_hint_no_interval
            and node.loop_var in self.hinted - self.partitioned
            and type(node.extent) is IntImm
            and is_guarded(node.loop_var, node.body, self.threads, self.settings)
        )
        return replace(new, kind="unrolled") if is_unrolled else new

    def split(self, node: For, cut: Cut) -> Stmt:
        """The loops before, in and after the cut, one after the other; vectors need constant
        extents.
        """
        before, inside, after = parts = self.parts(node, cut)
        if node.kind == "vectorized" and any(map(_is_open, parts)):
            return self.uncut(node)
        if type(inside) is For:
            self.partitioned.add(inside.loop_var)
        inside = None if inside is None else self.visit(inside)
        return sequence([self.outside(before), inside, self.outside(after)])

    def outside(self, part: Stmt | None) -> Stmt | None:
        """The part that is cut off, cut again if the number of its iterations is known."""
        is_hinted, is_known = False, type(part) is not For
        if type(part) is For:
            is_hinted, is_known = part.loop_var in self.hinted, type(part.extent) is IntImm
        if part is None or not (is_known and (self.cuts_constant_loops or is_hinted)):
            return part
        return self.visit(part)

    def parts(self, node: For, cut: Cut) -> list[Stmt | None]:
        """The three parts of a loop; None for one without iterations."""
        return [
            self.part(node, node.min, cut.begin, node.body),
            self.part(node, cut.begin, cut.end, self.decided(node.body, cut)),
            self.part(node, cut.end, cut.stop, node.body),
        ]

    def part(self, node: For, begin: Expr, end: Expr, body: Stmt) -> Stmt | None:
        """The iterations from `begin` to before `end`, counted from 0, without a loop for one."""
        extent = self.analyzer.simplify(build.sub(end, begin))
        count = extent.value if type(extent) is IntImm else None
        if count is not None and count <= 0:
            return None
        if count == 1 and not self.settings.no_unroll_loop_with_extent_one:
            return fresh_copy(body, {node.loop_var: begin})
        var = Var(node.loop_var.name, node.loop_var.dtype)
        if node.loop_var in self.hinted:
            self.hinted.add(var)
        body = fresh_copy(body, {node.loop_var: build.add(var, begin)})
        zero = build.imm(0, var.dtype)
        return replace(node, loop_var=var, min=zero, extent=extent, body=body)


def _is_open(part: Stmt | None) -> bool:
    """Whether a part is a loop without a constant extent."""
    return type(part) is For and type(part.extent) is not IntImm


class _BlockChooser(StatementMapper):
    """Chooses between two bodies below the innermost threads."""

    def __init__(self, var: Var, cut: Cut) -> None:
        self.condition = cut.has(var)
        self.decider = Decider(cut.known)

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        new: AttrStmt = self.generic(node)
        if new is not node or loop_of(node) is None:
            return new
        inside = self.decider.visit(node.body)
        if type(self.condition) is not IntImm:
            inside = IfThenElse(self.condition, inside, fresh_copy(node.body, {}))
        return replace(node, body=inside)


class Decider(Mapper):
    """Replaces conditions with known values; unreachable statements stay, as in TVM."""

    def __init__(self, truths: Mapping[Expr, bool]) -> None:
        self.known = truths

    def comparison(self, node: Any) -> Any:
        """A comparison, or its value where that is known."""
        truth = self.known.get(node)
        return self.generic(node) if truth is None else build.truth(truth)

    visit_LT = visit_LE = visit_GT = visit_GE = visit_EQ = visit_NE = comparison

    def connective(self, node: Any) -> Any:
        """Conditions joined, without those that are known."""
        new = self.generic(node)
        return node if new is node else build.BINARY[type(node)](new.a, new.b)

    visit_And = visit_Or = connective

    def visit_Call(self, node: Call) -> Any:
        new = self.generic(node)
        return new.args[0] if is_mark(new) and self.drops(new) else new

    def drops(self, mark: Call) -> bool:
        """Whether a mark is redundant."""
        return type(mark.args[0]) is IntImm


class Cleaner(Decider):
    """Also drops unreachable statements and, at the end, all marks."""

    def __init__(self, truths: Mapping[Expr, bool], is_last: bool) -> None:
        super().__init__(truths)
        self.is_last = is_last

    def drops(self, mark: Call) -> bool:
        return self.is_last or super().drops(mark)

    def visit_IfThenElse(self, node: IfThenElse) -> Any:
        condition = self.visit(node.condition)
        if type(condition) is IntImm:
            chosen = node.then_case if condition.value else node.else_case
            return NOTHING if chosen is None else self.visit(chosen)
        return self.generic(node)

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        return _without_nothing(node, self.generic(node))


def _without_nothing(old: SeqStmt, new: SeqStmt) -> Stmt:
    """A sequence without statements that have no effect."""
    return old if new is old else sequence([part for part in new.seq if not is_nothing(part)])
