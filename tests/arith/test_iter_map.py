"""Iterator maps: what is detected, proved and inverted, judged by executing small domains."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_expr import IterSumExpr
from te_sched.arith.iter_map import (
    IterMapLevel,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from te_sched.ir import expr as E
from te_sched.ir import ops
from tests.arith.brute import show, value

x, y, z, n, m = (E.Var(name) for name in "xyznm")
BIJECTIVE, SURJECTIVE = IterMapLevel.BIJECTIVE, IterMapLevel.SURJECTIVE
Domain = dict[E.Var, E.Range]


def domain(**extents: Any) -> Domain:
    variables = {var.name: var for var in (x, y, z)}
    return {
        variables[name]: E.Range(*map(ops.convert, one if isinstance(one, tuple) else (0, one)))
        for name, one in extents.items()
    }


def points(iters: Domain, predicate: E.Expr | None) -> Iterator[dict[E.Var, int]]:
    """All iterations."""
    ranges = [range(one.min.value, one.min.value + one.extent.value) for one in iters.values()]
    for values in itertools.product(*ranges):
        env = dict(zip(iters, values, strict=True))
        if predicate is None or value(predicate, env):
            yield env


def texts(found: tuple[IterSumExpr, ...]) -> list[str]:
    return [str(normalize_iter_map_to_expr(one)) for one in found]


def check_claims(indices: list[E.Expr], iters: Domain, predicate: E.Expr | None) -> list[bool]:
    """Whether the map was proved to be bijective, and surjective; each proof is executed."""
    proved = []
    for level in (BIJECTIVE, SURJECTIVE):
        found = detect_iter_map(indices, iters, predicate, level)
        proved.append(not found.errors)
        if found.errors:
            continue
        envs = list(points(iters, predicate))
        reached = [tuple(value(index, env) for index in indices) for env in envs]
        again = list(map(normalize_iter_map_to_expr, found.indices))
        assert reached == [tuple(value(index, env) for index in again) for env in envs]
        spans = [values_of(one) for one in found.indices]
        assert set(reached) == set(itertools.product(*spans))
        if level == BIJECTIVE:
            assert len(set(reached)) == len(reached)
            check_inverse(found.indices, indices, envs)
    assert proved[1] or not proved[0]
    return proved


def values_of(index: IterSumExpr) -> list[int]:
    values = [index.base]
    for one in index.args:
        values = [base + one.scale * k for base in values for k in range(one.extent)]
    return values


def check_inverse(
    found: tuple[IterSumExpr, ...], indices: list[E.Expr], envs: list[dict[E.Var, int]]
) -> None:
    outputs = [E.Var(f"out_{place}") for place in range(len(indices))]
    inverse = inverse_affine_iter_map(found, outputs)
    for env in envs:
        given = {out: value(one, env) for out, one in zip(outputs, indices, strict=True)}
        for var, e in inverse.items():
            assert value(e, given) == env[var]


PROVED: list[tuple[list[Any], Domain, Any, bool, bool]] = [
    # indices, iterators, predicate, bijective, surjective
    ([x * 4 + y], domain(x=8, y=4), None, True, True),
    ([x // 4, x % 4], domain(x=32), None, True, True),
    ([x // 4, x % 4], domain(x=30), None, False, False),
    ([x // 4], domain(x=30), None, False, True),
    ([x % 4], domain(x=6), None, False, True),
    ([x % 6 // 4], domain(x=12), None, False, True),
    ([x % 6 // 4], domain(x=6), None, False, True),
    ([x % 6, x // 6], domain(x=12), None, True, True),
    ([x, x], domain(x=8), None, False, False),
    ([x, x % 2], domain(x=8), None, False, False),
    ([y], domain(x=8, y=4), None, False, True),
    ([x * 2 + y], domain(x=8, y=4), None, False, True),
    ([x * 5 + y], domain(x=8, y=4), None, False, False),
    ([x * 4 + y + 3], domain(x=8, y=4), None, True, True),
    ([7 - x], domain(x=8), None, True, True),
    ([x * -4 - y], domain(x=8, y=4), None, True, True),
    ([x * 4], domain(x=8), None, True, True),
    ([x + y * 2, z], domain(x=(2, 2), y=4, z=1), None, True, True),
    ([x // 4 * 4 + x % 4], domain(x=8), None, True, True),
    ([x // 4 * 4 + x % 4], domain(x=7), None, True, True),
    ([x // 2 % 4, x // 8, x % 2], domain(x=64), None, True, True),
    ([(x * 8 + y * 2 + z) // 4, (y * 2 + z) % 4], domain(x=3, y=4, z=2), None, True, True),
    ([(x * 8 + y * 2 + z) // 2, z], domain(x=3, y=4, z=2), None, True, True),
    ([x * 4 + y], domain(x=8, y=4), x * 4 + y < 30, True, True),
    ([x * 4 + y], domain(x=8, y=4), E.And(x * 4 + y < 30, x * 4 + y >= 3), True, True),
    ([x * 4 + y, z], domain(x=8, y=4, z=8), E.And(x * 4 + y < 30, z < 5), True, True),
    ([x * 4 + y], domain(x=8, y=4), x * 4 + y >= 3, True, True),
    ([x * 4 + y], domain(x=8, y=4), x * 4 + y < 30, True, True),
    ([x * 4 + y], domain(x=8, y=4), x * -4 - y > -30, True, True),
    ([x, y], domain(x=8, y=4), x * 4 + y < 30, False, False),
    ([x], domain(x=8, y=4), y < 3, False, True),
    ([x], domain(x=8, y=4), y < 0, False, False),
    ([x, y], domain(x=8, y=4), E.EQ(y, E.IntImm(3)), True, True),
    ([x], domain(x=8), E.NE(x, E.IntImm(3)), False, False),
    (
        [(x * 16 + y) * 4 + z],
        domain(x=2, y=16, z=4),
        E.And((x * 16 + y) * 4 + z < 118, x * 16 + y < 30),
        True,
        True,
    ),
    ([x * y], domain(x=3, y=3), None, False, False),
    ([(x + 1) // 2], domain(x=7), None, False, False),
    ([E.Cast("int64", x)], domain(x=7), None, True, True),
    ([E.IntImm(3)], domain(x=1), None, True, True),
]


@pytest.mark.parametrize(
    ("indices", "iters", "predicate", "bijective", "surjective"),
    PROVED,
    ids=[f"{', '.join(map(show, row[0]))}-{number}" for number, row in enumerate(PROVED)],
)
def test_what_is_proved(
    indices: list[E.Expr], iters: Domain, predicate: Any, bijective: bool, surjective: bool
) -> None:
    assert check_claims(indices, iters, predicate) == [bijective, surjective]


def random_index(rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.15:
        return rng.choice((x, y, z, x, y, z, ops.const(rng.choice((0, 1, 3)))))
    a = random_index(rng, depth - 1)
    number = rng.choice((1, 2, 3, 4, 6, 8, -1))
    kind = rng.choice((E.Add, E.Add, E.Sub, E.Mul, E.FloorDiv, E.FloorMod))
    if kind in (E.Add, E.Sub):
        return kind(a, random_index(rng, depth - 1))
    return kind(a, E.IntImm(abs(number) if kind is not E.Mul else number))


def random_predicate(rng: random.Random) -> E.Expr | None:
    found: E.Expr | None = None
    while rng.random() < 0.5:
        kind = rng.choice((E.LT, E.LE, E.GT, E.GE, E.EQ))
        sides = [random_index(rng, 2), E.IntImm(rng.choice((0, 1, 2, 3, 5, 7, 11, 14)))]
        rng.shuffle(sides)
        one = kind(*sides)
        found = one if found is None else E.And(found, one)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_random_maps_are_what_is_claimed(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        iters = {
            var: E.Range(E.IntImm(rng.choice((0, 0, 0, 2, -1))), E.IntImm(rng.randint(1, 8)))
            for var in (x, y, z)
        }
        indices = [random_index(rng, 3) for _ in range(rng.randint(1, 3))]
        check_claims(indices, iters, random_predicate(rng))


def digit_map(rng: random.Random) -> tuple[list[E.Expr], Domain]:
    """Iterators cut into digits, and the digits put together again in another order."""
    iters: Domain = {}
    digits: list[tuple[E.Expr, int]] = []
    for var in (x, y, z):
        extents = [rng.choice((2, 3, 4)) for _ in range(rng.randint(0, 2))]
        extent = 1
        for count in reversed(extents):
            digits.append((var // extent % count, count))
            extent *= count
        iters[var] = E.Range(E.IntImm(0), E.IntImm(extent))
    rng.shuffle(digits)
    indices: list[E.Expr] = []
    while digits:
        count = rng.randint(1, len(digits))
        total: E.Expr = E.IntImm(0)
        for digit, extent in digits[:count]:
            total = total * extent + digit
        indices.append(total)
        digits = digits[count:]
    return indices, iters


@pytest.mark.parametrize("seed", range(60))
def test_all_maps_of_digits_are_proved(seed: int) -> None:
    indices, iters = digit_map(random.Random(seed))
    assert check_claims(indices, iters, None) == [True, True]


@pytest.mark.parametrize("seed", range(60))
def test_digits_of_fused_iterators_are_proved(seed: int) -> None:
    """Split, fuse, and split again what was fused."""
    rng = random.Random(seed)
    indices, iters = digit_map(rng)
    again: list[E.Expr] = []
    for index in indices:
        by = rng.choice((1, 2, 3, 4))
        size = 1 + max(value(index, env) for env in points(iters, None))
        again += [index // by, index % by] if size % by == 0 else [index]
    assert check_claims(again, iters, None) == [True, True]


@pytest.mark.parametrize("seed", range(30))
def test_digits_under_a_condition_are_proved(seed: int) -> None:
    rng = random.Random(seed)
    indices, iters = digit_map(rng)
    if not indices:
        return
    size = 1 + max(value(indices[0], env) for env in points(iters, None))
    limit = rng.randint(1, size)
    assert check_claims(indices, iters, indices[0] < limit) == [True, True]


SYMBOLIC: list[tuple[list[Any], Domain, Any, list[str]]] = [
    ([x * n + y], domain(x=m, y=n), None, ["x * n + y"]),
    ([x // n, x % n], domain(x=n * m), None, ["x // n", "x % n"]),
    ([x * 32 + y], domain(x=(n + 31) // 32, y=32), x * 32 + y < n, ["x * 32 + y"]),
    ([x + n, y], domain(x=8, y=n), None, ["x + n", "y"]),
    ([(x * n + y) // n, y], domain(x=m, y=n), None, ["x", "y"]),
    ([x], domain(x=n), x < m, ["x"]),
    ([x * (n * m) + y * m + z], domain(x=4, y=n, z=m), None, ["x * (n * m) + y * m + z"]),
    ([x // (m * n), x % (n * m)], domain(x=n * m * 4), None, ["x // (m * n)", "x % (n * m)"]),
]


@pytest.mark.parametrize(("indices", "iters", "predicate", "expected"), SYMBOLIC)
def test_symbolic_extents(
    indices: list[E.Expr], iters: Domain, predicate: Any, expected: list[str]
) -> None:
    found = detect_iter_map(indices, iters, predicate, BIJECTIVE)
    assert not found.errors
    assert texts(found.indices) == expected


def test_symbolic_scales_that_do_not_fit_are_refused() -> None:
    found = detect_iter_map([x * n + y], domain(x=4, y=m), None)
    assert "have gaps" in found.errors[0]


def test_simplified_maps() -> None:
    assert [str(e) for e in iter_map_simplify([x // 4 * 4 + x % 4], domain(x=32))] == ["x"]
    unknown = x * y
    assert iter_map_simplify([unknown], domain(x=3, y=3)) == (unknown,)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("extent", [11, 12, 13, 16])
def test_simplified_quotients_after_the_first_values_are_equal(first: int, extent: int) -> None:
    iters = domain(x=(first, extent))
    for least, by in itertools.product((3, 5, 9, 10), (2, 3, 4, 5)):
        for index in (x // by * 16 + 4, x % by, (x + 1) // by, (x + 5) // by * 2 + x % 2):
            found = iter_map_simplify([index], iters, ops.less_equal(least, x))[0]
            for at in range(max(first, least), first + extent):
                assert value(found, {x: at}) == value(index, {x: at}), (index, found)


@pytest.mark.parametrize(
    ("index", "extent", "least", "expected"),
    [
        (x // 3 * 16 + 4, 12, 10, "52"),
        (x // 4 * 16 + 4, 13, 9, "(x - 9 + 1) // 4 * 16 + 36"),
        (x % 4, 13, 9, "(x - 9 + 1) % 4"),
        (x % 4, 12, 9, "x % 4"),  # not all remainders occur
        ((x + 1) // 3, 12, 9, "(x - 9 + 1) // 3 + 3"),
    ],
)
def test_quotients_after_the_first_values_are_simplified(
    index: E.Expr, extent: int, least: int, expected: str
) -> None:
    found = iter_map_simplify([index], domain(x=extent), ops.less_equal(least, x))
    assert str(found[0]) == expected


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ((0 - x) // 2, "x // -2"),
        ((0 - x) % 3, "x % -3 * -1"),
        ((4 - x) // 2, "x // -2 + 2"),
        ((0 - x) // 2 // 2, "x // -4"),
        ((0 - x) // 2 % 2, "x % -4 // -2"),
        ((0 - x) % 4 // 2, "x % -4 // -2"),
        ((0 - x % 4) // 2, "x % 4 // -2"),
    ],
)
def test_quotients_of_reversed_iterators_are_by_negative_numbers(
    index: E.Expr, expected: str
) -> None:
    """As TVM 0.19 writes them."""
    assert str(iter_map_simplify([index], domain(x=20))[0]) == expected


def test_quotients_of_reversed_iterators_are_equal() -> None:
    for first, extent in itertools.product((0, 2), (2, 3, 4, 5, 7)):
        parts = [x, x // 2, x % 2, x % 3, x % 4, (0 - x) // 2, (0 - x) % 3]
        wholes = [whole for part in parts for whole in (0 - part, 1 - part, 4 - part, part)]
        for whole, by in itertools.product(wholes, (2, 3, 4)):
            quotient, rest = whole // by, whole % by
            for index in (quotient, rest, quotient * by + rest, quotient // 2, quotient % 2 * -1):
                found = iter_map_simplify([index + y * 16], domain(x=(first, extent), y=2))[0]
                for at in range(first, first + extent):
                    env = {x: at, y: 1}
                    assert value(found, env) == value(index, env) + 16, (index, found)


def test_products_of_a_symbolic_sum_are_simplified() -> None:
    iters = domain(x=8, y=4)
    assert str(iter_map_simplify([(x * 4 + y) * n + (x * 4 + y)], iters)[0]) == (
        "(x * 4 + y) * (n + 1)"
    )


@pytest.mark.parametrize(
    ("outer", "expected"),
    [
        (((x * 2 + y) * 2 + z) < 3, "(x * 2 + y) * 2 + z"),
        (((x * 2 + y + m) * 2 + z) < 3, "x * 4 + y * 2 + z"),
        (n * 2 + z < 5, "x * 4 + y * 2 + z"),
        (n < 2, "(x * 2 + y) * 2 + z"),
    ],
)
def test_sums_with_a_part_of_the_sum_of_a_condition_are_simplified_without_conditions(
    outer: E.Expr, expected: str
) -> None:
    """As TVM 0.19 does: a sum that has the finest part of a condition's sum must have all of it."""
    iters = domain(x=2, y=2, z=2) | {m: E.Range(E.IntImm(0), E.IntImm(1))}
    iters[n] = E.Range(E.IntImm(0), E.IntImm(3))
    predicate = ops.logical_and(outer, x * 2 + y < 3)
    found = iter_map_simplify([(x * 2 + y) * 2 + z], iters, predicate, keeps_units=True)
    assert str(found[0]) == expected


