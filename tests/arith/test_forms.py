"""Sums of products with integer factors, and their least values."""

from __future__ import annotations

from te_sched.arith import forms as F
from te_sched.arith.forms import Forms, constant
from te_sched.ir import ops
from te_sched.ir.expr import Var
from tests.arith.brute import show
from tests.lowering.build import read, temporary

x, y, n = Var("x"), Var("y"), Var("n")


def test_products_are_multiplied_out() -> None:
    both = tuple(sorted((x, n), key=id))
    assert Forms({}, {}).of((x * 8 + y - 2) * 3) == {(x,): 24, (y,): 3, (): -6}
    assert Forms({}, {}).of((x + 1) * n - n) == {both: 1}


def test_sums_cancel() -> None:
    form = F.plus({(x,): 2, (): 1}, {(x,): 1, (): 1}, -2)
    assert form == {(): -1}
    assert F.number_of(form) == -1
    assert F.number_of({}) == 0
    assert F.number_of({(x,): 1}) is None


def test_split_by_a_factor() -> None:
    form = F.plus(F.times({(x,): 1}, {(n,): 3}), {(y,): 2, (x,): 5})
    scale, rest = F.split(form, x)
    assert (scale, rest) == ({(n,): 3, (): 5}, {(y,): 2})
    assert F.factors(form) == {x, y, n}


def test_multiple_of_a_sum() -> None:
    sum_of = Forms({}, {}).of
    assert F.times_what(sum_of(n + 1), sum_of(n * 4 + 4)) == {(): 4}
    assert F.times_what(sum_of(n + 1), sum_of(x * n + x)) == {(x,): 1}
    assert F.times_what(sum_of(n + 1), sum_of(n * 4 + 3)) is None
    assert F.times_what(sum_of(n * 2 + 2), sum_of(n * 3 + 3)) is None
    assert F.times_what({}, {}) is None


def test_linear_form_is_for_sums_of_variables() -> None:
    assert F.linear_form(x * 2 - y + 3) == {(x,): 2, (y,): -1, (): 3}
    assert F.linear_form(x * n) is None


def test_values_stand_for_variables() -> None:
    assert Forms({}, {x: y + 1}).of(x * 2) == {(y,): 2, (): 2}


def test_what_is_written_alike_is_one_part() -> None:
    data, forms = temporary("data", 8, dtype="int32"), Forms({}, {})
    assert forms.of(read(data, x) - read(data, x)) == {}
    assert forms.of(read(data, x) - read(data, y)) != {}


def test_form_is_an_expression_again() -> None:
    assert show(F.expr_of({(x,): 2, (): -3}, "int32")) in ("((x * 2) + -3)", "((x * 2) - 3)")
    assert F.times(constant(3), constant(0)) == {}


def test_quotients_of_symbols_are_bounds() -> None:
    forms = Forms({n: 1}, {})
    parts = (n + 7) // 8
    forms.bind(x, ops.const(0), parts)
    assert forms.bounds(forms.of(x * 4 + y)).max == forms.of(parts * 4 + y - 4)


def test_parts_of_negative_divisors_have_no_known_sign() -> None:
    forms = Forms({x: 0}, {})
    for divisor in (n, ops.const(-2)):
        for part in (ops.floormod(x, divisor), ops.floordiv(x, divisor)):
            assert not forms.is_nonnegative(forms.of(part))
            assert forms.bounds(forms.of(part)) == (None, None)
    assert Forms({x: 0, n: 1}, {}).is_nonnegative(forms.of(ops.floormod(x, n)))


def test_least_forms_where_others_are_not_negative() -> None:
    forms = Forms({}, {})
    form, gap = forms.of(x * 6 - y), forms.of(x * 2 - n)
    assert forms.where(form, [gap]) == [form, forms.of(n * 3 - y)]
    assert forms.where(form, [forms.of(n - x)]) == [form]


def test_cast_that_drops_bits_is_another_number() -> None:
    forms = Forms({}, {})
    assert forms.of(ops.cast("int64", x) - ops.cast("int64", y)) == forms.of(x - y)
    narrow = ops.cast("int32", ops.cast("uint8", x))
    assert forms.of(narrow - x) != {}
    assert forms.of(narrow - narrow) == {}


def test_quotient_by_a_size_is_below_the_number_of_its_multiples() -> None:
    forms = Forms({n: 0, y: 0}, {})
    forms.bind(x, ops.const(0), y * n * 3)
    assert forms.bounds(forms.of(x // (n * 3))).max == {(y,): 1, (): -1}
    assert forms.is_nonnegative(forms.of(y - x // (n * 3) - 1))
    assert not forms.is_nonnegative(forms.of(y - x // (n * 3) - 2))
    assert not forms.is_nonnegative(forms.of(y - x // (n * 2) - 1))


def test_forms_with_common_parts_cancel() -> None:
    first = Forms({n: 1}, {})
    second, other = Forms({n: 1}, {}, first.parts), Forms({n: 1}, {})
    second.of(n % 5)
    ceiled = (n + 3) // 4 * 4
    assert F.plus(first.of(ceiled), second.of(ceiled), -1) == {}
    assert F.plus(first.of(ceiled), other.of(ceiled), -1) != {}


def test_what_is_read_from_memory_is_no_common_part() -> None:
    data, first = temporary("data", 8, dtype="int32"), Forms({}, {})
    second = Forms({}, {}, first.parts)
    assert F.plus(first.of(read(data, x)), second.of(read(data, x)), -1) != {}


def test_bounds_follow_the_ranges_that_are_bound_later() -> None:
    i, forms = Var("i"), Forms({}, {})
    forms.bind(i, ops.const(0), ops.const(8))
    assert forms.bounds({(i,): 2}) == ({}, constant(14))
    forms.bind(i, ops.const(1), ops.const(3))
    assert forms.bounds({(i,): 2}) == (constant(2), constant(6))
    assert forms.bounds({(i,): 2}, [i]) == ({(i,): 2}, {(i,): 2})
