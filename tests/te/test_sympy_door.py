"""Expressions as mathematics and back."""

import pytest
import sympy

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.structural import structural_equal

S = sympy.sympify


def frozen(make, shape=(8, 8)):
    """The index that `make(i, j)` becomes in a compute, and what it should be."""
    A = te.placeholder((64,), name="A")
    pairs = []

    def body(i, j):
        given, expected = make(i, j)
        load = A(given)
        pairs.append((load.indices[0], ops.convert(expected)))
        return load

    te.compute(shape, body)
    return pairs[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda i, j: (S(j) + 8 * S(i) + 3, i * 8 + j + 3),
        lambda i, j: (S(j) + S(i), i + j),
        lambda i, j: (S(i) - 1, i - 1),
        lambda i, j: (sympy.floor((8 * S(i) + S(j)) / 8), i + j // 8),
        lambda i, j: (sympy.floor((S(i) + S(j)) / 3), (i + j) // 3),
        lambda i, j: (sympy.ceiling(S(i) / 4), (i + 3) // 4),
        lambda i, j: (sympy.Mod(S(i), 5), i % 5),
        lambda i, j: (sympy.Min(S(i), S(j), 7), te.min(te.min(i, j), 7)),
        lambda i, j: (S(i) ** 2, i * i),
        lambda i, j: (S(i // 2), i // 2),
        lambda i, j: (S(i % 3), i % 3),
        lambda i, j: (
            sympy.Piecewise((S(i), S(i) < S(j)), (S(j), True)),
            te.if_then_else(i < j, i, j),
        ),
    ],
)
def test_index_is_frozen(make):
    given, expected = frozen(make)
    assert structural_equal(given, expected)


def test_mixing_works_from_both_sides():
    n = te.var("n")
    assert structural_equal(n + S(n), n + n)
    assert S(n) + n == 2 * S(n)


def test_round_trip_of_the_symbol_is_the_variable():
    n = te.size_var("n")
    assert ops.convert(S(n)) is n
    assert S(n) is S(n)
    assert S(n) != S(te.size_var("n"))
    assert S(n).is_integer
    assert S(n).is_nonnegative


def test_parts_without_a_form_are_symbols_that_remember():
    table = te.placeholder((8,), "int32", name="table")
    load = table(te.var("n"))
    assert structural_equal(ops.convert(2 * S(load)), load * 2)


def test_conditions_are_accepted():
    n = te.var("n")
    made = te.if_then_else(sympy.And(S(n) > 1, sympy.Eq(S(n) / 2, 3)), 1, 2)
    assert structural_equal(made.args[0], te.all(n > 1, n.equal(6))) or structural_equal(
        made.args[0], te.all(n.equal(6), n > 1)
    )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda n: S(n) / 2, "say how it is rounded"),
        (lambda n: S(n) * sympy.Float(0.5), "say how it is rounded"),
        (lambda n: sympy.Symbol("q") + S(n), r"cannot convert the sympy expression _n \+ q"),
        (lambda n: sympy.cos(S(n)), r"cannot convert the sympy expression cos\(_n\)"),
        (lambda n: sympy.Piecewise((S(n), S(n) > 1)), "no value where none"),
    ],
)
def test_freezing_rejects(make, match):
    A = te.placeholder((64,))
    with pytest.raises(DeclarationError, match=match):
        A(make(te.var("n")))


def test_floats_have_no_form():
    with pytest.raises(DeclarationError, match="float32 in sympy"):
        S(te.var("x", "float32"))
