"""Solving index equations for axes."""

from __future__ import annotations

import itertools

import pytest

from te_sched import te, tir
from te_sched.arith.solve import solve
from te_sched.ir import ops
from te_sched.ir.expr import IntImm, Var
from tests.arith.brute import show, value

i, j, k, s, t = (Var(name) for name in "ijkst")
RANGES = {"i": (0, 5), "j": (0, 6), "k": (1, 4), "s": (0, 8), "t": (0, 9)}
Range = tir.Range


def domain(var):
    low, end = RANGES[var.name]
    return Range(low, end)


def iterations(axes, domains, known):
    """The values of axes, and with them those of all variables."""
    ranges = []
    for one in domains:
        begin = value(one.min, known)
        ranges.append(range(begin, begin + value(one.extent, known)))
    for iteration in itertools.product(*ranges):
        yield iteration, known | dict(zip(axes, iteration, strict=True))


SYSTEMS = [
    ([(i, t)], [i]),
    ([(4 - i, t)], [i]),
    ([(i + k, t)], [i, k]),
    ([(i * 2 + k, t)], [i, k]),
    ([(i * 4 + k, t)], [i, k]),
    ([(i * -3 - k + 12, t)], [i, k]),
    ([(i + j + k, t), (i, s)], [i, j, k]),
    ([(i, t), (i, s)], [i]),
    ([(j // 3, t), (j % 3, s)], [j]),
    ([(i * 6 + j) // 4, (i * 6 + j) % 4], [i, j]),
    ([(j % 4, t)], [i, j]),
    ([(j // 2 * 2, t)], [j]),
    ([(j // 2 % 2, t), (i + j % 2, s)], [i, j]),
    ([((i + j) // 3, t)], [i, j]),
    ([((i + j) % 3 + k, t)], [i, j, k]),
    ([(te.min(i + j, 4), t)], [i, j]),
    ([(i * j, t)], [i, j]),
    ([(tir.Div(j, 2), t)], [j]),
    ([(IntImm(3), t)], [i]),
]


@pytest.mark.parametrize(("equations", "axes"), SYSTEMS, ids=str)
def test_solutions_are_all_solutions(equations, axes):
    """The free axes with the values are exactly the iterations that fulfill the equations."""
    if not isinstance(equations[0], tuple):
        equations = list(zip(equations, (t, s), strict=True))
    found = solve(equations, {var: domain(var) for var in axes}, {t: domain(t), s: domain(s)})
    assert {*found.values, *found.free} >= {*axes}
    for point in itertools.product(range(*RANGES["s"]), range(*RANGES["t"])):
        known = dict(zip((s, t), point, strict=True))
        expected = [
            iteration
            for iteration, at in iterations(axes, [domain(var) for var in axes], known)
            if all(value(a, at) == value(b, at) for a, b in equations)
        ]
        solved = [
            tuple([at[var] if var in at else value(found.values[var], at) for var in axes])
            for _, at in iterations(found.free, found.free.values(), known)
            if all(value(one, at) for one in (*found.conditions, *found.unsolved))
        ]
        assert sorted(solved) == expected


@pytest.mark.parametrize(
    ("equations", "axes", "expected"),
    [
        ([(i * 2 + k, t)], {i: Range(0, 8), k: Range(0, 2)}, {i: "(t // 2)", k: "(t % 2)"}),
        ([(i + k, t)], {i: Range(0, 8), k: Range(0, 3)}, {i: "(t - k)"}),
        ([(i + k, t)], {i: Range(0, 3), k: Range(0, 8)}, {k: "(t - i)"}),
        ([(j // 5, s), (j % 5, t)], {j: Range(0, 40)}, {j: "((s * 5) + t)"}),
    ],
    ids=str,
)
def test_longest_axes_are_solved(equations, axes, expected):
    found = solve(equations, axes, {s: Range(0, 8), t: Range(0, 5)})
    assert {var: show(one) for var, one in found.values.items()} == expected
    assert [*found.free] == [var for var in axes if var not in expected]


def test_conditions_are_proved_where_they_hold():
    found = solve([(i + 1, t)], {i: Range(0, 8)}, {t: Range(1, 9)})
    assert found.conditions == ()
    outside = solve([(i, t)], {i: Range(0, 8)}, {t: Range(8, 12)})
    assert ops.is_const(outside.conditions[0], 0)


def test_symbolic_extents():
    n = te.size_var("n")
    found = solve([(i, t), (n - 1 - j, s)], {i: Range(0, n), j: Range(0, n)}, {t: Range(0, n)})
    assert show(found.values[i]) == "t"
    assert not found.free


def test_conditions_that_read_data_come_last():
    data = te.placeholder((8,), "int32", name="data")
    axes = {i: Range(0, 8), k: Range(0, 3), j: Range(0, 4)}
    found = solve([(data(i) + j, s), (i + k, t)], axes, {t: Range(0, 9)})
    assert [str(one) for one in found.conditions] == [
        "0 <= t - k",
        "t - k < 8",
        "0 <= s - data[t - k]",
        "s - data[t - k] < 4",
    ]
    assert found.unsolved == ()


def test_an_equation_without_a_linear_axis_is_unsolved():
    data = te.placeholder((8,), "int32", name="data")
    found = solve([(data(i), t)], {i: Range(0, 8)}, {t: Range(0, 9)})
    assert [*found.free] == [i]
    assert [str(one) for one in found.unsolved] == ["data[i] == t"]