def test_simplified_maps_may_depend_on_parts_in_a_condition() -> None:
    """A map that has to be surjective must not: not all pairs of z and w are taken."""
    w, n = E.Var("w"), E.Var("n", is_size=True)
    iters = {**domain(x=(n + 3) // 4, y=4, z=(n + 3) // 4), w: E.Range(E.IntImm(0), E.IntImm(20))}
    index = x * (n * 20) + y * (n * 5) + z * 20 + w
    of_others = z * 4 + w // 5 < n
    predicate = ops.logical_and(x * 4 + y < n, of_others)
    assert str(iter_map_simplify([index], iters, predicate)[0]) == (
        "(x * 4 + y) * (n * 5) + z * 20 + w"
    )
    assert detect_iter_map([index], iters, of_others).errors


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (x < 1, "y"),
        (ops.logical_and(x < 1, x * 8 + z < 8), "y"),
        (x >= 7, "y + 56"),
        (ops.equal(x, 0), "x * 8 + y"),  # TVM does not detect maps under equations,
        (x * 2 < 2, "x * 8 + y"),  # nor under conditions on multiples
        (ops.logical_and(x < 1, z * 2 < 2), "x * 8 + y"),
    ],
)
def test_simplified_maps_do_not_have_iterators_of_one_value(
    predicate: E.Expr, expected: str
) -> None:
    iters = domain(x=8, y=8, z=4)
    assert str(iter_map_simplify([x * 8 + y], iters, predicate)[0]) == expected


