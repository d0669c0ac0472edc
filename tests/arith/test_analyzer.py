"""The Analyzer: canonical forms, proofs, bounds; and its results against brute force."""

from __future__ import annotations

import random
from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.config import Lowering
from te_sched.ir import expr as E
from te_sched.ir import ops
from tests.arith.brute import show, value

x, y, z = (E.Var(name) for name in "xyz")
i, j = E.Var("i"), E.Var("j")  # 0 <= i, j < 8
n = E.Var("n", is_size=True)


def analyzer() -> Analyzer:
    found = Analyzer()
    for var in (i, j):
        found.bind(var, E.Range(E.IntImm(0), E.IntImm(8)))
    return found


def likely(condition: Any) -> E.Call:
    return E.Call("bool", "tir.likely", (condition,))


def choice(condition: Any, a: Any, b: Any) -> E.Call:
    return E.Call("int32", "tir.if_then_else", (condition, a, b))


FORMS = [
    (x * 2 + y * 3 + 5, "(((y * 3) + (x * 2)) + 5)"),
    (x - 3, "(x - 3)"),
    (x + y - x, "y"),
    ((x + y) * 2 - 2, "(((x * 2) + (y * 2)) - 2)"),
    (0 - x - y - 2, "(((0 - x) - y) - 2)"),
    (x * -1, "(x * -1)"),
    (y + (x % 5 + x // 5 * 5), "(x + y)"),
    (x // 4 * 4 + x % 4, "x"),
    (x - x // 4 * 4, "(x % 4)"),
    ((x * 8 + i) // 8, "x"),
    ((x * 8 + i) % 8, "i"),
    ((x * 8 + i) // 16, "(x // 2)"),
    ((x * 8 + i) % 16, "(((x % 2) * 8) + i)"),
    (x // 3 // 4, "(x // 12)"),
    ((x % 2 + 1) // 2, "(x % 2)"),
    ((x + 45) // 2 - x // 2, "((x % 2) + 22)"),
    (x // 2 - (x - 3) // 2, "(2 - (x % 2))"),
    ((x % 2 + y * 2 + 1) // 2, "(y + (x % 2))"),
    (x // 4 % 8, "((x % 32) // 4)"),
    ((i * 2 + 1) % 30, "((i * 2) + 1)"),
    ((x * 2 + 1) % 30, "(((x % 15) * 2) + 1)"),
    (x * y + x * z, "(x * (y + z))"),
    (ops.minimum(x + 1, y + 1), "(min(x, y) + 1)"),
    (ops.maximum(i, 9), "9"),
    (ops.maximum((x + 3) // 4 * 4, x), "(((x + 3) // 4) * 4)"),
    (ops.minimum(x, (x + 3) // 4 * 4), "x"),
    (ops.maximum(x // 4 * 4, x), "x"),
    (x + 3 < y + 4, "(x <= y)"),
    (x - 1 < y + 1, "(x < (y + 2))"),
    (x < ops.maximum(y, z) + 1, "((x <= y) or (x <= z))"),
    ((x + 3) // 4 * 4 < x + 2, "(1 < ((x + 3) % 4))"),
    (y >= 2, "(2 <= y)"),
    (x * 2 < 7, "(x < 4)"),
    (x * 8 + i < 64, "(x < 8)"),
    (i + x * 8 < 60, "(((x * 8) + i) < 60)"),
    (x * 32 + i < 100, "(((x * 32) + i) < 100)"),
    (x * 8 + y % 12 // 3 < 26, "(((x * 4) + ((y % 12) // 6)) < 13)"),
    (x * 8 + y % 9 // 3 < 26, "(((x * 8) + ((y % 9) // 3)) < 26)"),
    (x % 6 // 4 * 4 + x % 6 % 4, "(x % 6)"),
    (x % 6 // 4 * 4 + x % 4, "((((x % 6) // 4) * 4) + (x % 4))"),  # at x = 7: 3, x % 6 is 1
    (i < 8, "1"),
    (i >= 7, "(i == 7)"),
    (likely(i + x * 8 < 64), "likely((x < 8))"),
    (likely(i < 8), "1"),
    (E.Not(x < y), "(y <= x)"),
    (ops.minimum(x, y) < 3, "((x < 3) or (y < 3))"),
    (E.Select(x < 3, y, y + 0), "y"),
    (choice(i < 8, x, y), "x"),
    (choice(x < 3, choice(x < 3, y, z), i), "if_then_else((x < 3), y, i)"),
    (ops.truncdiv(x * 32, 32) if hasattr(ops, "truncdiv") else E.Div(x * 32, E.IntImm(32)), "x"),
    (E.Cast("int64", x * 4 + 1), "((int64(x) * 4) + 1)"),
    (E.Ramp(x, E.IntImm(1), 4) + E.Broadcast(y, 4), "ramp((x + y), 1, 4)"),
    (E.Cast("int64x4", E.Ramp(x, y, 4)), "ramp(int64(x), int64(y), 4)"),
    (E.Ramp(x * 4, E.IntImm(1), 4) // E.Broadcast(E.IntImm(4), 4), "broadcast(x, 4)"),
]


@pytest.mark.parametrize(("e", "expected"), FORMS, ids=[text for _, text in FORMS])
def test_simplify_gives_the_canonical_form(e: E.Expr, expected: str) -> None:
    assert show(analyzer().simplify(e)) == expected


def test_simplify_keeps_a_canonical_expression() -> None:
    e = x * 64 + y * 8 + i
    assert analyzer().simplify(e) is e


def test_simplify_keeps_floats_but_folds_constants() -> None:
    f = E.Var("f", "float32")
    found = analyzer().simplify
    assert found(E.Mul(f, E.FloatImm(1.0))) is f
    assert show(found(E.Add(E.Add(f, E.FloatImm(1.0)), E.FloatImm(2.0)))) == "((f + 1.0) + 2.0)"
    assert show(found(E.Div(f, E.FloatImm(2.0)))) == "(f * 0.5)"


def test_small_terms_that_may_be_negative_stay_in_conditions() -> None:
    assert show(analyzer().simplify(x * 8 < i)) == "((x * 8) < i)"


def test_the_last_word_on_what_is_not_negative_counts() -> None:
    found = Analyzer()
    found.mark_nonnegative(x)
    found.mark_nonnegative(x + 2)
    assert found.const_bounds(x)[0] == -2


def test_a_sum_in_the_place_of_an_extremum_stays_one_term() -> None:
    e = i + 1 - ops.maximum(n + 2, 0)
    assert show(analyzer().canonical_simplify(e)) == "((i + 1) - (n + 2))"
    assert show(analyzer().simplify(e)) == "((i - n) - 1)"


def test_constraint_holds_inside_only() -> None:
    found = analyzer()
    with found.constraint(x < 3):
        assert found.can_prove(x < 4)
        assert found.const_bounds(x)[1] == 2
    assert not found.can_prove(x < 4)


def test_symbolic_range_proves_comparisons() -> None:
    found = Analyzer()
    found.bind(x, E.Range(E.IntImm(0), n))
    assert found.can_prove(x < n)
    assert found.can_prove(x >= 0)
    assert not found.can_prove(x < n - 1)


def test_bind_of_a_value_replaces_the_variable() -> None:
    found = Analyzer()
    found.bind(x, E.IntImm(3))
    assert show(found.simplify(x + y)) == "(y + 3)"
    found.bind(x, E.Range(E.IntImm(2), E.IntImm(1)))
    assert show(found.simplify(x + y)) == "(y + 2)"


def test_const_bounds_and_modular_set() -> None:
    found = analyzer()
    assert found.const_bounds(i * 4 - j) == (-7, 28)
    assert found.const_bounds(E.Var("l", "int64")) == (None, None)
    assert found.modular_set(i * 4 + 1) == (4, 1)
    assert found.can_prove_equal(x * 2 + x, x * 3)
    assert found.can_prove_greater_equal(i, 0)
    assert found.can_prove_less(i, 8)


@pytest.mark.parametrize("dtype", ["float32", "float16x4", "int8", "uint32"])
def test_what_both_sides_have_goes_from_differences_of_any_type(dtype: str) -> None:
    a, b = E.Var("a", dtype), E.Var("b", dtype)
    simplify = Analyzer().simplify
    assert simplify(E.Sub(E.Add(a, b), a)) is b
    assert simplify(E.Sub(E.Add(b, a), a)) is b
    for found in (simplify(E.Sub(a, E.Add(a, b))), simplify(E.Sub(a, E.Add(b, a)))):
        assert type(found) is E.Sub
        assert found.b is b


def test_calls_of_the_unknown_are_not_cancelled() -> None:
    once = E.Call("float32", "tir.call_extern", (E.StringImm("next"),))
    difference = E.Sub(E.Add(once, E.Var("a", "float32")), once)
    assert Analyzer().simplify(difference) is difference


def test_what_is_not_negative_bounds_the_variable_in_it() -> None:
    found = Analyzer()
    found.mark_nonnegative(E.Sub(E.Sub(n, E.IntImm(1)), E.IntImm(2)))
    assert found.const_bounds(n)[0] == 3
    found.mark_nonnegative(E.Add(E.IntImm(-4), n))
    assert found.const_bounds(n)[0] == 4


def test_constants_are_factored_out_in_products_only() -> None:
    assert show(Analyzer().simplify(E.Div(x * 2 - 2, E.IntImm(16)))) == "(((x * 2) - 2) / 16)"
    assert show(Analyzer().simplify(y * (x * 2 - 2))) == "((y * (x - 1)) * 2)"


def test_equality_is_proved_by_constant_bounds_too() -> None:
    rows, groups = (x % 26 + 11) // 26 + 2, (x % 26 + 141) // 104  # groups is always 1
    assert analyzer().can_prove_equal(rows, rows * groups)
    assert not analyzer().can_prove_equal(rows, rows * (groups + x))


def random_expression(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.15:
        leaf = rng.choice((x, i, j, i, j))
        return leaf if rng.random() < 0.75 else E.IntImm(rng.choice((0, 1, 2, 3, 5, 8, -1, -3)))
    a = random_expression(rng, depth - 1)
    constant = E.IntImm(rng.choice((2, 3, 4, 6, 8, 16)))
    if rng.random() < 0.5:
        return rng.choice((E.Mul, E.FloorDiv, E.FloorMod, E.Div, E.Mod))(a, constant)
    b = random_expression(rng, depth - 1)
    return rng.choice((E.Add, E.Add, E.Sub, E.Min, E.Max))(a, b)


@pytest.mark.parametrize("seed", range(120))
def test_simplify_keeps_the_value(seed: int) -> None:
    rng = random.Random(seed)
    e = random_expression(rng, 3)
    if rng.random() < 0.5:
        e = rng.choice((E.LT, E.LE, E.GT, E.GE, E.EQ, E.NE))(e, random_expression(rng, 2))
    found = analyzer()
    done, (low, high), (coeff, base) = (
        found.simplify(e), found.const_bounds(e), found.modular_set(e),
    )  # fmt: skip
    for _ in range(40):
        env = {x: rng.randint(-50, 50), i: rng.randint(0, 7), j: rng.randint(0, 7)}
        expected = value(e, env)
        assert value(done, env) == expected, (show(e), show(done), env)
        assert low is None or low <= expected
        assert high is None or expected <= high
        assert (expected - base) % coeff == 0 if coeff else expected == base


def test_product_of_sums_whose_terms_cancel_is_constant() -> None:
    a, b = ((ops.minimum(v * 2 + 1, 99) - (v * 2 + 1) + 3) for v in (i, j))
    assert show(analyzer().simplify(a * b)) == "9"


def test_division_of_broadcast_floats_is_done_once() -> None:
    p, q = E.Broadcast(E.Var("p", "float32"), 4), E.Broadcast(E.Var("q", "float32"), 4)
    result = analyzer().simplify(E.Div(p, q))
    assert isinstance(result, E.Broadcast)
    assert isinstance(result.value, E.Div)


def test_products_that_are_not_negative() -> None:
    found = Analyzer()
    found.mark_nonnegative(n * 32 + 1 - 2)
    assert found.const_bounds(n)[0] == 1
    found.mark_nonnegative(x * -2)
    assert found.const_bounds(x)[0] is not None
    assert found.const_bounds(x)[0] < 0  # type: ignore[operator]


def test_negations_are_matched_after_bounds() -> None:
    """TVM finds i < 7 of i != 7 for i < 8 before it sees that i != 7 is known."""
    choice = E.Call("int32", "tir.if_then_else", (E.NE(i, E.IntImm(7)), x, y))
    outer = E.Call("int32", "tir.if_then_else", (E.EQ(i, E.IntImm(7)), z, choice))
    assert str(analyzer().simplify(outer)) == (
        "T.if_then_else(i == 7, z, T.if_then_else(i < 7, x, y))"
    )
    unbounded = E.Call("int32", "tir.if_then_else", (E.NE(n, E.IntImm(7)), x, y))
    outer = E.Call("int32", "tir.if_then_else", (E.EQ(n, E.IntImm(7)), z, unbounded))
    assert str(analyzer().simplify(outer)) == "T.if_then_else(n == 7, z, x)"


def test_an_order_follows_from_a_bound_and_an_inequality() -> None:
    found = analyzer()
    with found.constraint(x <= 3), found.constraint(E.NE(x, E.IntImm(3))):
        assert found.can_prove(x < 3)
        assert not found.can_prove(x < 2)
    with found.constraint(x <= y), found.constraint(E.NE(y, x)):
        assert found.can_prove(x < y)


def test_multiples_leave_a_division_before_bounds() -> None:
    found = analyzer()
    with found.constraint(i < 1):
        assert str(found.rewrite_simplify((i * 3 + 1) // 2)) == "i"
        assert str(found.rewrite_simplify((i * 3 + 1) // 4)) == "0"
        assert str(found.rewrite_simplify((i * 3 + 1) % 2)) == "i + 1"


@pytest.mark.parametrize("dtype", ["int32", "int8", "float32"])
def test_sums_of_choices_are_one_choice(dtype: str) -> None:
    c = E.Var("c", "bool")
    p, q, r = (E.Var(name, dtype) for name in "pqr")
    zero = ops.const(0, dtype)
    simplify, choice = analyzer().simplify, E.Select(c, p, q)
    assert str(simplify(E.Sub(choice, q))) == str(E.Select(c, E.Sub(p, q), zero))
    assert str(simplify(E.Sub(choice, p))) == str(E.Select(c, zero, E.Sub(q, p)))
    both = E.Add(choice, E.Select(c, r, p))
    assert str(simplify(both)) == str(E.Select(c, E.Add(p, r), E.Add(q, p)))


def test_as_tvm_some_constants_are_not_folded() -> None:
    """TVM computes neither with short floats nor with bits; programs to run are folded."""
    half = E.Mul(E.FloatImm(3.5, "float16"), E.FloatImm(2.5, "float16"))
    bits = E.Call("int32", "tir.bitwise_and", (E.IntImm(6), E.IntImm(3)))
    shift = E.Call("int32", "tir.shift_left", (E.IntImm(6), E.IntImm(3)))
    simplify = analyzer().simplify
    assert str(simplify(half)) == "T.float16(3.5) * T.float16(2.5)"
    assert str(simplify(bits)) == "T.bitwise_and(6, 3)"
    assert str(simplify(shift)) == "48"
    assert str(Analyzer(Lowering(to_run=True)).simplify(bits)) == "2"


def test_vectors_of_zeros_are_dropped_on_one_side() -> None:
    v = E.Var("v", "float32x4")
    zeros = E.Broadcast(E.FloatImm(0.0), 4)
    assert analyzer().simplify(E.Add(v, zeros)) is v
    assert str(analyzer().simplify(E.Mul(zeros, v))) == str(zeros)
    exact = Analyzer(Lowering(to_run=True))
    assert isinstance(exact.simplify(E.Add(v, zeros)), E.Add)


def test_a_quotient_with_a_bound_is_divided_once() -> None:
    found = analyzer()
    found.bind(x, E.Range(E.IntImm(0), E.IntImm(90)))
    with found.constraint(x // 3 < 3):
        assert str(found.simplify(x // 3 // 3)) == "0"
        assert str(found.simplify(x // 3 // 2)) == "x // 6"


def test_what_is_not_equal_is_less() -> None:
    found = analyzer()
    with found.constraint(E.NE(x, E.IntImm(3))):
        assert str(found.simplify(ops.less_equal(x, 3))) == "x < 3"
        assert str(found.simplify(ops.less_equal(3, x))) == "3 < x"
