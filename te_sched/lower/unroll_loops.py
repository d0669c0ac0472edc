"""Replace unrolled loops by copies of their body (TVM's name: UnrollLoop).

Loops marked `unrolled` always; serial ones when `pragma_auto_unroll_max_step` allows the number of
statements that result. `pragma_unroll_explicit` = 0 leaves the loop, marked `unrolled`, to the
code generator.
"""

from __future__ import annotations

from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import AttrStmt, BufferStore, Evaluate, For, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import Mapper, replace
from te_sched.lower.statements import NOTHING, fresh_copy, sequence, statements

_PRAGMAS = ("pragma_auto_unroll_max_step", "pragma_unroll_explicit")
_MAX_DEPTH = 8  # of nested loops that a pragma unrolls


def unroll_loops(func: PrimFunc) -> PrimFunc:
    """The function without loops to be unrolled, and without the pragmas that ask for it."""
    if not any(_concerns(node) for node in statements(func.body)):
        return func
    return replace(func, body=_Unroller().visit(func.body))  # type: ignore[no-any-return]


def _concerns(node: Stmt) -> bool:
    if type(node) is For:
        return node.kind == "unrolled"
    return type(node) is AttrStmt and node.key in _PRAGMAS


class _Unroller(Mapper):
    """`steps` counts the statements that the part mapped so far executes when fully unrolled."""

    def __init__(self) -> None:
        self.max_step = 0
        self.explicit = True
        self.steps = 0
        self.depth = 0  # of unrolled loops in the part mapped so far
        self.kept_depth = 0  # of loops kept as loops there

    def visit_AttrStmt(self, node: AttrStmt) -> Stmt:
        if node.key not in _PRAGMAS:
            return self.generic(node)  # type: ignore[no-any-return]
        value = node.value.value if isinstance(node.value, IntImm) else 0
        before = self.max_step, self.explicit
        if node.key == "pragma_auto_unroll_max_step":
            self.max_step = value
        else:
            self.explicit = bool(value)
        body = self.visit(node.body)
        self.max_step, self.explicit = before
        return body  # type: ignore[no-any-return]

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        self.steps += 1
        return node

    def visit_Evaluate(self, node: Evaluate) -> Stmt:
        self.steps += 1
        return node

    def visit_SeqStmt(self, node: SeqStmt) -> Stmt:
        parts = []
        steps, depth, kept = self.steps, self.depth, self.kept_depth
        for part in node.seq:
            self.steps = self.depth = self.kept_depth = 0
            parts.append(self.visit(part))
            steps += self.steps
            depth, kept = max(depth, self.depth), max(kept, self.kept_depth)
        self.steps, self.depth, self.kept_depth = steps, depth, kept
        return sequence(parts)

    def visit_For(self, node: For) -> Stmt:
        loop: For = self.generic(node)
        extent = loop.extent.value if isinstance(loop.extent, IntImm) else None
        if loop.kind == "unrolled":
            if extent is None:
                raise _not_constant(loop)
            wanted = True
        else:
            wanted = loop.kind == "serial" and extent is not None and self._may_unroll(extent)
        if not wanted:
            self.kept_depth += 1
            return loop
        assert extent is not None
        self.steps *= extent
        self.depth += 1
        if self.explicit:
            return _unrolled(loop, extent)
        return loop if loop.kind == "unrolled" else replace(loop, kind="unrolled")

    def _may_unroll(self, extent: int) -> bool:
        within = self.kept_depth == 0 and self.depth <= _MAX_DEPTH
        return within and (extent * self.steps <= self.max_step or extent <= 0)


def _unrolled(loop: For, extent: int) -> Stmt:
    if extent <= 0:
        return NOTHING
    dtype = loop.loop_var.dtype
    copies = [
        fresh_copy(loop.body, {loop.loop_var: ops.add(loop.min, IntImm(step, dtype))})
        for step in range(extent)
    ]
    return sequence(copies)


def _not_constant(loop: For) -> LoweringError:
    name = loop.loop_var.name
    return LoweringError(
        f"unroll loop {name}, which has the extent {loop.extent}",
        "a loop is unrolled by copying its body, so its extent must be a constant",
        f"split {name} by a constant factor and unroll the inner axis",
        where=f"loop {name}",
    )
