"""What is known at a place of the program, and forgotten behind it."""

from __future__ import annotations

import weakref

from te_sched.arith.const_bounds import INFINITY
from te_sched.arith.facts import Facts, split_offset
from te_sched.arith.full import Simplifier
from te_sched.config import Lowering
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import EQ, NE, And, FloorMod, IntImm, Range, Var
from tests.arith.brute import show

x, y, z = Var("x"), Var("y"), Var("z")


def test_conditions_hold_until_they_are_left() -> None:
    facts = Facts()
    before = facts.bounds.of(x)
    with facts.under(And(x < 8, x >= 2)):
        assert facts.bounds.of(x) == (2, 7)
    assert facts.bounds.of(x) == before
    assert facts.true == facts.differences == []


def test_inequalities_add_up() -> None:
    facts = Facts()
    facts.assume(x + 1 < y)
    facts.assume(y <= z + 5)
    assert facts.highest_difference(x, y) == -2
    assert facts.highest_difference(x, z) == 3
    assert facts.highest_difference(z, x) == INFINITY


def test_symbolic_ends_of_a_range() -> None:
    facts = Facts()
    facts.assume_range(x, Range(y, z))
    assert facts.highest_difference(y, x) == 0
    facts.unbind(x)
    assert facts.highest_difference(y, x) == INFINITY


def test_remainder_is_known_to_modular_sets() -> None:
    facts = Facts()
    facts.assume(EQ(x % 8, IntImm(3)))
    assert facts.modular.of(x) == (8, 3)


def test_new_facts_drop_what_was_found_before() -> None:
    facts = Facts()
    assert facts.bounds.of(x + 1)
    facts.forget()
    assert facts.bounds.memo == facts.modular.memo == {}


def test_offset_is_split_off() -> None:
    for e, expected in ((x + 3, ("x", 3)), (x - 3, ("x", -3)), (IntImm(4), ("0", 4))):
        term, offset = split_offset(e)
        assert (show(term), offset) == expected


def test_what_is_remembered_under_a_condition_is_forgotten_behind_it() -> None:
    facts = Facts()
    early, late = Facts().modular, Facts().modular
    facts.keep(early)
    early.memo = before = {x: (4, 0)}
    with facts.under(x < 8):
        assert early.memo == {}
        facts.keep(late)
        early.memo[x] = late.memo[x] = (2, 0)
    assert early.memo is before
    assert late.memo == {}


def test_inequality_of_equals() -> None:
    facts = Facts(Lowering(prove_transitively=True))
    for condition in (EQ(x, y), NE(y, z)):
        facts.assume(condition)
    assert facts.differ(x, z)
    assert facts.differ(z, y)
    direct = Facts()
    direct.assume(NE(y, z))
    assert direct.differ(z, y)
    assert not direct.differ(x, z)


def test_single_inequalities_may_be_all_that_is_used() -> None:
    facts = Facts(Lowering(prove_transitively=False))
    facts.assume(x < y)
    facts.assume(y < z)
    assert facts.highest_difference(x, y) == -1
    assert facts.highest_difference(x, z) == INFINITY


def test_negative_divisors_give_remainders() -> None:
    facts = Facts()
    facts.assume(EQ(FloorMod(x, IntImm(-4)), IntImm(-1)))
    assert facts.modular.of(x) == (4, 3)


def test_written_memory_has_no_facts() -> None:
    facts, buffer = Facts(), decl_buffer((4,), "int32", name="A")
    element = buffer[0]
    with facts.under(element < 5):
        assert facts.bounds.of(element)[1] == 4
        with facts.under(x < 3):
            facts.change_memory({buffer.data})
        assert facts.bounds.of(element)[1] > 4


def test_simplifiers_are_forgotten_without_a_garbage_collection() -> None:
    facts = Facts()
    simplifier = Simplifier(facts)
    with facts.under(x < 4):
        assert show(simplifier.visit(x * 2 < 8)) == "1"
        simplifier.rewriter.visit(x + y)
    kept = weakref.ref(simplifier)
    del simplifier
    assert kept() is None
    facts.forget()
