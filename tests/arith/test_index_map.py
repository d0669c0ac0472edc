"""Application and inversion of index maps, against all values of the indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from te_sched import tir
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.index_map import (
    inverse,
    is_equivalent,
    map_indices,
    map_shape,
    non_surjective_inverse,
)
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Range, Var
from te_sched.ir.index_map import IndexMap
from te_sched.ir.visitor import substitute

N = Var("n")


def made(function: Callable[..., Any]) -> IndexMap:
    result: IndexMap = tir.IndexMap.from_func(function, index_dtype="int32")
    return result


def domains(*sizes: int | Expr) -> list[Range]:
    return [Range(IntImm(0), ops.convert(size)) for size in sizes]


def number(e: Expr) -> int:
    simple = Analyzer().simplify(e)
    assert isinstance(simple, IntImm), simple
    return simple.value


def check_padded(index_map: IndexMap, sizes: tuple[int, ...]) -> None:
    """The inverse returns each index, and the condition holds exactly for the other new ones."""
    shape = [number(one) for one in map_shape(index_map, [IntImm(size) for size in sizes])]
    back, padding = non_surjective_inverse(index_map, domains(*sizes))
    reached = set()
    for old in itertools.product(*map(range, sizes)):
        new = tuple(map(number, map_indices(index_map, [IntImm(one) for one in old])))
        assert tuple(map(number, map_indices(back, [IntImm(one) for one in new]))) == old
        reached.add(new)
    for new in itertools.product(*map(range, shape)):
        values: dict[Var, Expr] = dict(zip(back.initial_indices, map(IntImm, new), strict=True))
        assert number(substitute(padding, values)) == (new not in reached), new


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda i: [i // 4, i % 4], (8,)),
        (lambda i: [i // 4, i % 4], (7,)),
        (lambda i: [i // 4, i % 4], (3,)),
        (lambda i: [(i + 1) // 4, (i + 1) % 4], (9,)),
        (lambda i: [i // 12, (i // 3) % 4, i % 3], (20,)),
        (lambda i: [(i + 5) // 12, (i + 5) % 3, ((i + 5) // 3) % 4], (11,)),
        (lambda i: [(i % 12) // 3, i % 3, i // 12], (25,)),
        (lambda i, j: [j // 2, i // 3, i % 3, j % 2], (4, 5)),
        (lambda i, j: [(i * 5 + j) // 4, (i * 5 + j) % 4], (3, 5)),
        (lambda i, j: [(i * 8 + j) // 4, (i * 8 + j) % 4], (3, 8)),
        (lambda i, j: [j, i], (1, 3)),
        (lambda i, j: [(i + j) // 2, (i + j) % 2], (1, 1)),
        (lambda i: [5 - i], (6,)),
        (lambda i: [i % 16], (14,)),
        (lambda i, j: [i % 4, j % 8], (4, 5)),
        (lambda i: [i // 8 % 4, i % 8], (25,)),
    ],
)
def test_inverse_with_padding(function: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    check_padded(made(function), sizes)


def test_inverse_of_ranges_that_begin_later() -> None:
    rows = made(lambda i: [i // 4, i % 4])
    back, padding = non_surjective_inverse(rows, [Range(IntImm(5), IntImm(7))])
    a, b = back.initial_indices
    assert str(back) == "T.index_map(lambda axis0, axis1: (axis0 * 4 + axis1,))"
    held = [
        (x, y)
        for x in (1, 2)
        for y in range(4)
        if number(substitute(padding, {a: IntImm(x), b: IntImm(y)}))
    ]
    assert held == [(1, 0)]


def test_inverse_of_one_to_one_maps() -> None:
    assert str(inverse(made(lambda i, j: [j, i // 2, i % 2]), domains(4, 3))) == (
        "T.index_map(lambda axis0, axis1, axis2: (axis1 * 2 + axis2, axis0))"
    )
    assert str(inverse(made(lambda i, j: [i * N + j]), domains(N, N))) == (
        "T.index_map(lambda axis0: (axis0 // n, axis0 % n))"
    )


def test_inverse_keeps_indices_of_one_value() -> None:
    assert str(inverse(made(lambda i, j: [j, i]), domains(1, 8))) == (
        "T.index_map(lambda axis0, axis1: (axis1, axis0))"
    )


def test_inverse_of_divisions_of_two_sums() -> None:
    i4 = made(lambda i: [i // 4, (i + 4) % 4])
    assert is_equivalent(inverse(i4, domains(8)), made(lambda a, b: [a * 4 + b]))


def test_inverse_that_is_stated_is_returned() -> None:
    stated = made(lambda a: [a + 1])
    chosen = tir.IndexMap.from_func(lambda i: [i - 1], None, stated)
    assert inverse(chosen, domains(4)) is stated
    assert non_surjective_inverse(chosen, domains(4))[0] is stated


def test_symbolic_padding() -> None:
    rows = made(lambda i: [i // 4, i % 4])
    assert list(map(str, map_shape(rows, [N]))) == ["(n - n % -4) // 4", "4"]
    assert str(non_surjective_inverse(rows, domains(N))[1]).count("axis") == 2


@pytest.mark.parametrize(
    ("function", "sizes", "fault"),
    [
        (lambda i: [i // 4, i % 4], (7,), "has no inverse"),
        (lambda i: [i // 4, i % 4], (2,), "has no inverse: it adds padding"),
        (lambda i, j: [i + j], (3, 3), "has no inverse"),
        (lambda i: [i % 16], (20,), "has no inverse"),
        (lambda i: [i * 2], (3,), "has no inverse.*\n.*\n.*skips values"),
        (lambda i, j: [i], (3, 3), "has no inverse"),
        (lambda i, j: [i, j], (3,), "takes 2 indices, got 1"),
    ],
)
def test_inverse_rejects(function: Callable[..., Any], sizes: tuple[int, ...], fault: str) -> None:
    with pytest.raises(DeclarationError, match=fault):
        inverse(made(function), domains(*sizes))


def test_padding_rejects_divisions_of_two_sums() -> None:
    with pytest.raises(DeclarationError, match="cannot be padded together"):
        non_surjective_inverse(made(lambda i: [i // 4, (i + 1) % 4]), domains(6))


def test_shape_of_indices_that_are_no_parts() -> None:
    assert list(map(str, map_shape(made(lambda i, j: [i + j]), [IntImm(3), IntImm(4)]))) == ["6"]


def test_shape_has_the_type_of_the_old_one() -> None:
    (size, _) = map_shape(made(lambda i: [i // 4, i % 4]), [IntImm(14, "int64")])
    assert str(size) == "T.int64(4)"


def test_shape_rejects_unknown_and_late_indices() -> None:
    A = tir.decl_buffer((4,), "int32")
    with pytest.raises(DeclarationError, match="begins at 2, expected 0"):
        map_shape(made(lambda i: [i + 2]), [IntImm(4)])
    with pytest.raises(DeclarationError, match=r"bounds of new index .* are unknown"):
        map_shape(made(lambda i: [tir.BufferLoad(A, [i])]), [IntImm(4)])


def test_indices_of_other_types_are_promoted() -> None:
    assert list(map(str, map_indices(made(lambda i: [i // 4]), [IntImm(42, "int64")]))) == [
        "T.int64(10)"
    ]


def test_equivalence() -> None:
    assert is_equivalent(made(lambda i: [i + i]), made(lambda k: [k * 2]))
    assert not is_equivalent(made(lambda i: [i]), made(lambda i, j: [i]))
    assert not is_equivalent(made(lambda i: [i]), made(lambda i: [i, i]))
    assert not is_equivalent(made(lambda i: [i]), made(lambda i: [i + 1]))
