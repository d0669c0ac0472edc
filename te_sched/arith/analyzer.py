"""The Analyzer: simplifies, bounds and proves index expressions under ranges and conditions.

Its interface is that of `tvm.arith.Analyzer`, and its canonical forms are TVM's: the terms of a sum
by decreasing scale, constants last.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import AbstractContextManager

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.arith import build
from te_sched.arith.const_bounds import INFINITY
from te_sched.arith.facts import Facts, Memo
from te_sched.arith.full import Simplifier
from te_sched.config import AS_TVM, Lowering
from te_sched.ir.data import DataDependence
from te_sched.ir.expr import Add, Expr, IntImm, Mul, Range, Sub, Var
from te_sched.ir.visitor import walk
from te_sched.public_members import PublicClass


class Analyzer(PublicClass):
    """Simplifies, bounds and proves index expressions under known facts.

    >>> from te_sched import te, tir
    >>> i, analyzer = te.var("i"), Analyzer()
    >>> analyzer.bind(i, tir.Range(0, 8))
    >>> analyzer.simplify(i // 8), analyzer.can_prove(i < 8)
    (0, True)
    """

    _internal_members = (
        *("assumed", "assumes_memory", "change_memory", "data", "is_exact", "keep", "may_wrap"),
        *("ranges", "settings", "value_of", "wraps"),
    )

    def __init__(self, settings: Lowering = AS_TVM) -> None:
        """`settings` of the lowering decide whether integers overflow (`arith.facts`)."""
        self._facts = Facts(settings)
        self._simplifier = Simplifier(self._facts)

    # -- facts -------------------------------------------------------------------

    def bind(self, var: Var, value: Range | Expr) -> None:
        """Assume the range of a variable, or the value that it stands for.

        A range of one integer is that value. The last binding holds.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.const_bounds(i * 2)
        (0, 14)
        """
        facts = self._facts
        if isinstance(value, Range) and type(value.extent) is IntImm and value.extent.value == 1:
            value = value.min
        facts.bounds.bind(var, value)
        facts.unbind(var)
        if isinstance(value, Range):
            facts.assume_range(var, value)
        else:
            facts.modular.bind(var, value)
            facts.values[var] = self._simplifier.canonicalizer.visit(value)
        facts.forget()

    def keep(self, holder: Memo) -> None:
        """Register an object whose memo is cleared when the facts change."""
        self._facts.keep(holder)

    @property
    def settings(self) -> Lowering:
        """The settings of the lowering."""
        return self._facts.settings

    @property
    def is_exact(self) -> bool:
        """Whether floats and computations with data have the types they have at run time."""
        return self._facts.is_exact

    @property
    def data(self) -> DataDependence:
        """The analysis of which expressions depend on data or on arguments of a call."""
        return self._facts.bounds.data

    def mark_nonnegative(self, e: Expr) -> None:
        """Assume that a variable, or a linear expression of one, is at least 0.

        The last assumption holds, as in TVM: x >= 0, then x + 2 >= 0, leaves x >= -2.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.mark_nonnegative(i)
        >>> analyzer.can_prove(i >= 0)
        True
        """
        least = 0
        while isinstance(e, Add | Sub | Mul):
            if isinstance(e, Mul):
                a, b = e.a, e.b
                if not isinstance(b, IntImm) or b.value <= 0:
                    return
                e, least = a, -(-least // b.value)
            elif isinstance(e.b, IntImm):
                least += -e.b.value if isinstance(e, Add) else e.b.value
                e = e.a
            elif isinstance(e, Add) and isinstance(e.a, IntImm):
                least -= e.a.value
                e = e.b
            else:
                return
        if not isinstance(e, Var):
            return
        self._facts.bounds.variables[e] = (least, self._facts.bounds.of(e)[1])
        self._facts.forget()

    def constraint(self, condition: Expr) -> AbstractContextManager[None]:
        """A context manager inside which a condition is assumed.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> with analyzer.constraint(i > 3):
        ...     print(analyzer.can_prove(i >= 2))
        True
        """
        return self._facts.under(condition)

    def change_memory(self, data: Container[Var] | None = None) -> None:
        """Stop assuming conditions on the memory of some pointers, which is written, or on any.

        >>> from te_sched import tir
        >>> A, analyzer = tir.decl_buffer((4,), "int32", name="A"), Analyzer()
        >>> with analyzer.constraint(A[0] < 5):
        ...     analyzer.change_memory({A.data})
        ...     print(analyzer.can_prove(A[0] < 7))
        False
        """
        if self._facts.on_memory:
            self._facts.change_memory(data)

    @property
    def assumes_memory(self) -> bool:
        """Whether a condition is assumed that depends on memory."""
        return self._facts.on_memory > 0

    @property
    def assumed(self) -> Sequence[Expr]:
        """The conditions that are assumed, but for those that depend on memory."""
        return self._facts.true

    @property
    def ranges(self) -> Mapping[Var, Range]:
        """The ranges of variables that have more than one value."""
        return self._facts.ranges

    def value_of(self, var: Var) -> Expr | None:
        """The value that a variable stands for, if any."""
        return self._facts.values.get(var)

    # -- simplifying -------------------------------------------------------------

    def simplify(self, e: Expr) -> Expr:
        """The expression in TVM's simplified form; the same object if it already is.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.simplify((i * 8 + 3) // 8)
        i
        """
        done: Expr = self._simplifier.visit(e)
        return done

    def rewrite_simplify(self, e: Expr) -> Expr:
        """The expression simplified by the rewrite rules alone.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.rewrite_simplify(i + 1 - 1)
        i
        """
        done: Expr = self._simplifier.rewriter.visit(e)
        return done

    def canonical_simplify(self, e: Expr) -> Expr:
        """The expression in canonical form, in which sums are linear forms.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.canonical_simplify(i * 3 + 2 + i)
        i * 4 + 2
        """
        done: Expr = self._simplifier.canonicalizer.visit(e)
        return done

    # -- queries -----------------------------------------------------------------

    def const_bounds(self, e: Expr) -> tuple[int | None, int | None]:
        """The minimum and maximum of the expression; None where it is unbounded.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.const_bounds(i + 1)
        (1, 8)
        """
        low, high = self._facts.bounds.of(e)
        return (None if low == -INFINITY else low), (None if high == INFINITY else high)

    def may_wrap(self, e: Expr) -> bool:
        """Whether a subexpression that depends on integers in memory may overflow its type.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.may_wrap(i + 1)
        False
        """
        wraps, depends_on_data = self._facts.bounds.wraps, self.data.of
        return any(depends_on_data(part) and wraps(part) for part in walk(e))

    def wraps(self, e: Expr) -> bool:
        """Whether an operation may overflow its type, where overflow wraps around.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.wraps(i + 1)
        False
        """
        return self._facts.bounds.wraps(e)

    def modular_set(self, e: Expr) -> tuple[int, int]:
        """The pair (coeff, base) such that the expression is coeff * k + base for an integer k.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.modular_set(i * 4 + 1)
        (4, 1)
        """
        return self._facts.modular.of(e)

    def can_prove(self, condition: Expr) -> bool:
        """Whether the condition is known to hold.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.can_prove(i < 8), analyzer.can_prove(i < 7)
        (True, False)
        """
        done = self.simplify(condition)
        return type(done) is IntImm and done.value != 0

    def can_prove_equal(self, a: Expr, b: Expr) -> bool:
        """Whether a and b are known to be equal.

        >>> from te_sched import te
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.can_prove_equal(i * 2, i + i)
        True
        """
        if a is b:
            return True
        if type(a) is IntImm and type(b) is IntImm:
            return a.value == b.value
        done = self.simplify(build.sub(a, b))
        return self._facts.bounds.of(done) == (0, 0)

    def can_prove_greater_equal(self, e: Expr, limit: int) -> bool:
        """Whether e >= limit is known.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.can_prove_greater_equal(i, 0)
        True
        """
        return self._facts.bounds.of(self.rewrite_simplify(e))[0] >= limit

    def can_prove_less(self, e: Expr, limit: int) -> bool:
        """Whether e < limit is known.

        >>> from te_sched import te, tir
        >>> i, analyzer = te.var("i"), Analyzer()
        >>> analyzer.bind(i, tir.Range(0, 8))
        >>> analyzer.can_prove_less(i, 8)
        True
        """
        return self._facts.bounds.of(self.rewrite_simplify(e))[1] < limit


_tell_of_absent_names(__name__)
