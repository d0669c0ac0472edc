"""Each row of the tables, as written, against brute force on small integers, negatives included."""

from __future__ import annotations

import ast
import random
from math import gcd

import pytest

from te_sched import tir
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.rules import Row, is_constant_name, is_lanes_name
from te_sched.arith.tables import INDEX, LOGIC, VECTOR
from tests.arith.brute import truncdiv, truncmod

SCALAR = [row for table in (INDEX, LOGIC) for name in table.texts for row, _ in table.rows(name)]
VECTORS = [row for name in VECTOR.texts for row, _ in VECTOR.rows(name)]
FUNCTIONS = {
    "min": min,
    "max": max,
    "gcd": gcd,
    "truncdiv": truncdiv,
    "truncmod": truncmod,
    "select": lambda b, x, y: x if b else y,
    "ite": lambda b, x, y: x if b else y,
    "low": lambda x: x,
    "high": lambda x: x,
    "zero": lambda x: x == 0,
    "real_zero": lambda x: x == 0,
    "constant": lambda x: x % 2 == 0,
    "newer": lambda: True,
    "extremum": lambda x: False,
}


def names_of(row: Row) -> list[str]:
    """The names that the pattern binds."""
    tree = ast.parse(row.pattern, mode="eval")
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return sorted(found - set(FUNCTIONS) - {"ramp", "broadcast"})


def sample(name: str, rng: random.Random) -> int:
    """A small value for a name; b, b1, ... are truth values."""
    if name[0] == "b":
        return rng.random() < 0.5
    return (
        rng.choice((-8, -6, -4, -3, -2, -1, 1, 2, 3, 4, 6, 8, 12))
        if (is_constant_name(name))
        else rng.randint(-13, 13)
    )


@pytest.mark.parametrize("row", SCALAR, ids=str)
def test_rule_keeps_the_value(row: Row) -> None:
    rng = random.Random(str(row))
    names = names_of(row)
    when, pattern, result = (
        compile(text, str(row), "eval")
        for text in (
            row.when or "True",
            row.pattern,
            row.result,
        )
    )
    checked = 0
    for _ in range(4000):
        scope = {**FUNCTIONS, **{name: sample(name, rng) for name in names}}
        if not eval(when, scope):
            continue
        try:
            expected = eval(pattern, scope)
        except ZeroDivisionError:
            continue
        assert eval(result, scope) == expected, {name: scope[name] for name in names}
        checked += 1
        if checked == 60:
            return
    assert checked, "the condition of the rule never holds"


def lanes_of(vector: object, lane: int) -> object:
    return vector(lane) if callable(vector) else vector


@pytest.mark.parametrize("row", VECTORS, ids=str)
def test_vector_rule_keeps_every_lane(row: Row) -> None:
    rng = random.Random(str(row))
    names = names_of(row)
    when = compile(row.when or "True", str(row), "eval")
    for _ in range(300):
        values = {name: 4 if is_lanes_name(name) else sample(name, rng) for name in names}
        if "and" in row.pattern or "or" in row.pattern or "not" in row.pattern:
            values = {name: v if name == "n" else bool(v % 2) for name, v in values.items()}

        def in_one_bin(base: int, stride: int, lanes: int, divisor: int) -> bool:
            bins = {(base + stride * lane) // divisor for lane in range(lanes)}
            return divisor > 0 and len(bins) == 1

        scope = {**FUNCTIONS, **values, "in_one_bin": in_one_bin}
        if not eval(when, scope):
            continue
        for lane in range(4):
            vectors = {
                "ramp": lambda base, stride, n, lane=lane: base + stride * lane,
                "broadcast": lambda x, n: x,
            }
            try:
                expected = eval(row.pattern, {**scope, **vectors})
            except ZeroDivisionError:
                continue
            assert eval(row.result, {**scope, **vectors}) == expected


def test_rules_are_unique() -> None:
    assert len(SCALAR) == len(set(SCALAR)) > 300


def test_vectors_are_subtracted() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    difference = tir.Sub(tir.Ramp(x, 1, 16), tir.Broadcast(y, 16))
    assert str(Analyzer().simplify(difference)) == "T.Ramp(x - y, 1, 16)"


def test_constants_of_comparisons_have_the_type_of_their_operands() -> None:
    x = tir.Var("x", "int64")
    found = Analyzer().rewrite_simplify(tir.And(x.equal(20), x != 30))
    assert isinstance(found, tir.EQ)
    assert found.b.dtype == "int64"
    assert str(Analyzer().rewrite_simplify(tir.Or(x.equal(20), x != 30))) == "x != T.int64(30)"
