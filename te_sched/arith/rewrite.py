"""Bottom-up rewriting by the rules of `tables`: `Analyzer.rewrite_simplify`.

Owns the traversal, and the decisions that need proofs (comparisons, min and max by bounds).
Must not know linear forms.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from te_sched.arith import build
from te_sched.arith.build import INDEX_TYPES
from te_sched.arith.const_bounds import INFINITY, ConstBound
from te_sched.arith.facts import MIRROR, Facts
from te_sched.arith.fold import fold, fold_call, fold_comparison
from te_sched.arith.rules import RuleTable, apply
from te_sched.arith.tables import INDEX, LOGIC, VECTOR
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.calls import effect_of
from te_sched.ir.choices import choice_of, with_choice
from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Ramp,
    Select,
    Sub,
    Var,
)
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Mapper, Visitor, substitute, walk

_MAX_DEPTH = 24


def _cancelled(a: Any, b: Any, difference: Sub) -> Any:
    """a - b for types that are not indices: common terms cancel, as for real numbers."""
    if same(a, b):
        return ops.const(0, difference.dtype) if _is_repeatable(a) else difference
    if type(a) is Add and (same(a.a, b) or same(a.b, b)):
        rest = a.b if same(a.a, b) else a.a
        return rest if _is_repeatable(b) else difference
    if type(b) is Add and (same(a, b.a) or same(a, b.b)):
        rest = b.b if same(a, b.a) else b.a
        zero = ops.const(0, difference.dtype)
        return ops.sub(zero, rest) if _is_repeatable(a) else difference
    return difference


def _is_repeatable(e: Any) -> bool:
    """Whether e has no effect and the same value at each evaluation."""
    return effect_of(e) <= Effect.READ_STATE


def _one_choice(kind: Any, a: Select, b: Any) -> Select | None:
    """select(c, x, y) + select(c, z, w), and select(c, x, y) - x or - y, as one choice."""
    if kind not in (Add, Sub, Min, Max):
        return None
    if type(b) is Select and same(a.condition, b.condition):
        yes, no = kind(a.true_value, b.true_value), kind(a.false_value, b.false_value)
        return Select(a.condition, yes, no)
    if kind is not Sub or not _is_repeatable(b):
        return None
    zero = ops.const(0, b.dtype)
    if same(a.false_value, b):
        return Select(a.condition, Sub(a.true_value, b), zero)
    return Select(a.condition, zero, Sub(a.false_value, b)) if same(a.true_value, b) else None


def _from_digits(quotient: Expr, remainder: Expr) -> Expr | None:
    """x == q * c + r, of x // c == q and x % c == r."""
    if type(quotient) is not EQ or type(remainder) is not EQ:
        return None
    high, q, low, r = quotient.a, quotient.b, remainder.a, remainder.b
    if type(high) is not FloorDiv or type(low) is not FloorMod:
        return None
    c = high.b
    if type(q) is not IntImm or type(r) is not IntImm or type(c) is not IntImm:
        return None
    if high.a.dtype not in INDEX_TYPES:
        return None
    if not (same(high.a, low.a) and same(c, low.b)) or not 0 <= r.value < c.value:
        return None
    return EQ(high.a, build.imm(q.value * c.value + r.value, high.a.dtype))


def _has_multiple(e: Any, least: int) -> bool:
    """Whether a term of e is a product with a number that is not less than `least`: TVM takes the
    multiples out of a division before it uses the bounds of the dividend.
    """
    terms = (e.a, e.b) if type(e) is Add else (e,)
    return any(
        type(term) is Mul and type(term.b) is IntImm and term.b.value >= least for term in terms
    )


