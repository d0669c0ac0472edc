"""The rewrite rules, operator by operator (`rules` explains how a row reads).

Rows of an operator are tried in order. `INDEX` rules hold for scalar int32 and int64, `VECTOR`
rules for vectors of any type, `LOGIC` rules for bools. Every row is checked against brute force
by the tests.
"""

from __future__ import annotations

from te_sched.arith.rules import Row, RuleTable
from te_sched.ir.expr import (
    EQ,
    LT,
    Add,
    And,
    Call,
    Div,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Sub,
)

_ADD = (
    Row("add-sub-cancel", "(x - y) + y", "x"),
    Row("add-cancel-sub", "x + (y - x)", "y"),
    Row("add-chain", "(x - y) + (y - z)", "x - z"),
    Row("add-chain-back", "(x - y) + (z - x)", "z - y"),
    Row("add-min-sub-right", "min(x, y - z) + z", "min(x + z, y)"),
    Row("add-min-sub-left", "min(x - z, y) + z", "min(x, y + z)"),
    Row("add-min-scaled-right", "min(x, y + z * c1) + z * c2", "min(x + z * c2, y)", "c1 == -c2"),
    Row("add-max-sub-right", "max(x, y - z) + z", "max(x + z, y)"),
    Row("add-max-sub-left", "max(x - z, y) + z", "max(x, y + z)"),
    Row("add-max-min", "max(x, y) + min(x, y)", "x + y"),
    Row("add-max-min-swapped", "max(x, y) + min(y, x)", "x + y"),
    Row("add-min-max", "min(x, y) + max(x, y)", "x + y"),
    Row("add-min-max-swapped", "min(x, y) + max(y, x)", "x + y"),
    Row("add-min-const", "min(x, y + c1) + c2", "min(x + c2, y)", "c1 == -c2"),
    Row("add-min-const-left", "min(x + c1, y) + c2", "min(x, y + c2)", "c1 == -c2"),
    Row("add-max-const", "max(x, y + c1) + c2", "max(x + c2, y)", "c1 == -c2"),
    Row("add-max-const-left", "max(x + c1, y) + c2", "max(x, y + c2)", "c1 == -c2"),
    Row("add-select", "select(b, x, y) + select(b, z, w)", "select(b, x + z, y + w)"),
    Row("add-twice", "x + x", "x * 2"),
    Row("add-factor-left-one", "x * y + x", "x * (y + 1)", "not_const(x)", True),
    Row("add-factor-right-one", "y * x + x", "x * (y + 1)", "not_const(x)", True),
    Row("add-one-factor-left", "x + y * x", "x * (1 + y)", "not_const(x)", True),
    Row("add-one-factor-right", "x + x * y", "x * (1 + y)", "not_const(x)", True),
    Row("add-factor", "x * y + x * z", "x * (y + z)", "", True),
    Row("add-factor-last", "y * x + x * z", "x * (y + z)", "", True),
    Row("add-factor-crossed", "x * y + z * x", "x * (y + z)", "", True),
    Row("add-factor-both-last", "y * x + z * x", "x * (y + z)", "", True),
    Row("add-quotient-remainder", "x // y * y + x % y", "x"),
    Row("add-half-remainder", "x // 2 + x % 2", "(x + 1) // 2"),
    Row("add-factor-quotient-remainder", "y * (x // y) + x % y", "x"),
    Row("add-remainder-quotient", "x % y + x // y * y", "x"),
    Row("add-remainder-factor-quotient", "x % y + y * (x // y)", "x"),
    Row("add-quotient-carry", "(x % c1 + c2) // c1 + x // c1", "(x + c2) // c1", "c1 > 0"),
    Row("add-max-first", "x + max(y, z)", "max(y, z) + x", "not extremum(x)"),
    Row("add-min-first", "x + min(y, z)", "min(y, z) + x", "not extremum(x)"),
    Row("add-const-out", "(x + c1) + c2", "x + (c1 + c2)"),
    Row("add-const-minus", "(c1 - x) + c2", "(c1 + c2) - x"),
    Row("add-const-last", "(x + c1) + y", "(x + y) + c1", "", True),
    Row("add-inner-const", "x + (c1 + y)", "(x + y) + c1", "", True),
    Row("add-inner-const-last", "x + (y + c1)", "(x + y) + c1", "", True),
    Row("add-const-minus-inner", "x + (c1 - y)", "(x - y) + c1", "", True),
    Row("add-inner-sub", "(x - c1) + y", "(x + y) - c1", "", True),
    Row("add-const-first", "c1 + x", "x + c1"),
    Row("add-negative-product", "x + y * c1", "x - y * -c1", "c1 < 0"),
)


