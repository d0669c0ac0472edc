"""Replace prefetches by loops that prefetch one cache line at a time.

A `prefetch_scope` attribute inside of a loop asks for the region of a buffer that the loop's body
will read some iterations later: the region that the body reads, moved along the loop. Before and
after, for `A` of (1024, 1024) float32 read at A[i, k], one iteration of k ahead:

    for k in range(1024):                  for k in range(1024):
        attr(A, "prefetch_scope", 1)           for p1, p0 in grid(1, 1):
        B[i] = B[i] + A[i, k]          ->          prefetch(address_of(A[k + 1 + p1 * 16, p0 + i]))
                                               B[i] = B[i] + A[i, k]

Indices and loops are in the order that TVM prints: from the last dimension to the first. A prefetch
of a wrong address is harmless, so the text is kept. (TVM's name: InjectPrefetch.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.arith import build, int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import plain
from te_sched.arith.facts import MIRROR
from te_sched.arith.int_set import IntervalSet
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    And,
    Buffer,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    Range,
    Var,
)
from te_sched.ir.scopes import loop_of
from te_sched.ir.stmt import (
    AttrStmt,
    BufferRealize,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
)
from te_sched.ir.visitor import StatementMapper, children, statements, substitute, walk
from te_sched.lowering.statements import has_attribute

CACHE_LINE_BYTES = 64
_READ, _KEEP_IN_ALL_CACHES, _DATA = IntImm(0), IntImm(3), IntImm(1)


def inject_prefetch(func: PrimFunc, settings: Lowering = AS_TVM) -> PrimFunc:
    """The function with its `prefetch_scope` attributes turned into prefetches."""
    if not has_attribute(func.body, "prefetch_scope"):
        return func
    return func.with_body(_Injector(settings).visit(func.body))


class _Injector(StatementMapper):
    """Inserts prefetches before the bodies of their attributes."""

    def __init__(self, settings: Lowering) -> None:
        self.settings = settings
        self.loops: list[Var] = []
        self.vectorized: dict[Var, IntervalSet] = {}

    def visit_For(self, node: For) -> Stmt:
        self.loops.append(node.loop_var)
        if node.kind == "vectorized":
            self.vectorized[node.loop_var] = int_set.from_range(Range(node.min, node.extent))
        mapped = self.generic(node)
        self.loops.pop()
        self.vectorized.pop(node.loop_var, None)
        return mapped

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        mapped = self.generic(node)
        if node.key != "prefetch_scope":
            return mapped
        region = _region_read(mapped.body, node.node, self.settings)
        if region is None or _depends_on_parts(region, mapped.body):
            return mapped.body
        bounds = [self._ahead(bound, node.value) for bound in region]
        rest = mapped.body.seq if type(mapped.body) is SeqStmt else (mapped.body,)
        return SeqStmt((_prefetch_lines(node.node, bounds), *rest))

    def _ahead(self, bound: Range, steps: Expr) -> Range:
        """The range some iterations of the innermost loop later, for all lanes of vectors."""
        later: dict[Var, Expr] = {}
        if self.loops:
            loop = self.loops[-1]
            later[loop] = ops.add(loop, steps)
        low, extent = substitute(bound.min, later), substitute(bound.extent, later)
        if not self.vectorized:
            return Range(low, extent)
        whole = Range(low, extent)
        ends = (low, ops.sub(ops.add(low, extent), 1))
        sets = [int_set.eval_set(end, self.vectorized, self.settings) for end in ends]
        return int_set.cover_range(int_set.union(sets, self.settings), whole, self.settings)


def _region_read(body: Stmt, buffer: Buffer, settings: Lowering) -> list[Range] | None:
    """The region of a buffer that the statement reads; None if it reads nothing or the region is
    unknown."""
    reader = _ReadIndices(buffer, settings)
    reader.visit(body)
    analyzer = Analyzer(settings)
    region: list[Range] = []
    for sets in zip(*reader.reads, strict=True):
        touched = int_set.union(sets, settings)
        if touched.min is None or touched.max is None:
            return None
        extent = analyzer.simplify(ops.add(ops.sub(touched.max, touched.min), 1))
        region.append(Range(analyzer.simplify(touched.min), extent))
    return region or None


def _depends_on_parts(region: Sequence[Range], body: Stmt) -> bool:
    """Whether the region depends on the execution of the statement: its loops, its memory. If a
    condition compares a size with an inner loop, TVM prints an address with the variable of that
    loop, which is undefined before it.
    """
    used = {
        part.buffer if type(part) is BufferLoad else part
        for bound in region
        for part in (*walk(bound.min), *walk(bound.extent))
        if type(part) in (BufferLoad, Var)
    }
    return any(
        (type(part) is BufferRealize and part.buffer in used)
        or (type(part) in (For, LetStmt) and _variable_of(part) in used)
        for part in statements(body)
    )


def _variable_of(node: Any) -> Var:
    return node.loop_var if type(node) is For else node.var


class _ReadIndices:
    """Collects the sets of the indices by which a buffer is read; `domains` are the current ones. A
    condition bounds the variables that it compares, also those that are otherwise fixed: the region
    for all i < 16 is unknown if i is of an outer loop.
    """

    def __init__(self, buffer: Buffer, settings: Lowering) -> None:
        self.buffer, self.settings = buffer, settings
        self.domains: dict[Var, IntervalSet] = {}
        self.reads: list[list[IntervalSet]] = []

    def visit(self, node: Any) -> None:
        kind, loop = type(node), loop_of(node)
        if loop is not None:
            self.domains[loop.var] = int_set.from_range(loop.range)
        elif kind is BufferLoad and node.buffer is self.buffer:
            self.reads.append(
                [int_set.eval_set(index, self.domains, self.settings) for index in node.indices]
            )
        elif kind is Call and node.op == "tir.if_then_else":
            self.visit_branches(*node.args)
            return
        elif kind is IfThenElse:
            self.visit_branches(node.condition, node.then_case, node.else_case)
            return
        for below in children(node):
            self.visit(below)

    def visit_branches(self, condition: Expr, first: Any, second: Any) -> None:
        """Visit both branches, each with the bounds that its condition implies."""
        self.visit(condition)
        condition = plain(condition)
        self.visit_where(_bounds_by(condition), first)
        if second is not None:
            negated = Analyzer(self.settings).rewrite_simplify(build.negate(condition))
            self.visit_where(_bounds_by(negated), second)

    def visit_where(self, bounds: list[tuple[Var, IntervalSet]], node: Any) -> None:
        """Visit an expression that is evaluated only where variables are within bounds."""
        outside = self.domains
        self.domains = dict(outside)
        for var, interval in bounds:
            domain = self.domains.get(var)
            if domain is not None:
                interval = int_set.intersect([domain, interval], self.settings)
            self.domains[var] = interval
        self.visit(node)
        self.domains = outside


def _bounds_by(condition: Expr) -> list[tuple[Var, IntervalSet]]:
    """The variables that a condition compares with something, and the values they then have."""
    if isinstance(condition, And):
        return _bounds_by(condition.a) + _bounds_by(condition.b)
    if not isinstance(condition, LT | LE | GT | GE | EQ):
        return []
    kind: type = type(condition)
    sides = ((condition.a, kind, condition.b), (condition.b, MIRROR[kind], condition.a))
    return [(a, _interval(how, b)) for a, how, b in sides if isinstance(a, Var)]


def _interval(kind: type, b: Expr) -> IntervalSet:
    """The values for which the comparison with b holds."""
    if kind is EQ:
        return IntervalSet(b, b)
    if kind in (LT, LE):
        return IntervalSet(None, ops.sub(b, 1) if kind is LT else b)
    return IntervalSet(ops.add(b, 1) if kind is GT else b, None)


def _prefetch_lines(buffer: Buffer, bounds: Sequence[Range]) -> Stmt:
    """Loops over the cache lines of a region, from the last dimension to the first."""
    room = CACHE_LINE_BYTES // dtypes.storage_bytes(buffer.dtype)
    loops: list[Var] = []
    counts: list[Expr] = []
    indices: list[Expr] = []
    dtype = "int64" if any(bound.extent.dtype == "int64" for bound in bounds) else "int32"
    for dim in reversed(range(len(bounds))):
        bound, size = bounds[dim], buffer.shape[dim]
        loop = Var(f"prefetch.{buffer.name}.{dim}", dtype)
        if loops:  # every element of the outer dimensions begins a line
            counts.append(bound.extent)
            indices.append(ops.add(loop, bound.min))
        elif dim > 0 and type(size) is IntImm and 0 < size.value <= room:  # a line holds all of it
            room //= size.value
            indices.append(bound.min)
            continue
        else:
            counts.append(ops.add(ops.truncdiv(ops.sub(bound.extent, 1), room), 1))
            indices.append(ops.add(bound.min, ops.mul(loop, room)))
        loops.append(loop)
    address = Call("handle", "tir.address_of", (BufferLoad(buffer, tuple(indices)),))
    arguments = (address, _READ, _KEEP_IN_ALL_CACHES, _DATA)
    body: Stmt = Evaluate(Call(buffer.dtype, "tir.prefetch", arguments))
    for loop, count in zip(reversed(loops), counts, strict=True):
        body = For(loop, IntImm(0, dtype), ops.cast(dtype, count), "serial", body)
    return body
