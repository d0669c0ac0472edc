"""Binding of buffers that intrinsics and extern operations declare to regions.

Variables in the declaration (offset, strides, shape) get the values of the region; constants in it
must equal these. Must not know how regions are found or how accesses are rewritten.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Expr, IntImm, Var
from te_sched.ir.visitor import substitute
from te_sched.wording import wording

_HELP = (
    "declare it by tir.decl_buffer with strides of te.var, and give it in `binds`; or use another "
    "region"
)


class ViewBinder:
    """Makes the parts of a view equal to those of a region: defined, proved or asserted."""

    def __init__(
        self, view: Buffer, buffer: Buffer, analyzer: Analyzer, values: dict[Var, Expr]
    ) -> None:
        self.view, self.buffer, self.analyzer, self.values = view, buffer, analyzer, values
        self.asserts: list[tuple[Expr, str]] = []
        self.defined: list[Var] = []

    def bind(self, part: str, wanted: Expr, value: Expr) -> None:
        """Define a variable of the view, or require a fixed part of it."""
        if type(wanted) is Var and wanted not in self.values:
            self.values[wanted] = value
            self.defined.append(wanted)
            return
        wanted = substitute(wanted, self.values)
        if wanted is not value:
            self.require(ops.equal(wanted, value), f"its {part} must match")

    def require(self, condition: Expr, problem: str) -> None:
        """Prove a condition, raise an error if it is refuted, or let the program assert it."""
        simplified = self.analyzer.simplify(condition)
        if type(simplified) is not IntImm:
            self.asserts.append((simplified, f"Argument {self.view.name}: {problem}"))
        elif simplified.value == 0:
            raise self.error(problem)

    def release(self) -> None:
        """Forget the definitions: the declaration may be used again, for another region."""
        for var in self.defined:
            del self.values[var]

    def check_scope(self, flat: Buffer) -> None:
        """Refuse a view in another memory than the buffer."""
        wanted, scope = self.view.scope() or "global", flat.scope() or "global"
        if wanted != scope:
            raise self.error(
                f"it is declared in scope {wanted!r}, but {self.buffer.name} is in {scope!r}",
                f"declare it with decl_buffer(..., scope={scope!r})",
            )

    def check_rank(self, dropped: Sequence[Expr], count: int) -> None:
        """Leading dimensions of the region may be dropped when they have one element."""
        if count < 0:
            raise self.error(
                f"it has {len(self.view.shape)} dimensions, the region has fewer",
                "declare it with the dimensions of the tensor",
            )
        for extent in dropped:
            if not self.analyzer.can_prove_equal(extent, IntImm(1, extent.dtype)):
                raise self.error(
                    "the region has more dimensions of more than one element",
                    "declare it with the dimensions of the tensor",
                )

    def check_compact(self, extents: Sequence[Expr], strides: Sequence[Expr]) -> None:
        """A view without strides is compact: so must be the region."""
        expected: Expr | None = None
        for extent, stride in reversed(list(zip(extents, strides, strict=True))):
            one = IntImm(1, extent.dtype)
            expected = one if expected is None else expected
            if not self.analyzer.can_prove_equal(extent, one):
                self.require(
                    ops.equal(expected, stride), "it has no strides, but the region is not compact"
                )
            expected = ops.mul(expected, extent)

    def error(self, problem: str, help: str = _HELP) -> LoweringError:
        """The error of a view that does not match its region."""
        fault = f"cannot bind buffer {self.view.name} to a region of {self.buffer.name}: {problem}"
        return LoweringError(fault, help=help, where=wording().subject(self.buffer.name))