def _extremum_minus(m: str) -> tuple[Row, ...]:
    """A term that one side of min or max has as well is taken out of both."""
    other = "max" if m == "min" else "min"
    return (
        Row(f"sub-{m}-first-sum", f"{m}(x + y, z) - x", f"{m}(y, z - x)"),
        Row(f"sub-{m}-last-sum", f"{m}(y + x, z) - x", f"{m}(y, z - x)"),
        Row(f"sub-{m}-sum-first", f"{m}(z, x + y) - x", f"{m}(z - x, y)"),
        Row(f"sub-{m}-sum-last", f"{m}(z, y + x) - x", f"{m}(z - x, y)"),
        Row(f"sub-from-{m}-first-sum", f"x - {m}(x + y, z)", f"{other}(0 - y, x - z)"),
        Row(f"sub-from-{m}-last-sum", f"x - {m}(y + x, z)", f"{other}(0 - y, x - z)"),
        Row(f"sub-from-{m}-sum-first", f"x - {m}(z, x + y)", f"{other}(x - z, 0 - y)"),
        Row(f"sub-from-{m}-sum-last", f"x - {m}(z, y + x)", f"{other}(x - z, 0 - y)"),
    )


_SUB = (
    Row("sub-add-cancel-last", "(x + y) - y", "x"),
    Row("sub-add-cancel-first", "(x + y) - x", "y"),
    Row("sub-cancel-last", "x - (y + x)", "0 - y"),
    Row("sub-cancel-first", "x - (x + y)", "0 - y"),
    Row("sub-min-left", "min(x, y) - x", "min(0, y - x)"),
    Row("sub-min-right", "min(x, y) - y", "min(x - y, 0)"),
    Row("sub-max-left", "max(x, y) - x", "max(0, y - x)"),
    Row("sub-max-right", "max(x, y) - y", "max(x - y, 0)"),
    *_extremum_minus("min"),
    *_extremum_minus("max"),
    Row("sub-negative-scale", "0 - x * c1", "x * -c1"),
    Row("sub-from-max-left", "x - max(x, y)", "min(0, x - y)"),
    Row("sub-from-max-right", "y - max(x, y)", "min(y - x, 0)"),
    Row("sub-from-min-left", "x - min(x, y)", "max(0, x - y)"),
    Row("sub-from-min-right", "y - min(x, y)", "max(y - x, 0)"),
    Row("sub-self", "x - x", "0"),
    Row("sub-factor-left-one", "x * y - x", "x * (y - 1)", "not_const(x)", True),
    Row("sub-factor-right-one", "y * x - x", "x * (y - 1)", "not_const(x)", True),
    # Not visited again: a product round it takes the constant out.
    Row("sub-factor-constant", "y * x - x", "x * (y - 1)", "constant(x)"),
    Row("sub-one-factor-last", "x - y * x", "x * (1 - y)", "", True),
    Row("sub-one-factor", "x - x * y", "x * (1 - y)", "", True),
    Row("sub-factor", "x * y - x * z", "x * (y - z)", "", True),
    Row("sub-factor-last", "y * x - x * z", "x * (y - z)", "", True),
    Row("sub-factor-crossed", "x * y - z * x", "x * (y - z)", "", True),
    Row("sub-factor-both-last", "y * x - z * x", "x * (y - z)", "", True),
    Row("sub-cancel-first-first", "(x + y) - (x + z)", "y - z"),
    Row("sub-cancel-first-last", "(x + y) - (z + x)", "y - z"),
    Row("sub-cancel-last-last", "(y + x) - (z + x)", "y - z"),
    Row("sub-cancel-last-first", "(y + x) - (x + z)", "y - z"),
    Row("sub-quotient", "x - x // c1 * c1", "x % c1", "c1 != 0"),
    Row("sub-quotient-first", "x // c1 * c1 - x", "0 - x % c1", "c1 != 0"),
    Row("sub-scaled-quotient", "x * c2 - x // c1 * c3", "x % c1 * c2", "c1 != 0 and c3 == c1 * c2"),
    Row(
        "sub-scaled-quotient-first",
        "x // c1 * c3 - x * c2",
        "x % c1 * -c2",
        "c1 != 0 and c3 == c1 * c2",
    ),
    Row("sub-shifted-half", "(x + c1) // 2 - x // 2", "x % 2 + c1 // 2", "c1 % 2 == 1", True),
    Row("sub-from-shifted", "x // 2 - (x + c1) // 2", "x % 2 * -1 + -(c1 // 2)", "c1 % 2 == 1"),
    Row("sub-shifted-quotient", "(x + c1) // c2 - x // c2", "(x % c2 + c1) // c2", "c2 > 0", True),
    Row(
        "sub-two-shifted-quotients",
        "(x + c1) // c3 - (x + c2) // c3",
        "((x + c2 % c3) % c3 + (c1 - c2)) // c3",
        "c3 > 0",
        True,
    ),
    Row("sub-const-inner", "x - (y + c1)", "(x - y) + -c1", "", True),
    Row("sub-const-minus", "x - (c1 - y)", "(x + y) + -c1", "", True),
    Row("sub-const-out", "(x + c1) - y", "(x - y) + c1", "", True),
    Row("sub-const-minus-const", "(c1 - x) - c2", "(c1 - c2) - x"),
    Row("sub-inner-sub", "x - (y - z)", "(x + z) - y", "", True),
    Row("sub-opposite-scales", "x * c1 - y * c2", "(x + y) * c1", "c2 == -c1", True),
    Row("sub-negative-product", "x - y * c1", "x + y * -c1", "c1 < 0"),
    Row("sub-const", "x - c1", "x + -c1"),
)