@pytest.mark.parametrize(
    ("index", "extents", "expected"),
    [
        (x * 4 + y * 4 + z, {"x": 3, "y": 1, "z": 4}, "x * 4 + y * 4 + z"),
        (x * 2 + y * 2, {"x": 1, "y": 3}, "(y + x) * 2"),
        (x + y * 2 + z * 2, {"x": 4, "y": 3, "z": 1}, "y * 2 + z * 2 + x"),  # y * 2 overlaps x
        (x + y * 2 + z * 3, {"x": 4, "y": 3, "z": 1}, "y * 2 + z * 3 + x"),
        (x * 3 + y + z, {"x": 1, "y": 3, "z": 1}, "x * 3 + y + z"),
    ],
)
def test_iterators_of_one_value_continue_a_sum_before_others(
    index: E.Expr, extents: dict[str, int], expected: str
) -> None:
    found = iter_map_simplify([index], domain(**extents), keeps_units=True)
    assert str(found[0]) == expected


@pytest.mark.parametrize("limit", [4, 6, 100])
def test_the_sum_of_a_condition_is_kept_together_even_if_it_always_holds(limit: int) -> None:
    index, iters = x * 5 + y * 5 + z, domain(x=3, y=4, z=5)
    assert str(iter_map_simplify([index], iters, x + y < limit)[0]) == "(x + y) * 5 + z"
    assert not detect_iter_map([x, y], iters, x * 4 + y < 100).errors


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (x * 2 + y * 8 + z * 4, ["y", "z", "x"]),
        (x * -1 + y * 2 + z * -3, ["y", "x", "z"]),
        (x + y * n + z * 2, ["z", "y", "x"]),
        (y * (n * m) + x * (n * 2) + z * (m * 3), ["z", "x", "y"]),
        (x * n + y * (n + m) + z * m, ["x", "y", "z"]),
    ],
)
def test_parts_of_a_sum_are_ordered_by_the_constants_in_their_scales(
    index: E.Expr, expected: list[str]
) -> None:
    found = normalize_to_iter_sum(index, domain(x=3, y=4, z=5))
    assert [str(one.source.source) for one in found.args] == expected