class Rewriter(Visitor):
    """Rewrites expressions under facts; results are cached until facts change."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.memo: dict[Expr, Any] = {}
        facts.keep(self)
        self._depth = 0

    # -- predicates of rules ----------------------------------------------------------

    def low(self, e: Expr) -> int:
        """The smallest value of e."""
        return self.facts.bounds.of(e)[0]

    def high(self, e: Expr) -> int:
        """The largest value of e."""
        return self.facts.bounds.of(e)[1]

    def is_ieee(self, dtype: str) -> bool:
        """Whether infinities, NaN and signed zeros of a type matter."""
        return self.facts.is_exact and dtypes.is_float(dtype)

    def zero(self, e: Expr) -> bool:
        """Whether e is the constant zero."""
        return type(e) is IntImm and e.value == 0

    def real_zero(self, e: Expr) -> bool:
        """Whether e is the constant zero of a type whose numbers are taken to be real."""
        return type(e) is FloatImm and e.value == 0 and not self.facts.is_exact

    def constant(self, e: Expr) -> bool:
        """Whether e is a number."""
        return type(e) in (IntImm, FloatImm)

    def extremum(self, e: Expr) -> bool:
        """Whether e is a min or a max."""
        return type(e) in (Min, Max)

    def newer(self) -> bool:
        """Whether rules newer than TVM 0.9 apply (see `config.Lowering.as_older`)."""
        return not self.facts.settings.as_older

    def in_one_bin(self, base: Expr, stride: int, lanes: int, divisor: int) -> bool:
        """Whether all lanes of ramp(base, stride, lanes) have the same quotient by the divisor."""
        if divisor <= 0 or isinstance(lanes, dtypes.ScalableLanes):
            return False
        last = stride * (lanes - 1)
        coeff, rest = self.facts.modular.of(base)
        if coeff == 0:
            return rest // divisor == (rest + last) // divisor
        if coeff % divisor == 0:
            return rest % divisor // divisor == (rest % divisor + last) // divisor
        if divisor % coeff == 0:
            # base % divisor is rest + k * coeff: it suffices to check its extremes.
            lowest, highest = rest, divisor - coeff + rest
            return min(lowest, lowest + last) >= 0 and max(highest, highest + last) < divisor
        return False

    # -- traversal ---------------------------------------------------------------

    def visit(self, e: Any) -> Any:
        """The rewritten expression."""
        if type(e) is IntImm:
            return e
        done = self.memo.get(e)
        if done is None:
            if self._depth > _MAX_DEPTH:
                return e
            self._depth += 1
            try:
                done = self.methods[type(e)](self, e)
            finally:
                self._depth -= 1
            self.memo[e] = done
        return done

    def operands(self, e: Any) -> Any:
        """e with its two operands rewritten."""
        a, b = self.visit(e.a), self.visit(e.b)
        return e if a is e.a and b is e.b else type(e)(a, b)

    def by_rules(self, e: Any, dtype: str) -> Any:
        """The result of the rules for operands of a type; the operation itself if none matches."""
        if dtype in INDEX_TYPES:
            table = INDEX
        elif dtypes.lanes(dtype) > 1:
            table = VECTOR
        else:
            return e
        return self.by_table(table, e, type(e.a), type(e.b))

    def by_table(self, table: RuleTable, e: Any, *operands: type) -> Any:
        """The result of the rules of a table for operands of some classes."""
        rules = table.rules(type(e), *operands)
        result = apply(rules, e, self) if rules else None
        return e if result is None else result

    def visit_BinaryOp(self, e: Any) -> Any:
        """Arithmetic, min and max."""
        e = self.operands(e)
        folded = fold(e, self.facts.is_exact)
        if folded is None and type(e.a) is Select and not self.is_ieee(e.dtype):
            folded = _one_choice(type(e), e.a, e.b)
        return _FINISH[type(e)](self, e) if folded is None else folded

    def finish_arithmetic(self, e: Any) -> Any:
        """The rules for an operation whose operands are rewritten and not all constant."""
        return self.by_rules(e, e.dtype)

    def finish_sub(self, e: Any) -> Any:
        """Differences: for types that are not indices, common terms cancel."""
        if e.dtype not in INDEX_TYPES and not self.is_ieee(e.dtype):
            done = _cancelled(e.a, e.b, e)
            if done is not e:
                return done
        return self.finish_arithmetic(e)

    def finish_floordiv(self, e: Any) -> Any:
        """Floor division: also by the bounds of its operands."""
        if e.dtype in INDEX_TYPES and type(e.b) is IntImm and e.b.value > 0:
            low, high = self.facts.bounds.of(e.a)
            if low >= 0 and high < e.b.value and not _has_multiple(e.a, e.b.value):
                return build.imm(0, e.dtype)
        return self.finish_arithmetic(e)

    def finish_floormod(self, e: Any) -> Any:
        """Floor remainder: also by bounds and by modular sets."""
        if e.dtype not in INDEX_TYPES or type(e.b) is not IntImm or e.b.value <= 0:
            return self.finish_arithmetic(e)
        low, high = self.facts.bounds.of(e.a)
        if low >= 0 and high < e.b.value and not _has_multiple(e.a, e.b.value):
            return e.a
        done = self.by_rules(e, e.dtype)
        if done is not e:
            return done
        coeff, base = self.facts.modular.of(e.a)
        return build.imm(base % e.b.value, e.dtype) if coeff % e.b.value == 0 else e

    def difference(self, x: Expr, y: Expr) -> ConstBound:
        """The minimum and maximum of x - y."""
        gap = self.visit(build.sub(x, y))
        low, high = self.facts.bounds.of(gap)
        if self.facts.differences and low != high:
            high = min(high, self.facts.highest_difference(x, y))
            below = self.facts.highest_difference(y, x)
            low = max(low, -below) if below != INFINITY else low
        return low, high

    def finish_extremum(self, e: Any) -> Any:
        """min and max."""
        if e.dtype not in INDEX_TYPES:
            return e.a if e.a is e.b else self.finish_arithmetic(e)
        if same(e.a, e.b):
            return e.a
        first, second = self.facts.bounds.of(e.a), self.facts.bounds.of(e.b)
        if first[1] <= second[0]:
            return e.a if type(e) is Min else e.b
        if first[0] >= second[1]:
            return e.b if type(e) is Min else e.a
        return self.finish_arithmetic(e)

    # -- comparisons -------------------------------------------------------------

    def literal(self, e: Any) -> Any | None:
        """True or False for a condition that is known to hold or not to hold."""
        for fact in self.facts.true:
            if same(fact, e):
                return build.truth(True)
            if type(fact) is Not and same(fact.a, e):
                return build.truth(False)
            is_opposite = (type(fact), type(e)) in ((NE, EQ), (EQ, NE))
            if is_opposite and same(fact.a, e.a) and same(fact.b, e.b):
                return build.truth(False)
        return None

    def visit_CompareOp(self, e: Any) -> Any:
        """Comparisons: all are expressed by LT and EQ, or their negations."""
        kind = type(e)
        a, b = self.visit(e.a), self.visit(e.b)
        if kind is GT or kind is GE:
            a, b, kind = b, a, MIRROR[kind]
        if kind is LT:
            return self.less(a, b)
        if kind is LE:
            return self.at_most(a, b)
        return self.equals(a, b) if kind is EQ else self.unequal(a, b)

    def less(self, a: Any, b: Any, is_negated: bool = False) -> Any:
        """a < b, of rewritten operands; where `is_negated`, it is not looked up."""
        if (folded := fold_comparison(LT, a, b)) is not None:
            return folded
        e = LT(a, b)
        if self.facts.true and not is_negated and (truth := self.literal(e)) is not None:
            return truth
        if a.dtype in INDEX_TYPES:
            low, high = self.difference(a, b)
            if high < 0 or (high == 0 and self.facts.differ(a, b)):
                return build.truth(True)
            if low >= 0:
                return build.truth(False)
        return self.by_rules(e, a.dtype)

    def at_most(self, a: Any, b: Any) -> Any:
        """a <= b, of rewritten operands."""
        e = LE(a, b)
        truth = fold_comparison(LE, a, b)
        if truth is None and self.facts.true:
            truth = self.literal(e)
        if truth is None and not self.is_ieee(a.dtype):
            truth = self.not_less(self.less(b, a, is_negated=True))
        return e if truth is None else truth

    def not_less(self, e: Any) -> Any:
        """a <= b, of a rewritten b < a."""
        return self.negated(e)

    def unequal(self, a: Any, b: Any) -> Any:
        """a != b, of rewritten operands."""
        if a.dtype in INDEX_TYPES:
            e = NE(a, b)
            if self.facts.true and (truth := self.literal(e)) is not None:
                return truth
            tighter = self.tightened(e)  # as TVM, before negations that are known
            if tighter is not e:
                return tighter
        return self.negated(self.equals(a, b))

    def equals(self, a: Any, b: Any) -> Any:
        """a == b, of rewritten operands."""
        if (folded := fold_comparison(EQ, a, b)) is not None:
            return folded
        e = EQ(a, b)
        if same(a, b) and not self.is_ieee(a.dtype):
            return build.truth(True, e.dtype)
        if self.facts.true and (truth := self.literal(e)) is not None:
            return truth
        if a.dtype in INDEX_TYPES:
            low, high = self.difference(a, b)
            if low == high == 0:
                return build.truth(True)
            if low > 0 or high < 0 or self.differs(a, b) or self.facts.differ(a, b):
                return build.truth(False)
            if self.facts.true and low < 0 < high and self.literal(Not(NE(a, b))) is not None:
                return build.truth(True, e.dtype)
        return self.by_rules(e, a.dtype)

    def negated(self, e: Any) -> Any:
        """not e, of a rewritten e."""
        if type(e) is IntImm:
            return build.truth(not e.value)
        result: Any = Not(e)
        if self.facts.may_be_unordered(e):
            truth = self.literal(result)
            return result if truth is None else truth
        result = self.by_table(VECTOR if type(e) is Broadcast else LOGIC, result, type(e))
        if type(result) in (LE, NE) and result.a.dtype in INDEX_TYPES:
            tighter = self.tightened(result)
            if tighter is not result:
                return tighter
        for candidate in (result, Not(e)) if self.facts.true else ():
            if (truth := self.literal(candidate)) is not None:
                return truth
        return result

    def tightened(self, e: Any) -> Any:
        """a <= b or a != b, if one of the three orders of a and b is excluded."""
        low, high = self.difference(e.a, e.b)
        if type(e) is LE:
            if low >= 0:
                return self.equals(e.a, e.b)
            is_other = self.differs(e.a, e.b) or self.facts.differ(e.a, e.b)
            return self.less(e.a, e.b) if is_other else e
        if low >= 0:
            return self.less(e.b, e.a)
        return self.less(e.a, e.b) if high <= 0 else e

    def differs(self, a: Expr, b: Expr) -> bool:
        """Whether a != b is known, or follows from a remainder."""
        if self.facts.true and self.facts.differ(a, b):
            return True
        return self.facts.modular.of(self.visit(build.sub(a, b)))[1] != 0

    # -- logic -------------------------------------------------------------------

    def visit_Not(self, e: Any) -> Any:
        """not"""
        return self.negated(self.visit(e.a))

    def visit_And(self, e: Any) -> Any:
        """and, or"""
        e = self.operands(e)
        if type(e.a) is IntImm or type(e.b) is IntImm:
            return build.BINARY[type(e)](e.a, e.b)
        if self.facts.true and (truth := self.literal(e)) is not None:
            return truth
        if self.facts.is_exact and any(map(self.facts.may_be_unordered, walk(e))):
            return e
        if type(e) is And:
            for digits in ((e.a, e.b), (e.b, e.a)):
                if (number := _from_digits(*digits)) is not None:
                    return self.visit(number)
        table = LOGIC if dtypes.lanes(e.dtype) == 1 else VECTOR
        return self.by_table(table, e, type(e.a), type(e.b))

    visit_Or = visit_And

    def _under(self, condition: Expr, value: Expr) -> Expr:
        if type(value) in (IntImm, FloatImm):
            return value
        with self.facts.under(condition):
            done: Expr = self.visit(value)
        return done

    def visit_Select(self, e: Any) -> Any:
        """select and if_then_else, each value under the facts of the condition"""
        old: Any = choice_of(e)
        condition, yes, no = old
        condition = self.visit(condition)
        if type(condition) is IntImm:
            return self.visit(yes if condition.value else no)
        is_select = type(e) is Select
        negation = self.negated(condition) if is_select else Not(condition)
        first, second = self._under(condition, yes), self._under(negation, no)
        if is_select and same(first, second):
            return first
        e = with_choice(e, condition, first, second)
        return e if is_select else self.by_table(LOGIC, e, type(condition), type(first))

    # -- other expressions -------------------------------------------------------

    def visit_Var(self, e: Any) -> Any:
        """A variable, or its bound value."""
        if e.dtype == "bool" and self.facts.true and (truth := self.literal(e)) is not None:
            return truth
        return self.facts.values.get(e, e)

    def visit_Call(self, e: Any) -> Any:
        """Intrinsics."""
        if e.op == "tir.if_then_else":
            return self.visit_Select(e)
        e = _Children(self).generic(e)
        if e.op == "tir.likely" and type(e.args[0]) is IntImm:
            return e.args[0]
        folded = fold_call(e, as_tvm=not self.facts.is_exact)
        return e if folded is None else folded

    def visit_Cast(self, e: Any) -> Any:
        """Conversions: constants are folded."""
        value = self.visit(e.value)
        if value.dtype == e.dtype:
            return value
        if type(value) is Broadcast and dtypes.lanes(e.dtype) > 1:
            return Broadcast(self.visit(Cast(dtypes.element(e.dtype), value.value)), value.lanes)
        if type(value) is Ramp and dtypes.is_integral(e.dtype):
            element = dtypes.element(e.dtype)
            base, stride = (self.visit(Cast(element, e)) for e in (value.base, value.stride))
            return Ramp(base, stride, value.lanes)
        if type(value) is IntImm and dtypes.is_integral(e.dtype):
            return build.cast(e.dtype, value)  # it wraps around
        if type(value) in (IntImm, FloatImm):
            with suppress(DeclarationError):  # it must not occur there
                return ops.cast(e.dtype, value)
        return e if value is e.value else Cast(e.dtype, value)

    def visit_Let(self, e: Any) -> Any:
        """let: a constant or a variable replaces the bound variable."""
        value = self.visit(e.value)
        if type(value) in (IntImm, FloatImm, Var):
            return self.visit(substitute(e.body, {e.var: value}))
        self.facts.bounds.bind(e.var, value)
        body = self.visit(e.body)
        return e if value is e.value and body is e.body else Let(e.var, value, body)

    def visit_Ramp(self, e: Any) -> Any:
        """ramp: a stride of 0 makes it a broadcast."""
        e = _Children(self).generic(e)
        if type(e.stride) is IntImm and e.stride.value == 0:
            return Broadcast(e.base, e.lanes)
        return e

    def visit_Node(self, e: Any) -> Any:
        """Any other expression: only its operands."""
        return _Children(self).generic(e)


class _Children(Mapper):
    """Rebuilds a node from the rewritten nodes below it."""

    def __init__(self, rewriter: Rewriter) -> None:
        self._rewriter = rewriter

    def visit_Expr(self, node: Expr) -> Any:
        return self._rewriter.visit(node)


# Rewriting after the operands, which are rewritten and not all constant.
_FINISH: dict[type, Callable[[Any, Any], Any]] = {
    **dict.fromkeys((Add, Mul, Div, Mod), Rewriter.finish_arithmetic),
    Sub: Rewriter.finish_sub,
    FloorDiv: Rewriter.finish_floordiv,
    FloorMod: Rewriter.finish_floormod,
    **dict.fromkeys((Min, Max), Rewriter.finish_extremum),
}