_MUL = (
    Row("mul-const-sum", "(x + c1) * c2", "x * c2 + c1 * c2", "", True),
    Row("mul-const-const", "(x * c1) * c2", "x * (c1 * c2)"),
    Row("mul-min-max", "min(x, y) * max(x, y)", "x * y"),
    Row("mul-max-min", "max(x, y) * min(x, y)", "x * y"),
    Row("mul-const-first", "c1 * x", "x * c1"),
    Row("mul-const-last", "x * (c1 * y)", "(x * y) * c1", "", True),
    Row("mul-const-inner", "x * (y * c1)", "(x * y) * c1", "", True),
    Row("mul-negative-difference", "(x - y) * c1", "(y - x) * -c1", "c1 < 0", True),
)

_FLOORDIV = (
    Row("div-div", "x // c1 // c2", "x // (c1 * c2)", "c1 > 0 and c2 > 0", True),
    Row("div-sum-div", "(x // c1 + c2) // c3", "(x + c1 * c2) // (c1 * c3)", "c1 > 0 and c3 > 0"),
    Row("div-half-up", "(x % 2 + 1) // 2", "x % 2"),
    Row("div-by-minus-one", "x // -1", "x * -1"),
    Row("div-product", "(x * c1) // c2", "x * (c1 // c2)", "c2 > 0 and c1 % c2 == 0", True),
    Row("div-product-down", "(x * c1) // c2", "x // (c2 // c1)", "c1 > 0 and c2 % c1 == 0"),
    Row("div-self", "x // x", "1", "not zero(x)"),
    Row("div-multiple", "(x * c1) // x", "c1", "not zero(x)"),
    Row(
        "div-sum-multiple",
        "(x * c1 + y) // c2",
        "x * (c1 // c2) + y // c2",
        "c2 != 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-two-small",
        "(x * c1 + y + z) // c2",
        "x // (c2 // c1)",
        "c1 > 0 and c2 > 0 and c2 % c1 == 0 and low(y) + low(z) >= 0 and high(y) + high(z) < c1",
    ),
    Row(
        "div-two-multiple",
        "(x * c1 + y + z) // c2",
        "x * (c1 // c2) + (y + z) // c2",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-rest-constant",
        "(x * c1) // c2",
        "x * (c1 // c2) + c3",
        "c2 > 0 and (c3 := low(x) * (c1 % c2) // c2) == high(x) * (c1 % c2) // c2",
    ),
    Row(
        "div-rest-constant-sum",
        "(x * c1 + c3) // c2",
        "x * (c1 // c2) + c4",
        "c2 > 0 and (c4 := (low(x) * (c1 % c2) + c3) // c2) == (high(x) * (c1 % c2) + c3) // c2",
    ),
    Row(
        "div-sum-small",
        "(x * c1 + y) // c2",
        "x // (c2 // c1)",
        "c1 > 0 and c2 > 0 and c2 % c1 == 0 and low(y) >= 0 and high(y) < c1",
    ),
    Row(
        "div-difference-multiple",
        "(x * c1 - y) // c2",
        "x * (c1 // c2) + (0 - y) // c2",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-sum-multiple-last",
        "(y + x * c1) // c2",
        "y // c2 + x * (c1 // c2)",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-min-const",
        "min(x * c1, y) // c2",
        "min(x * (c1 // c2), y // c2)",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-max-const",
        "max(x * c1, y) // c2",
        "max(x * (c1 // c2), y // c2)",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-min-const-last",
        "min(y, x * c1) // c2",
        "min(y // c2, x * (c1 // c2))",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-max-const-last",
        "max(y, x * c1) // c2",
        "max(y // c2, x * (c1 // c2))",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row(
        "div-const-multiple",
        "(x + c1) // c2",
        "x // c2 + c1 // c2",
        "c2 > 0 and c1 % c2 == 0",
        True,
    ),
    Row("div-sum-self", "(x * y) // y", "x", "not zero(y)"),
    Row("div-sum-self-first", "(y * x) // y", "x", "not zero(y)"),
    Row("div-sum-of-multiple", "(x * z + y) // z", "x + y // z", "low(z) >= 0", True),
    Row("div-sum-of-multiple-first", "(z * x + y) // z", "x + y // z", "low(z) >= 0", True),
    Row("div-sum-of-multiple-last", "(y + x * z) // z", "y // z + x", "low(z) >= 0", True),
    Row("div-sum-of-multiple-last-first", "(y + z * x) // z", "y // z + x", "low(z) >= 0", True),
)

_TRUNCDIV = (
    Row(
        "truncdiv-truncdiv",
        "truncdiv(truncdiv(x, c1), c2)",
        "truncdiv(x, c1 * c2)",
        "c1 > 0 and c2 > 0",
    ),
    Row("truncdiv-product", "truncdiv(x * c1, c2)", "x * (c1 // c2)", "c2 > 0 and c1 % c2 == 0"),
    Row(
        "truncdiv-product-down",
        "truncdiv(x * c1, c2)",
        "truncdiv(x, c2 // c1)",
        "c1 > 0 and c2 > 0 and c2 % c1 == 0",
    ),
    Row(
        "truncdiv-sum-multiple",
        "truncdiv(x * c1 + y, c2)",
        "x * (c1 // c2) + truncdiv(y, c2)",
        "c1 > 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0 and low(y) >= 0",
        True,
    ),
    Row(
        "truncdiv-const-multiple",
        "truncdiv(x + c1, c2)",
        "truncdiv(x, c2) + c1 // c2",
        "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0",
        True,
    ),
)

_TRUNCMOD = (
    Row("truncmod-product", "truncmod(x * c1, c2)", "0", "c2 != 0 and c1 % c2 == 0"),
    Row(
        "truncmod-sum-multiple",
        "truncmod(x * c1 + y, c2)",
        "truncmod(y, c2)",
        "c1 > 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0 and low(y) >= 0",
        True,
    ),
    Row(
        "truncmod-const-multiple",
        "truncmod(x + c1, c2)",
        "truncmod(x, c2)",
        "c1 >= 0 and c2 > 0 and c1 % c2 == 0 and low(x) >= 0",
    ),
)

_FLOORMOD = (
    Row("mod-product", "(x * c1) % c2", "0", "c2 != 0 and c1 % c2 == 0"),
    Row("mod-sum-multiple", "(x * c1 + y) % c2", "y % c2", "c2 > 0 and c1 % c2 == 0", True),
    Row(
        "mod-sum-small",
        "(x * c1 + y) % c2",
        "x % (c2 // c1) * c1 + y",
        "c1 > 0 and c2 > 0 and c2 % c1 == 0 and low(y) >= 0 and high(y) < c1",
    ),
    Row(
        "mod-sum-fold",
        "(x * c1 + y) % c2",
        "(x * (c1 % c2) + y) % c2",
        "c2 > 0 and (c1 >= c2 or c1 < 0)",
        True,
    ),
    Row("mod-const-multiple", "(x + c1) % c2", "x % c2", "c2 > 0 and c1 % c2 == 0"),
    Row("mod-const-fold", "(x + c1) % c2", "(x + c1 % c2) % c2", "c2 > 0 and (c1 >= c2 or c1 < 0)"),
    Row(
        "mod-product-fold",
        "(x * c1) % c2",
        "x * (c1 % c2) % c2",
        "c2 > 0 and (c1 >= c2 or c1 < 0)",
        True,
    ),
    Row(
        "mod-difference-fold",
        "(x - y * c1) % c2",
        "(x + y * (-c1 % c2)) % c2",
        "c2 > 0 and c1 % c2 != 0",
        True,
    ),
    Row("mod-sum-multiple-last", "(x + y * c1) % c2", "x % c2", "c2 > 0 and c1 % c2 == 0", True),
    Row("mod-difference-multiple", "(x - y * c1) % c2", "x % c2", "c2 > 0 and c1 % c2 == 0", True),
    Row(
        "mod-sum-fold-last",
        "(x + y * c1) % c2",
        "(x + y * (c1 % c2)) % c2",
        "c2 > 0 and (c1 >= c2 or c1 < 0)",
        True,
    ),
    Row("mod-of-product", "(x * y) % y", "0", "not zero(y)"),
    Row("mod-of-product-first", "(y * x) % y", "0", "not zero(y)"),
    Row("mod-of-sum", "(x * y + z) % y", "z % y", "low(y) >= 0"),
    Row("mod-of-sum-first", "(y * x + z) % y", "z % y", "low(y) >= 0"),
    Row("mod-of-sum-last", "(z + x * y) % y", "z % y", "low(y) >= 0"),
    Row("mod-of-sum-last-first", "(z + y * x) % y", "z % y", "low(y) >= 0"),
)


def _extremum_of_multiples(m: str) -> tuple[Row, ...]:
    """x is between the multiple below and the multiple above."""
    below, above = "x // c1 * c1", "(x + c2) // c1 * c1"
    low, high = (below, "x") if m == "min" else ("x", above)
    return (
        Row(f"{m}-multiple-above", f"{m}({above}, x)", high, "c1 > 0 and c2 == c1 - 1"),
        Row(f"{m}-multiple-above-last", f"{m}(x, {above})", high, "c1 > 0 and c2 == c1 - 1"),
        Row(f"{m}-multiple-below", f"{m}({below}, x)", low, "c1 > 0"),
        Row(f"{m}-multiple-below-last", f"{m}(x, {below})", low, "c1 > 0"),
    )


def _extremum(name: str, other: str, less: str) -> tuple[Row, ...]:
    """The rows of min, or with the roles of min and max and of the order exchanged, of max."""
    m, o = name, other
    pick_left = f"c1 {less} c2"
    return (
        Row(f"{m}-offsets", f"{m}(x + c1, x + c2)", f"x + {m}(c1, c2)"),
        Row(f"{m}-offset-left", f"{m}(x + c1, x)", f"x + {m}(c1, 0)"),
        Row(f"{m}-offset-right", f"{m}(x, x + c1)", f"x + {m}(0, c1)"),
        Row(f"{m}-offsets-minus", f"{m}(c1 - x, c2 - x)", f"{m}(c1, c2) - x"),
        *_extremum_of_multiples(m),
        Row(f"{m}-{o}-left", f"{m}({o}(x, y), {m}(x, y))", f"{m}(x, y)"),
        Row(f"{m}-{o}-swapped", f"{m}({o}(x, y), {m}(y, x))", f"{m}(x, y)"),
        Row(f"{m}-{o}-right", f"{m}({m}(x, y), {o}(x, y))", f"{m}(x, y)"),
        Row(f"{m}-{o}-right-swapped", f"{m}({m}(x, y), {o}(y, x))", f"{m}(x, y)"),
        Row(f"{m}-absorbs-{o}-first", f"{m}({o}(x, y), x)", "x"),
        Row(f"{m}-absorbs-{o}-last", f"{m}({o}(y, x), x)", "x"),
        Row(f"{m}-absorbed-by-{o}-first", f"{m}(x, {o}(x, y))", "x"),
        Row(f"{m}-absorbed-by-{o}-last", f"{m}(x, {o}(y, x))", "x"),
        Row(f"{m}-again-first", f"{m}({m}(x, y), x)", f"{m}(x, y)"),
        Row(f"{m}-again-last", f"{m}({m}(x, y), y)", f"{m}(x, y)"),
        Row(f"{m}-of-again-first", f"{m}(x, {m}(x, y))", f"{m}(x, y)"),
        Row(f"{m}-of-again-last", f"{m}(y, {m}(x, y))", f"{m}(x, y)"),
        Row(f"{m}-nested-first", f"{m}({m}({m}(x, y), z), y)", f"{m}({m}(x, y), z)"),
        Row(f"{m}-common-{o}", f"{m}({o}(x, y), {o}(x, z))", f"{o}({m}(y, z), x)"),
        Row(f"{m}-common-{o}-last", f"{m}({o}(x, y), {o}(z, x))", f"{o}({m}(y, z), x)"),
        Row(f"{m}-common-{o}-first", f"{m}({o}(y, x), {o}(x, z))", f"{o}({m}(y, z), x)"),
        Row(f"{m}-common-{o}-both", f"{m}({o}(y, x), {o}(z, x))", f"{o}({m}(y, z), x)"),
        Row(f"{m}-common-{m}", f"{m}({m}(x, y), {m}(x, z))", f"{m}({m}(y, z), x)"),
        Row(f"{m}-common-{m}-last", f"{m}({m}(x, y), {m}(z, x))", f"{m}({m}(y, z), x)"),
        Row(f"{m}-common-{m}-first", f"{m}({m}(y, x), {m}(x, z))", f"{m}({m}(y, z), x)"),
        Row(f"{m}-common-{m}-both", f"{m}({m}(y, x), {m}(z, x))", f"{m}({m}(y, z), x)"),
        Row(f"{m}-sum-first", f"{m}(x + y, x + z)", f"x + {m}(y, z)"),
        Row(f"{m}-sum-crossed", f"{m}(x + y, z + x)", f"x + {m}(y, z)"),
        Row(f"{m}-sum-swapped", f"{m}(y + x, x + z)", f"x + {m}(y, z)"),
        Row(f"{m}-sum-last", f"{m}(y + x, z + x)", f"x + {m}(y, z)"),
        Row(f"{m}-difference-first", f"{m}(x - y, x - z)", f"x - {o}(y, z)"),
        Row(f"{m}-difference-last", f"{m}(y - x, z - x)", f"{m}(y, z) - x"),
        Row(f"{m}-const-const", f"{m}({m}(x, c1), c2)", f"{m}(x, {m}(c1, c2))"),
        Row(f"{m}-const-last", f"{m}({m}(x, c1), y)", f"{m}({m}(x, y), c1)", "", True),
        Row(f"{m}-{o}-const", f"{m}({o}(x, c1), c2)", "c2", f"not ({pick_left}) or c1 == c2"),
        Row(f"{m}-scaled", f"{m}(x // c1, y // c1)", f"{m}(x, y) // c1", "c1 > 0"),
        Row(f"{m}-scaled-negative", f"{m}(x // c1, y // c1)", f"{o}(x, y) // c1", "c1 < 0"),
        Row(f"{m}-products", f"{m}(x * c1, y * c1)", f"{m}(x, y) * c1", "c1 > 0"),
        Row(f"{m}-products-negative", f"{m}(x * c1, y * c1)", f"{o}(x, y) * c1", "c1 < 0"),
        Row(
            f"{m}-product-const",
            f"{m}(x * c1, c2)",
            f"{m}(x, c2 // c1) * c1",
            "c1 > 0 and c2 % c1 == 0",
        ),
        Row(
            f"{m}-product-const-negative",
            f"{m}(x * c1, c2)",
            f"{o}(x, c2 // c1) * c1",
            "c1 < 0 and c2 % c1 == 0",
        ),
        Row(f"{m}-const-minus", f"{m}(c1 - x, c2)", f"c1 - {o}(x, c1 - c2)", "c2 != 0"),
        Row(
            f"{m}-select",
            f"{m}(select(b, x, y), select(b, z, w))",
            f"select(b, {m}(x, z), {m}(y, w))",
        ),
    )


_EQ = (
    Row("eq-sub-const", "x - c1 == c2", "x == c2 + c1", "", True),
    Row("eq-const-sub", "c1 - x == c2", "x == c1 - c2", "", True),
    Row("eq-add-const", "x + c1 == c2", "x == c2 - c1", "", True),
    Row("eq-product-zero", "x * y == 0", "x == 0 or y == 0", "", True),
    Row("eq-const-first", "c1 == x", "x == c1"),
)

_LT = (
    Row("lt-sum-first", "x + y < x + z", "y < z", "", True),
    Row("lt-sum-crossed", "x + y < z + x", "y < z", "", True),
    Row("lt-sum-swapped", "y + x < x + z", "y < z", "", True),
    Row("lt-sum-last", "y + x < z + x", "y < z", "", True),
    Row("lt-difference-last", "y - x < z - x", "y < z", "", True),
    Row("lt-difference-first", "x - y < x - z", "z < y", "", True),
    Row("lt-sum-less", "x < x + z", "0 < z", "", True),
    Row("lt-sum-less-last", "x < z + x", "0 < z", "", True),
    Row("lt-difference-less", "x < x - z", "z < 0", "", True),
    Row("lt-const-sum", "c1 < x + c2", "c1 - c2 < x", "", True),
    Row("lt-const-const-minus", "c1 < c2 - x", "x < c2 - c1", "", True),
    Row("lt-const-sub", "c1 < x - c2", "c1 + c2 < x", "", True),
    Row("lt-products", "x * c1 < y * c1", "x < y", "c1 > 0", True),
    Row("lt-products-negative", "x * c1 < y * c1", "y < x", "c1 < 0", True),
    Row("lt-min", "min(x, y) < z", "x < z or y < z", "", True),
    Row("lt-max", "max(x, y) < z", "x < z and y < z", "", True),
    Row("lt-than-min", "z < min(x, y)", "z < x and z < y", "", True),
    Row("lt-than-max", "z < max(x, y)", "z < x or z < y", "", True),
    Row(
        "lt-common-factor",
        "x * c1 < y * c2",
        "x * (c1 // c3) < y * (c2 // c3)",
        "(c3 := gcd(c1, c2)) > 1",
        True,
    ),
    Row(
        "lt-common-factor-offset",
        "x * c1 + c2 < y * c3",
        "x * (c1 // c4) + c2 // c4 < y * (c3 // c4)",
        "(c4 := gcd(c1, c2, c3)) > 1",
        True,
    ),
    Row(
        "lt-than-common-factor-offset",
        "x * c1 < y * c2 + c3",
        "x * (c1 // c4) < y * (c2 // c4) + c3 // c4",
        "(c4 := gcd(c1, c2, c3)) > 1",
        True,
    ),
    Row(
        "lt-common-factor-const",
        "x * c1 + y * c2 < c3",
        "x * (c1 // c4) + y * (c2 // c4) < c3 // c4",
        "(c4 := gcd(c1, c2, c3)) > 1",
        True,
    ),
    Row(
        "lt-const-common-factor",
        "c3 < x * c1 + y * c2",
        "c3 // c4 < x * (c1 // c4) + y * (c2 // c4)",
        "(c4 := gcd(c1, c2, c3)) > 1",
        True,
    ),
    Row("lt-product-const", "x * c1 < c2", "x < (c2 - 1) // c1 + 1", "c1 > 0", True),
    Row("lt-product-const-negative", "x * c1 < c2", "c2 // c1 < x", "c1 < 0", True),
    Row("lt-const-product", "c1 < x * c2", "c1 // c2 < x", "c2 > 0", True),
    Row("lt-const-product-negative", "c1 < x * c2", "x < -(-c1 // c2)", "c2 < 0", True),
    Row("lt-quotient-const", "x // c1 < c2", "x < c1 * c2", "c1 > 0"),
    Row("lt-const-quotient", "c1 < x // c2", "(c1 + 1) * c2 - 1 < x", "c2 > 0"),
    Row("lt-quotient-self", "x // c1 * c1 < x", "0 < x % c1", "c1 > 0", True),
    Row("lt-quotient-sum", "x // c1 * c1 < x + y", "0 < x % c1 + y", "c1 > 0", True),
    Row("lt-quotient-difference", "x // c1 * c1 < x - y", "y < x % c1", "c1 > 0", True),
    Row("lt-quotient-offset", "(x + c2) // c1 * c1 < x", "c2 < (x + c2) % c1", "c1 > 0", True),
    Row(
        "lt-quotient-above",
        "(x + c2) // c1 * c1 + c3 < x",
        "False",
        "c1 > 0 and c2 + c3 >= c1 - 1",
    ),
    Row("lt-quotient-self-above", "x // c1 * c1 + c3 < x", "False", "c1 > 0 and c3 >= c1 - 1"),
    Row("lt-quotient-below", "(x + c2) // c1 * c1 < x + c3", "True", "c1 > 0 and c3 > c2"),
    Row(
        "lt-quotient-offset-sum",
        "(x + c2) // c1 * c1 < x + y",
        "c2 < (x + c2) % c1 + y",
        "c1 > 0",
        True,
    ),
    Row(
        "lt-quotient-offset-difference",
        "(x + c2) // c1 * c1 < x - y",
        "y + c2 < (x + c2) % c1",
        "c1 > 0",
        True,
    ),
    Row("lt-sum-quotient", "x + c3 < (x + c2) // c1 * c1", "False", "c1 > 0 and c3 >= c2"),
    Row("lt-than-difference-const", "x < y - c1", "x + c1 < y", "", True),
    Row("lt-difference-const", "x - c1 < y", "x < y + c1", "", True),
    Row("lt-sum-const", "x + c1 < c2", "x < c2 - c1", "", True),
    Row("lt-const-minus-const", "c1 - x < c2", "c1 - c2 < x", "", True),
    Row("lt-const-minus", "c1 - x < y", "c1 < y + x", "", True),
    Row("lt-than-const-minus", "y < c1 - x", "y + x < c1", "", True),
    Row("lt-offsets", "x + c1 < y + c2", "x < y + (c2 - c1)", "c2 >= c1", True),
    Row("lt-offsets-down", "x + c1 < y + c2", "x + (c1 - c2) < y", "c2 < c1", True),
    Row("lt-negative-offset", "x + c1 < y", "x < y + -c1", "c1 < 0", True),
    Row("lt-than-negative-offset", "x < y + c1", "x + -c1 < y", "c1 < 0", True),
    # Where the left side has a constant, the rows above join it with this one first.
    Row("lt-plus-one", "x < y + 1", "x <= y", "", True, newer=True),
)

_NOT = (
    Row("not-not", "not (not b)", "b"),
    Row("not-lt", "not (x < y)", "y <= x"),
    Row("not-le", "not (x <= y)", "y < x"),
    Row("not-eq", "not (x == y)", "x != y"),
    Row("not-ne", "not (x != y)", "x == y"),
    Row("not-or", "not (b1 or b2)", "(not b1) and (not b2)", "", True),
    Row("not-and", "not (b1 and b2)", "(not b1) or (not b2)", "", True),
)

_AND = (
    Row("and-left", "b1 and (b2 and b3)", "(b1 and b2) and b3", "", True),
    Row("and-contradiction", "b and (not b)", "False"),
    Row("and-contradiction-first", "(not b) and b", "False"),
    Row("and-eq-ne", "x == y and x != y", "False"),
    Row("and-ne-eq", "x != y and x == y", "False"),
    Row("and-le-lt", "x <= y and y < x", "False"),
    Row("and-lt-le", "y < x and x <= y", "False"),
    Row("and-empty", "x < c1 and c2 < x", "False", "c2 + 1 >= c1"),
    Row("and-empty-first", "c2 < x and x < c1", "False", "c2 + 1 >= c1"),
    Row("and-empty-le", "x < c1 and c2 <= x", "False", "c2 >= c1"),
    Row("and-empty-le-first", "c2 <= x and x < c1", "False", "c2 >= c1"),
    Row("and-le-empty", "x <= c1 and c2 < x", "False", "c2 >= c1"),
    Row("and-le-empty-first", "c2 < x and x <= c1", "False", "c2 >= c1"),
    Row("and-le-empty-le", "x <= c1 and c2 <= x", "False", "c2 > c1"),
    Row("and-le-empty-le-first", "c2 <= x and x <= c1", "False", "c2 > c1"),
    Row("and-eq-other", "x == c1 and x != c2", "x == c1", "c1 != c2"),
    Row("and-other-eq", "x != c2 and x == c1", "x == c1", "c1 != c2"),
)

_OR = (
    Row("or-left", "b1 or (b2 or b3)", "(b1 or b2) or b3", "", True),
    Row("or-tautology", "b or (not b)", "True"),
    Row("or-tautology-first", "(not b) or b", "True"),
    Row("or-eq-ne", "x == y or x != y", "True"),
    Row("or-ne-eq", "x != y or x == y", "True"),
    Row("or-le-lt", "x <= y or y < x", "True"),
    Row("or-lt-le", "y < x or x <= y", "True"),
    Row("or-full", "x < c1 or c2 < x", "True", "c2 < c1"),
    Row("or-full-first", "c2 < x or x < c1", "True", "c2 < c1"),
    Row("or-full-le", "x <= c1 or c2 < x", "True", "c2 <= c1"),
    Row("or-full-le-first", "c2 < x or x <= c1", "True", "c2 <= c1"),
    Row("or-le-full", "x < c1 or c2 <= x", "True", "c2 <= c1"),
    Row("or-le-full-first", "c2 <= x or x < c1", "True", "c2 <= c1"),
    Row("or-le-full-le", "x <= c1 or c2 <= x", "True", "c2 <= c1 + 1"),
    Row("or-le-full-le-first", "c2 <= x or x <= c1", "True", "c2 <= c1 + 1"),
    Row("or-ne-eq-const", "x != c1 or x == c2", "x != c1", "c1 != c2"),
    Row("or-eq-ne-const", "x == c2 or x != c1", "x != c1", "c1 != c2"),
)

# A guarded value of a guarded value, when both guards give the same constant otherwise.
_CHOICE = (
    Row(
        "ite-nested",
        "ite(b1, ite(b2, x, y), y)",
        "ite(b1 and b2, x, y)",
        "constant(y)",
        True,
        newer=True,
    ),
)

INDEX: dict[type, RuleTable] = {
    Add: RuleTable(_ADD),
    Sub: RuleTable(_SUB),
    Mul: RuleTable(_MUL),
    Div: RuleTable(_TRUNCDIV),
    Mod: RuleTable(_TRUNCMOD),
    FloorDiv: RuleTable(_FLOORDIV),
    FloorMod: RuleTable(_FLOORMOD),
    Min: RuleTable(_extremum("min", "max", "<")),
    Max: RuleTable(_extremum("max", "min", ">")),
    EQ: RuleTable(_EQ),
    LT: RuleTable(_LT),
}

LOGIC: dict[type, RuleTable] = {
    Not: RuleTable(_NOT),
    And: RuleTable(_AND),
    Or: RuleTable(_OR),
    Call: RuleTable(_CHOICE),
}


def _lanewise(name: str, operator: str) -> Row:
    """Broadcast operands: compute once, broadcast the result."""
    return Row(
        name,
        operator.format("broadcast(x, n)", "broadcast(y, n)"),
        f"broadcast({operator.format('x', 'y')}, n)",
        "",
        True,
    )


VECTOR: dict[type, RuleTable] = {
    Add: RuleTable(
        (
            Row("add-ramps", "ramp(x, y, n) + ramp(z, w, n)", "ramp(x + z, y + w, n)", "", True),
            Row(
                "add-ramp-broadcast",
                "ramp(x, y, n) + broadcast(z, n)",
                "ramp(x + z, y, n)",
                "",
                True,
            ),
            Row(
                "add-broadcast-ramp",
                "broadcast(z, n) + ramp(x, y, n)",
                "ramp(z + x, y, n)",
                "",
                True,
            ),
            _lanewise("add-broadcasts", "{} + {}"),
        )
    ),
    Sub: RuleTable(
        (
            Row("sub-ramps", "ramp(x, y, n) - ramp(z, w, n)", "ramp(x - z, y - w, n)", "", True),
            Row(
                "sub-ramp-broadcast",
                "ramp(x, y, n) - broadcast(z, n)",
                "ramp(x - z, y, n)",
                "",
                True,
            ),
            Row(
                "sub-broadcast-ramp",
                "broadcast(z, n) - ramp(x, y, n)",
                "ramp(z - x, 0 - y, n)",
                "",
                True,
            ),
            _lanewise("sub-broadcasts", "{} - {}"),
        )
    ),
    Mul: RuleTable(
        (
            _lanewise("mul-broadcasts", "{} * {}"),
            Row(
                "mul-ramp-broadcast",
                "ramp(x, y, n) * broadcast(z, n)",
                "ramp(x * z, y * z, n)",
                "",
                True,
            ),
            Row(
                "mul-broadcast-ramp",
                "broadcast(z, n) * ramp(x, y, n)",
                "ramp(x * z, y * z, n)",
                "",
                True,
            ),
        )
    ),
    FloorDiv: RuleTable(
        (
            _lanewise("div-broadcasts", "{} // {}"),
            Row(
                "div-ramp-multiple",
                "ramp(x, c1, n) // broadcast(c2, n)",
                "ramp(x // c2, c1 // c2, n)",
                "c2 > 0 and c1 % c2 == 0",
                True,
            ),
            Row(
                "div-ramp-in-one-bin",
                "ramp(x, c1, n) // broadcast(c2, n)",
                "broadcast(x // c2, n)",
                "in_one_bin(x, c1, n, c2)",
                True,
            ),
        )
    ),
    FloorMod: RuleTable(
        (
            _lanewise("mod-broadcasts", "{} % {}"),
            Row(
                "mod-ramp-multiple",
                "ramp(x, c1, n) % broadcast(c2, n)",
                "broadcast(x % c2, n)",
                "c2 > 0 and c1 % c2 == 0",
                True,
            ),
            Row(
                "mod-ramp-in-one-bin",
                "ramp(x, c1, n) % broadcast(c2, n)",
                "ramp(x % c2, c1, n)",
                "in_one_bin(x, c1, n, c2)",
                True,
            ),
        )
    ),
    Div: RuleTable((_lanewise("truncdiv-broadcasts", "truncdiv({}, {})"),)),
    Mod: RuleTable((_lanewise("truncmod-broadcasts", "truncmod({}, {})"),)),
    Min: RuleTable((_lanewise("min-broadcasts", "min({}, {})"),)),
    Max: RuleTable((_lanewise("max-broadcasts", "max({}, {})"),)),
    EQ: RuleTable((_lanewise("eq-broadcasts", "{} == {}"),)),
    LT: RuleTable((_lanewise("lt-broadcasts", "{} < {}"),)),
    And: RuleTable((_lanewise("and-broadcasts", "{} and {}"),)),
    Or: RuleTable((_lanewise("or-broadcasts", "{} or {}"),)),
    Not: RuleTable((Row("not-broadcast", "not broadcast(x, n)", "broadcast(not x, n)", "", True),)),
}
