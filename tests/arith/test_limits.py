"""Constants near the limits of their type: no simpler form has one that does not fit."""

from __future__ import annotations

from itertools import product

import pytest

from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.ops import const
from te_sched.ir.visitor import walk

MOST = (1 << 31) - 1
NUMBERS = (MOST, MOST - 3, -MOST, -MOST - 1, 1 << 20, -(1 << 20), 1, -1, 0)
LAST = 3
z = E.Var("z")
FORMS = {
    "z + c": lambda c: (ops.add(z, const(c)), lambda value: value + c),
    "z - c": lambda c: (ops.sub(z, const(c)), lambda value: value - c),
    "c - z": lambda c: (ops.sub(const(c), z), lambda value: c - value),
    "z * c": lambda c: (ops.mul(z, const(c)), lambda value: value * c),
}
COMPARISONS = {
    "<": (ops.less, lambda a, b: a < b),
    "<=": (ops.less_equal, lambda a, b: a <= b),
    "==": (ops.equal, lambda a, b: a == b),
    "min": (te.min, min),
    "max": (te.max, max),
    "-": (ops.sub, lambda a, b: a - b),
}


def fits(value: int) -> bool:
    return -MOST - 1 <= value <= MOST


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("how", COMPARISONS)
@pytest.mark.parametrize("form", FORMS)
def test_what_does_not_overflow_keeps_its_value(form: str, how: str, exact: bool) -> None:
    analyzer = Analyzer(exact=exact)
    analyzer.bind(z, E.Range(const(0), const(LAST + 1)))
    build, compute = COMPARISONS[how]
    for first, second in product(NUMBERS, repeat=2):
        term, value_of = FORMS[form](first)
        values = [compute(value_of(value), second) for value in range(LAST + 1)]
        if not all(fits(value_of(value)) for value in range(LAST + 1)):
            continue
        if not all(map(fits, values)):
            continue
        e = build(term, const(second))
        for simplify in (analyzer.simplify, analyzer.rewrite_simplify, analyzer.canonical_simplify):
            simple = simplify(e)
            assert all(fits(one.value) for one in walk(simple) if isinstance(one, E.IntImm))
            assert [evaluated(simple, value) for value in range(LAST + 1)] == values, (e, simple)


def evaluated(e: E.Expr, value: int) -> int:
    """The value of an expression of z, in integers without limits."""
    return int(eval(str(e).replace("T.", ""), {"z": value, **PYTHON}))


PYTHON = {"min": min, "max": max, "bool": bool, "Cast": lambda _, x: x}
