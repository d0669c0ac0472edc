"""A second opinion on proofs: isl decides each affine condition that is asked while programs of the
corpus are lowered and their accesses are checked.

Nothing may be proved that isl refutes; what isl alone proves is counted by kind.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any, NamedTuple

import pytest

import te_sched
from te_sched import tir
from te_sched.analysis.checks import bounds
from te_sched.analysis.checks.guard_accesses import guard_accesses
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.conditions import plain
from te_sched.arith.prove import prove
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.visitor import variables_of, walk
from te_sched.lowering.assemble import schedule_ops
from te_sched.lowering.bounds import infer_bound
from te_sched.script import from_source
from te_sched.tensorir import relaxation
from tests.golden import corpus
from tests.tensorir.test_golden_schedules import PROGRAMS, apply

isl = pytest.importorskip("islpy", reason="the extra test is not installed")

_ARITHMETIC = {E.Add: "__add__", E.Sub: "__sub__", E.Min: "min", E.Max: "max"}
_ORDERS = {
    **{E.LT: "lt_set", E.LE: "le_set", E.GT: "gt_set", E.GE: "ge_set"},
    **{E.EQ: "eq_set", E.NE: "ne_set"},
}
CLIENTS = (bounds, relaxation)
_MOST_VARIABLES = 8
_PROGRAMS = 20  # of each family


class NotAffine(Exception):
    """An expression that isl cannot represent."""


class Affine:
    """Translates conditions on some variables into sets of isl."""

    def __init__(self, variables: list[Var]) -> None:
        self.places = {var: place for place, var in enumerate(variables)}
        self.space = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT, set=[f"v{place}" for place in self.places.values()]
        )

        self.universe = isl.Set.universe(self.space)

    def number(self, value: int) -> Any:
        space = isl.LocalSpace.from_space(self.space)
        return isl.PwAff.from_aff(isl.Aff.zero_on_domain(space).add_constant_val(value))

    def value(self, e: Any) -> Any:
        kind = type(e)
        if kind is IntImm:
            return self.number(e.value)
        if kind is Var:
            space = isl.LocalSpace.from_space(self.space)
            return isl.PwAff.var_on_domain(space, isl.dim_type.set, self.places[e])
        if kind in _ARITHMETIC:
            return getattr(self.value(e.a), _ARITHMETIC[kind])(self.value(e.b))
        if kind is E.Mul and IntImm in (type(e.a), type(e.b)):
            number, other = (e.a, e.b) if type(e.a) is IntImm else (e.b, e.a)
            return self.value(other).scale_val(number.value)
        if kind in (E.FloorDiv, E.FloorMod) and type(e.b) is IntImm and e.b.value > 0:
            whole = self.value(e.a)
            quotient = whole.scale_down_val(e.b.value).floor()
            return quotient if kind is E.FloorDiv else whole - quotient.scale_val(e.b.value)
        if kind is E.Cast and e.dtype == "int64" and e.value.dtype == "int32":
            return self.value(e.value)
        raise NotAffine

    def set_of(self, condition: Any) -> Any:
        condition = plain(condition)
        kind = type(condition)
        if kind is IntImm:
            return self.universe if condition.value else self.universe.complement()
        if kind is E.And:
            return self.set_of(condition.a) & self.set_of(condition.b)
        if kind is E.Or:
            return self.set_of(condition.a) | self.set_of(condition.b)
        if kind is E.Not:
            return self.set_of(condition.a).complement()
        if kind in _ORDERS and condition.a.dtype in ("int32", "int64"):
            return getattr(self.value(condition.a), _ORDERS[kind])(self.value(condition.b))
        raise NotAffine


class Question(NamedTuple):
    """A condition under facts, and who proves it."""

    condition: Expr
    engine: str | None
    is_reachable: bool
    is_implied: bool
    is_exact: bool  # whether the facts are all that is known

    @property
    def is_wrong(self) -> bool:
        """Whether it is proved, and isl knows where it does not hold."""
        return self.engine is not None and self.is_exact and not self.is_implied

    @property
    def is_missed(self) -> bool:
        """Whether only isl proves it."""
        return self.engine is None and self.is_reachable and self.is_implied

    @property
    def kind(self) -> str:
        """The operations of the condition."""
        names = {type(part).__name__ for part in walk(self.condition)}
        return " ".join(sorted(names - {"IntImm", "Var", "Call", "Cast"}))


class Recorder:
    """Asks both about each condition that an analyzer is asked."""

    def __init__(self) -> None:
        self.questions: dict[Any, Question] = {}
        self.is_asking = False

    def ask(self, facts: Analyzer, condition: Any) -> None:
        if self.is_asking or isinstance(condition, IntImm):
            return
        self.is_asking = True
        try:
            self._ask(facts, condition)
        except NotAffine:
            pass
        finally:
            self.is_asking = False

    def _ask(self, facts: Analyzer, condition: Expr) -> None:
        known, is_exact = _known(facts, condition)
        variables = variables_of(condition, *known)
        key = str((condition, *map(str, known)))
        if len(variables) > _MOST_VARIABLES or key in self.questions:
            return
        affine = Affine(sorted(variables, key=lambda var: var.name))
        asked, domain = affine.set_of(condition), affine.universe
        for fact in known:
            try:
                domain &= affine.set_of(fact)
            except NotAffine:
                is_exact = False
        proof = prove(condition, facts)
        self.questions[key] = Question(
            condition,
            proof and proof.engine,
            not domain.is_empty(),
            domain.is_subset(asked),
            is_exact,
        )


def _known(facts: Analyzer, condition: Expr) -> tuple[list[Expr], bool]:
    """The facts about the variables of a condition as conditions, and whether they are all."""
    known = list(facts.assumed)
    new, seen = variables_of(condition, *known), set[Var]()
    while new:
        var = new.pop()
        seen.add(var)
        value, domain = facts.value_of(var), facts.ranges.get(var)
        found: list[Any] = []
        if value is not None:
            found.append(E.EQ(var, value))
        if domain is not None:
            found += [E.LE(domain.min, var), E.LT(var, ops.add(domain.min, domain.extent))]
        low, high = facts.const_bounds(var)
        found += [] if low is None else [E.LE(ops.const(low, "int64"), var)]
        found += [] if high is None else [E.LE(var, ops.const(high, "int64"))]
        known += found
        new |= variables_of(*found) - seen
    return known, not facts.assumes_memory


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    """The questions about programs of the corpus."""
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        _record(patch, recorder)
        for family in corpus.FAMILIES:
            for program in islice(corpus.programs(family), _PROGRAMS):
                for schedule, args in program.steps(te_sched):
                    te_sched.lower(schedule, args)
                    normal = schedule.normalize()
                    func = schedule_ops(normal, infer_bound(normal), list(args), "main", {})
                    guard_accesses(func, insert=False)
        for name in islice(PROGRAMS, _PROGRAMS):
            schedule = tir.Schedule(from_source(PROGRAMS[name]["source"]), seed=1)
            for step in PROGRAMS[name]["steps"]:
                apply(schedule, step)
            for func in te_sched.lower(schedule.mod).functions.values():
                guard_accesses(func, insert=False)
    return list(recorder.questions.values())


def _record(patch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    """Ask about each condition that is asked of an analyzer or of `prove`."""

    def asking(name: str, condition_of: Any) -> None:
        answer = getattr(Analyzer, name)

        def recorded(self: Analyzer, *args: Any) -> bool:
            recorder.ask(self, condition_of(*args))
            result: bool = answer(self, *args)
            return result

        patch.setattr(Analyzer, name, recorded)

    def prove_recorded(condition: Expr, facts: Analyzer, *engines: Any) -> Any:
        recorder.ask(facts, condition)
        return prove(condition, facts, *engines)

    asking("can_prove", lambda condition: condition)
    asking("can_prove_equal", ops.equal)
    asking("can_prove_greater_equal", ops.greater_equal)
    asking("can_prove_less", ops.less)
    for client in CLIENTS:
        patch.setattr(client, "prove", prove_recorded)


def test_nothing_is_proved_that_isl_refutes(questions: list[Question]) -> None:
    assert [one for one in questions if one.is_wrong] == []


def test_every_engine_proves_something(questions: list[Question]) -> None:
    engines = Counter(one.engine for one in questions)
    assert engines.keys() >= {"const_bounds", "forms", "simplifier"}


def test_what_isl_alone_proves(questions: list[Question]) -> None:
    missed = Counter(one.kind for one in questions if one.is_missed)
    assert missed <= Counter(MISSED), missed


MISSED = {"Add FloorDiv LE": 3, "Add LT Mul": 1}
