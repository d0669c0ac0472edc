"""Prefetches become loops that ask for one cache line after the other.

A `prefetch_scope` attribute inside of a loop asks for the region of a buffer that the loop's body
will read some iterations later: the region that the body reads, moved along the loop. Before and
after, for `A` of (1024, 1024) float32 read at A[i, k], one iteration of k ahead:

    for k in range(1024):                  for k in range(1024):
        attr(A, "prefetch_scope", 1)           for p1, p0 in grid(1, 1):
        B[i] = B[i] + A[i, k]          ->          prefetch(address_of(A[k + 1 + p1 * 16, p0 + i]))
                                               B[i] = B[i] + A[i, k]

The order of the indices and of the loops is the one that programs have always printed: both run
from the last dimension to the first. A wrong address does no harm to a prefetch, so the text is
kept. (TVM's name: InjectPrefetch.)
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Buffer, BufferLoad, Call, Expr, IntImm, IterVar, Range, Var
from te_sched.ir.stmt import AttrStmt, Evaluate, For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import Mapper, replace, substitute, walk
from te_sched.lower.statements import has_attribute

CACHE_LINE_BYTES = 64
_READ, _KEEP_IN_ALL_CACHES, _DATA = IntImm(0), IntImm(3), IntImm(1)


def inject_prefetch(func: PrimFunc) -> PrimFunc:
    """The function with its `prefetch_scope` attributes turned into prefetches."""
    if not has_attribute(func.body, "prefetch_scope"):
        return func
    body = _Injector().visit(func.body)
    return func if body is func.body else replace(func, body=body)


class _Injector(Mapper):
    """Puts prefetches in front of what their attributes surround."""

    def __init__(self) -> None:
        self.loops: list[Var] = []
        self.vectorized: dict[Var, IntervalSet] = {}

    def visit_For(self, node: For) -> Stmt:
        self.loops.append(node.loop_var)
        if node.kind == "vectorized":
            self.vectorized[node.loop_var] = int_set.from_range(Range(node.min, node.extent))
        mapped = self.generic(node)
        self.loops.pop()
        return mapped  # type: ignore[no-any-return]

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        mapped = self.generic(node)
        if node.key != "prefetch_scope":
            return mapped  # type: ignore[no-any-return]
        region = _region_read(mapped.body, node.node)
        if region is None:
            return mapped.body  # type: ignore[no-any-return]
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
        found = int_set.union(
            [
                int_set.eval_set(end, self.vectorized)
                for end in (low, ops.sub(ops.add(low, extent), 1))
            ]
        )
        return int_set.cover_range(found, whole)


def _region_read(body: Stmt, buffer: Buffer) -> list[Range] | None:
    """What the statement reads of a buffer; None when it reads nothing or one cannot say what."""
    domains: dict[Var, IntervalSet] = {}
    reads: list[BufferLoad] = []
    for node in walk(body):
        if type(node) is For:
            domains[node.loop_var] = int_set.from_range(Range(node.min, node.extent))
        elif type(node) is AttrStmt and type(node.node) is IterVar:
            domains[node.node.var] = int_set.from_range(Range(IntImm(0), node.value))
        elif type(node) is BufferLoad and node.buffer is buffer:
            reads.append(node)
    analyzer = Analyzer()
    region: list[Range] = []
    for indices in zip(*[load.indices for load in reads], strict=True):
        touched = int_set.union([int_set.eval_set(index, domains) for index in indices])
        if touched.min is None or touched.max is None:
            return None
        extent = analyzer.simplify(ops.add(ops.sub(touched.max, touched.min), 1))
        region.append(Range(analyzer.simplify(touched.min), extent))
    return region or None


def _prefetch_lines(buffer: Buffer, bounds: Sequence[Range]) -> Stmt:
    """Loops over the cache lines of a region, from the last dimension to the first."""
    room = CACHE_LINE_BYTES // dtypes.storage_bytes(buffer.dtype)
    loops: list[Var] = []
    counts: list[Expr] = []
    indices: list[Expr] = []
    for dim in reversed(range(len(bounds))):
        bound, size = bounds[dim], buffer.shape[dim]
        loop = Var(f"prefetch.{buffer.name}.{dim}", bound.min.dtype)
        if loops:  # every element of the outer dimensions begins a line
            counts.append(bound.extent)
            indices.append(ops.add(loop, bound.min))
        elif dim > 0 and type(size) is IntImm and size.value <= room:  # a line holds all of it
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
        body = For(loop, IntImm(0, loop.dtype), count, "serial", body)
    return body
