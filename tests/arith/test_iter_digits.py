"""Indices that are sums of whole iterators: found as the detector finds them."""

from __future__ import annotations

import random

import pytest

from te_sched.arith.iter_detect import Detector, Dividing, IterMapLevel, Prover, expr_of
from te_sched.arith.iter_digits import detect_whole_iterators
from te_sched.ir import expr as E
from te_sched.ir import ops
from tests.arith.brute import show

VARS = [E.Var(name) for name in "abcd"]
SYMBOL = E.Var("s")


def shown(result: object) -> list[tuple[str, str, str]]:
    """The detected indices, the values of their parts, and the numbers of these."""
    return [
        (show(ops.convert(expr_of(one))), str(one.base), str([a.extent for a in one.args]))
        for one in result.indices  # type: ignore[attr-defined]
    ]


def random_map(rng: random.Random) -> tuple[list[E.Expr], dict[E.Var, E.Range]]:
    """Indices that often are digits, and the domains of their iterators."""
    iters = {
        var: E.Range(ops.const(rng.choice((0, 0, 0, 2))), ops.const(rng.choice((1, 2, 3, 4))))
        for var in VARS
    }
    indices: list[E.Expr] = [ops.const(rng.choice((0, 0, 5))) for _ in range(2)]
    scales = [1, 1]
    for var in rng.sample(VARS, rng.randint(1, 4)):
        place = rng.randrange(2)
        indices[place] = indices[place] + var * (scales[place] * rng.choice((1, 1, 1, 2, -1)))
        scales[place] *= iters[var].extent.value  # type: ignore[attr-defined]
    if rng.random() < 0.2:
        indices[0] = SYMBOL * 4 + indices[0]
    return indices, iters


@pytest.mark.parametrize("level", [IterMapLevel.SURJECTIVE, IterMapLevel.BIJECTIVE])
@pytest.mark.parametrize("keeps_units", [False, True])
def test_sums_are_those_of_the_detector(level: IterMapLevel, keeps_units: bool) -> None:
    rng, found = random.Random(0), 0
    for _ in range(2000):
        indices, iters = random_map(rng)
        quick = detect_whole_iterators(indices, iters, level, keeps_units)
        if quick is None:
            continue
        found += 1
        slow = Detector(iters, level, Prover(None), Dividing.WHOLE, keeps_units=keeps_units)
        assert shown(quick) == shown(slow.detect(indices, None)), list(map(show, indices))
    assert found > 50


@pytest.mark.parametrize("index", ["a // 2", "a + a", "a + b", "a * 2 + b"])
def test_other_sums_are_left_to_the_detector(index: str) -> None:
    a, b = VARS[:2]
    value = eval(index, {"a": a, "b": b})
    iters = {one: E.Range(ops.const(0), ops.const(4)) for one in (a, b)}
    found = detect_whole_iterators([value], iters, IterMapLevel.SURJECTIVE)
    assert found is None or index == "a + a"  # a * 2 is one


def test_iterators_in_two_indices_are_left_to_the_detector() -> None:
    a = VARS[0]
    iters = {a: E.Range(ops.const(0), ops.const(4))}
    assert detect_whole_iterators([a, a], iters, IterMapLevel.SURJECTIVE) is None


def test_unused_iterators_are_left_to_the_detector_if_all_must_be_used() -> None:
    iters = {one: E.Range(ops.const(0), ops.const(4)) for one in VARS[:2]}
    assert detect_whole_iterators([VARS[0]], iters, IterMapLevel.BIJECTIVE) is None
    assert detect_whole_iterators([VARS[0]], iters, IterMapLevel.SURJECTIVE) is not None
