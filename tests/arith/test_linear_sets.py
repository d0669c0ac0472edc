"""Sets of integer points, against all points of a box."""

from __future__ import annotations

import itertools
import random

import pytest

from te_sched.arith import linear_sets as sets
from te_sched.arith.forms import Form
from te_sched.ir.expr import Var
from tests.arith.points import has

X, Y, Z = Var("x"), Var("y"), Var("z")
BOX = range(-3, 4)
POINTS = [dict(zip((X, Y, Z), place, strict=True)) for place in itertools.product(BOX, repeat=3)]
MUCH = 10**7


def work() -> sets.Budget:
    return sets.Budget(MUCH)


def within_box(*forms: Form) -> sets.System | None:
    sides: list[Form] = [{(var,): sign, (): 3} for var in (X, Y, Z) for sign in (1, -1)]
    return sets.conjoined({}, [*sides, *forms])


def random_set(rng: random.Random) -> sets.Union:
    systems = []
    for _ in range(2):
        forms: list[Form] = [
            {(X,): rng.randint(-3, 3), (Y,): rng.randint(-2, 2), (Z,): 1, (): rng.randint(-4, 4)}
            for _ in range(rng.randint(1, 3))
        ]
        system = within_box(*[{t: c for t, c in form.items() if c} for form in forms])
        if system is not None:
            systems.append(system)
    return tuple(systems)


@pytest.mark.parametrize("over", [True, False])
def test_operations_are_supersets_or_subsets(over: bool) -> None:
    rng = random.Random(1)
    for _ in range(10):
        a, b = random_set(rng), random_set(rng)
        both = sets.intersection(a, b, work(), over)
        rest = sets.difference(a, b, work(), over)
        shadow = sets.without(a, X, work(), over)
        for p in POINTS:
            is_in, is_out = has(a, p), has(b, p)
            column = any(has(a, {**p, X: x}) for x in BOX)
            pairs = [(both, is_in and is_out), (rest, is_in and not is_out), (shadow, column)]
            for found, exact in pairs:
                assert has(found, p) >= exact if over else has(found, p) <= exact


def test_projection_is_exact_for_scale_one() -> None:
    system = sets.conjoined({}, [*sets.equal({(X,): 1}, {(Y,): 1, (): 2}), {(Y,): 1}])
    assert system is not None
    for over in (True, False):
        assert sets.without((system,), Y, work(), over) == (
            sets.conjoined({}, [{(X,): 1, (): -2}]),
        )


def test_gaps_between_multiples_are_kept() -> None:
    """x == 2 * y: the projection without y is not all of x."""
    system = within_box(*sets.equal({(X,): 1}, {(Y,): 2}))
    assert system is not None
    assert sets.without((system,), Y, work(), over=False) == ()
    assert has(sets.without((system,), Y, work(), over=True), {X: 1, Y: 0, Z: 0})


def test_difference_with_itself_is_empty() -> None:
    one = (within_box({(X,): 1, (Y,): 1}),)
    assert sets.is_subset(one, one, work())  # type: ignore[arg-type]
    assert not sets.is_subset(one, sets.NOTHING, work())  # type: ignore[arg-type]


def test_quotient_is_determined() -> None:
    low: Form = {(X,): 1, (Y,): -4}
    system = sets.conjoined({}, [low, {(X,): -1, (Y,): 4, (): 3}])
    assert system is not None
    assert sets.determined(system, Y) == ({(X,): 1}, 4)
    assert sets.determined(system, X) is None


def test_replaced_variables() -> None:
    (moved,) = sets.replaced(sets.below(X, Y), {X: {(Z,): 2, (): 1}}, over=True)
    assert moved == sets.conjoined({}, [{(Y,): 1, (Z,): -2, (): -2}])


def test_work_is_limited() -> None:
    one = within_box({(X,): 2, (Y,): 3, (): 1})
    assert one is not None
    with pytest.raises(sets.WorkLimit):
        sets.difference((one,), (one,), sets.Budget(3), over=True)


def test_many_systems_are_approximated() -> None:
    many = [sets.conjoined({}, sets.equal({(X,): 1}, {(): n})) for n in range(40)]
    systems = [one for one in many if one is not None]
    assert sets.union_of(systems, work(), over=True) == sets.EVERYTHING
    assert 0 < len(sets.union_of(systems, work(), over=False)) < 40
