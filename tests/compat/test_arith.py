"""tvm.arith's maps of iterators: results with expressions for numbers, and TVM's options."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.compat import arith
from te_sched.errors import DeclarationError
from te_sched.ir.expr import IntImm
from te_sched.testing import assert_prim_expr_equal

x, y, z, n = (tir.Var(name) for name in "xyzn")
DOMAINS = {x: tir.Range(0, 3), y: tir.Range(0, 4), z: tir.Range(0, 1)}


def test_numbers_of_results_are_expressions() -> None:
    (found,) = arith.detect_iter_map([x * 4 + y + 7], DOMAINS).indices
    (part,) = found.args
    assert isinstance(found, arith.IterMapExpr)
    numbers = [part.lower_factor, part.extent, part.scale, found.base]
    assert all(isinstance(one, IntImm) for one in numbers)
    assert [one.value for one in numbers] == [1, 12, 1, 7]


def test_failed_detection_has_errors() -> None:
    found = arith.detect_iter_map([x, x], DOMAINS)
    assert not found.indices
    assert found.errors


@pytest.mark.parametrize(("level", "is_found"), [("bijective", False), ("surjective", True)])
def test_level_by_name(level: str, is_found: bool) -> None:
    assert bool(arith.detect_iter_map([x], DOMAINS, check_level=level).indices) is is_found
    assert bool(arith.iter_map_simplify([x], DOMAINS, check_level=level))


def test_unknown_level_is_refused() -> None:
    with pytest.raises(DeclarationError, match="check_level is 'onto', expected one of bijective"):
        arith.detect_iter_map([x], DOMAINS, check_level="onto")


def test_iterators_of_one_value_are_kept_on_request() -> None:
    kept = arith.detect_iter_map([z], DOMAINS, simplify_trivial_iterators=False)
    assert str(arith.normalize_iter_map_to_expr(kept.indices[0])) == "z"
    assert str(kept.indices[0].args[0].extent) == "1"
    assert not arith.detect_iter_map([z], DOMAINS).indices[0].args


def test_predicates_without_iterators_are_ignored() -> None:
    assert arith.detect_iter_map([x, y], DOMAINS, n < 4).indices
    (found,) = arith.detect_iter_map([x * 4 + y], DOMAINS, tir.all(n < 4, x * 4 + y < 10)).indices
    assert str(found.args[0].extent) == "10"


def test_inverse_of_two_parts_of_one_iterator() -> None:
    i, a, b = (tir.Var(name) for name in "iab")
    found = arith.detect_iter_map([i // 4, i % 4], {i: tir.Range(0, 12)}, True, "bijective")
    inverse = arith.inverse_affine_iter_map(found.indices, [a, b])
    assert_prim_expr_equal(inverse[i], a * 4 + b)
    with pytest.raises(AssertionError, match="are not equal"):
        assert_prim_expr_equal(inverse[i], a)


def test_division_of_a_space() -> None:
    pairs = arith.subspace_divide([x * 4 + y], DOMAINS, [y], x < 2)
    (outer, inner), predicates = pairs
    assert str(arith.normalize_iter_map_to_expr(outer.source)) == "x"
    assert str(arith.normalize_iter_map_to_expr(inner.source)) == "y"
    assert [str(one.extent) for one in predicates] == ["x < 2", "T.bool(True)"]
    assert arith.subspace_divide([x * 5 + y], DOMAINS, [y]) == []