def test_a_sum_may_have_no_parts() -> None:
    found = normalize_to_iter_sum(x + y * 2 + 3, domain(x=1, y=1))
    assert (found.args, str(found.base)) == ((), "3")


def test_a_sum_keeps_what_is_no_part_in_its_base() -> None:
    found = normalize_to_iter_sum(x * 4 + y // 3 + z * z + 5, domain(x=8, y=4, z=3))
    assert [(str(one.source.source), one.scale, one.lower_factor) for one in found.args] == [
        ("x", 4, 1),
        ("y", 1, 3),
    ]
    assert str(found.base) == "z * z + 5"


def test_inverse_of_a_fused_and_split_map() -> None:
    found = detect_iter_map([(x * 4 + y) // 16, (x * 4 + y) % 16], domain(x=8, y=4), None)
    inverse = inverse_affine_iter_map(found.indices, [n, m])
    assert {var.name: str(Analyzer().simplify(e)) for var, e in inverse.items()} == {
        "x": "n * 4 + m // 4",
        "y": "m % 4",
    }


def division(
    bindings: list[E.Expr], iters: Domain, inside: list[E.Var], predicate: Any = None
) -> list[tuple[str, Any, str, Any]] | None:
    found = subspace_divide(bindings, iters, inside, predicate)
    if found is None:
        return None
    return [
        (str(normalize_iter_map_to_expr(a)), a.extent, str(normalize_iter_map_to_expr(b)), b.extent)
        for a, b in found.bindings
    ]


def test_subspace_of_a_fused_index() -> None:
    assert division([z * 12 + y * 3 + x + 1], domain(z=3, y=4, x=3), [x]) == [
        ("z * 4 + y", 12, "x + 1", 3)
    ]


def test_subspace_with_whole_indices() -> None:
    found = division([x * 4 + y, z], domain(x=8, y=4, z=8), [y, z], z < 5)
    assert found == [("x", 8, "y", 4), ("0", 1, "z", 5)]


def test_subspace_tells_which_condition_is_whose() -> None:
    found = subspace_divide([x * 4 + y, z], domain(x=8, y=4, z=8), [x, y], x * 4 + y < 30)
    assert found is not None
    assert [str(e) for e in found.predicates] == ["T.bool(True)", "x * 4 + y < 30"]


def test_subspace_rejects_what_mixes_iterators() -> None:
    assert division([x * 4 + y], domain(x=8, y=4), [x]) is None
    assert division([x * 4 + y], domain(x=8, y=4), [y], x * 4 + y < 30) is None
    assert division([x * y], domain(x=8, y=4), [y]) is None


def test_simplified_indices_keep_their_types() -> None:
    i = E.Var("i", "int64")
    domain = E.Range(E.IntImm(0, "int64"), E.IntImm(1, "int64"))
    (found,) = iter_map_simplify([i], {i: domain})
    assert (str(found), found.dtype) == ("T.int64(0)", "int64")


def test_simplify_replaces_iterators_of_one_value() -> None:
    iters = domain(x=4, y=4)
    assert str(iter_map_simplify([y * 4 + x], iters, x < 1)[0]) == "y * 4"
    assert str(iter_map_simplify([y * 4 + x], iters, ops.less_equal(3, x))[0]) == "y * 4 + 3"
    assert str(iter_map_simplify([x // 3], iters, ops.less_equal(3, x))[0]) == "x // 3"
    assert str(iter_map_simplify([y // 4 * 8 + x], iters)[0]) == "y // 4 * 8 + x"
    wide = domain(x=5, y=4)
    assert str(iter_map_simplify([x // 3 * 16 + 5], wide, ops.less_equal(3, x))[0]) == "21"
