"""Linear forms: terms that are digits, and putting digits together again."""

from __future__ import annotations

from te_sched.arith.linear import (
    UNBOUNDED,
    Form,
    Term,
    divided,
    merged,
    plus,
    split_multiples,
    term_of,
    times,
    to_expr,
)
from te_sched.ir.expr import Var
from tests.arith.brute import show

x, y = Var("x"), Var("y")


def form(*terms: Term, base: int = 0) -> Form:
    return Form(terms, base, "int32")


def test_digit_of_an_index_is_one_term() -> None:
    assert term_of(x % 32 // 8 * 5) == Term(x, 5, 8, 32, False)
    assert term_of(x) == Term(x, 1, 1, UNBOUNDED, True)


def test_remainder_that_the_quotient_does_not_divide_stays_whole() -> None:
    found = term_of(x % 30 // 8)
    assert (show(found.atom), found.lower, found.upper) == ("(x % 30)", 8, UNBOUNDED)


def test_equal_terms_add_up_and_cancel() -> None:
    both = plus(form(Term(x, 2), base=1), form(Term(x, 3), Term(y), base=4))
    assert (both.terms, both.base) == ((Term(x, 5), Term(y)), 5)
    gone = plus(form(Term(x, 2), base=1), form(Term(x, 2), base=1), -1)
    assert show(to_expr(gone)) == "0"


def test_products_and_quotients_scale_each_term() -> None:
    assert times(form(Term(x, 2), base=3), 4) == form(Term(x, 8), base=12)
    assert times(form(Term(x, 2), base=3), 0) == form()
    assert divided(form(Term(x, 8), base=12), 4) == form(Term(x, 2), base=3)


def test_multiples_are_parted_from_the_rest() -> None:
    multiples, rest = split_multiples(form(Term(x, 8), Term(y, 3), base=5), 4)
    assert (multiples, rest) == (form(Term(x, 8)), form(Term(y, 3), base=5))


def test_digits_that_meet_become_one() -> None:
    coarse, fine = Term(x, 4, 4, UNBOUNDED, False), Term(x, 1, 1, 4, False)
    assert merged((coarse, fine)) == [Term(x, 1, 1, UNBOUNDED, False)]
    assert merged((coarse._replace(scale=5), fine)) == [coarse._replace(scale=5), fine]


def test_negative_terms_stand_last() -> None:
    assert show(to_expr(form(Term(x, -2), Term(y, 3), base=-4))) == "(((y * 3) - (x * 2)) - 4)"
    assert show(to_expr(form(Term(x, -1), base=5))) == "(5 - x)"
