"""The Analyzer and interval sets against live TVM."""

from __future__ import annotations

import random
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

import te_sched  # noqa: E402
from te_sched.arith import int_set, iter_map  # noqa: E402
from te_sched.arith.analyzer import Analyzer  # noqa: E402
from te_sched.compat import arith  # noqa: E402
from te_sched.ir import expr as E  # noqa: E402
from te_sched.ir.term_keys import same  # noqa: E402
from tests.peer.bridge import Bridge  # noqa: E402
from tests.sampling import sampled  # noqa: E402


def random_index(variables: list[Any], rng: random.Random, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.15:
        leaf = rng.choice((*variables, None))
        return tvm.tir.const(rng.choice((0, 1, 2, 3, 8, -1)), "int32") if leaf is None else leaf
    a = random_index(variables, rng, depth - 1)
    constant = tvm.tir.const(rng.choice((2, 3, 4, 8, 16)), "int32")
    if rng.random() < 0.5:
        return rng.choice((tvm.tir.Mul, tvm.tir.FloorDiv, tvm.tir.FloorMod))(a, constant)
    b = random_index(variables, rng, depth - 1)
    return rng.choice((tvm.tir.Add, tvm.tir.Add, tvm.tir.Sub))(a, b)


@pytest.mark.parametrize("seed", sampled(range(60), 15))
def test_random_index_is_tvms(seed: int) -> None:
    rng, bridge = random.Random(seed), Bridge()
    variables = [tvm.tir.Var(name, "int32") for name in "ijkx"]
    peer, ours = tvm.arith.Analyzer(), Analyzer()
    for var in variables[:3]:
        extent = rng.choice((2, 3, 4, 8, 16))
        peer.bind(var, tvm.ir.Range(0, extent))
        ours.bind(bridge.convert(var), E.Range(E.IntImm(0), E.IntImm(extent)))
    e = random_index(variables, rng, 3)
    assert same(ours.simplify(bridge.convert(e)), bridge.convert(peer.simplify(e)))


def random_sum(rng: random.Random, depth: int) -> Any:
    """A tree of operations on variables and constants, which may be equal."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(("x", "y", "z", rng.choice((-2, -1, 1, 2, 3, 4))))
    kind = rng.choice(("Add", "Sub", "Mul", "Min", "Max"))
    return kind, random_sum(rng, depth - 1), random_sum(rng, depth - 1)


@pytest.mark.parametrize("method", ["rewrite_simplify", "canonical_simplify", "simplify"])
def test_random_sums_are_tvms_after_each_step(method: str) -> None:
    """Nearly all: TVM follows some rules in circles, until it has done so often enough."""
    rng, differences, count = random.Random(0), [], 400

    def simplified(tree: Any, tir: Any, analyzer: Any) -> tuple[str, str]:
        variables = {name: tir.Var(name, "int32") for name in "xyz"}

        def made(tree: Any) -> Any:
            if isinstance(tree, tuple):
                return getattr(tir, tree[0])(made(tree[1]), made(tree[2]))
            return variables[tree] if isinstance(tree, str) else tir.IntImm("int32", tree)

        e = made(tree)
        return str(e).replace("T.", ""), str(getattr(analyzer, method)(e)).replace("T.", "")

    for _ in range(count):
        tree = random_sum(rng, 2)
        ours = simplified(tree, te_sched.tir, arith.Analyzer())
        theirs = simplified(tree, tvm.tir, tvm.arith.Analyzer())
        if ours != theirs:
            differences.append((ours, theirs))
    assert len(differences) <= count // 100, differences


@pytest.mark.parametrize("seed", sampled(range(60), 15))
def test_random_set_is_tvms(seed: int) -> None:
    rng, bridge = random.Random(seed), Bridge()
    variables = [tvm.tir.Var(name, "int32") for name in "ijn"]
    sets = {
        variables[0]: tvm.arith.IntervalSet(0, rng.choice((0, 3, 7))),
        variables[1]: tvm.arith.IntervalSet(variables[2], variables[2] + 3),
    }
    e = random_index(variables, rng, 3)
    expected = tvm.arith.Analyzer().int_set(e, sets)
    found = int_set.eval_set(
        bridge.convert(e),
        {
            bridge.convert(var): int_set.IntervalSet(
                bridge.convert(interval.min_value), bridge.convert(interval.max_value)
            )
            for var, interval in sets.items()
        },
    )
    ends = zip(found, (expected.min_value, expected.max_value), strict=True)
    for mine, theirs in ends:
        if str(theirs) in ("neg_inf", "pos_inf"):
            assert mine is None
        else:
            assert mine is not None
            assert same(mine, bridge.convert(theirs))


@pytest.mark.parametrize("seed", range(40))
def test_maps_of_iterators_that_tvm_proves_are_proved(seed: int) -> None:
    rng, bridge = random.Random(seed), Bridge()
    variables = [tvm.tir.Var(name, "int32") for name in "ijk"]
    extents = [rng.choice((4, 8, 12)) for _ in variables]
    unit, indices = 1, []
    total = tvm.tir.const(0, "int32")
    for var, extent in zip(reversed(variables), reversed(extents), strict=True):
        total = var * unit + total
        unit *= extent
    while unit > 1:
        extent = rng.choice([count for count in range(2, unit + 1) if unit % count == 0])
        unit //= extent
        indices.append(tvm.tir.FloorMod(tvm.tir.FloorDiv(total, unit), extent))
    iters = {var: tvm.ir.Range(0, extent) for var, extent in zip(variables, extents, strict=True)}
    ours = {bridge.convert(var): bridge.convert(domain) for var, domain in iters.items()}
    for predicate in (None, total < rng.randint(1, 30)):
        for level in iter_map.IterMapLevel:
            where = True if predicate is None else predicate
            theirs = tvm.arith.detect_iter_map(
                indices, iters, where, level.name.lower().replace("_", "")
            )
            found = iter_map.detect_iter_map(
                bridge.many(indices),
                ours,
                None if predicate is None else bridge.convert(predicate),
                level,
            )
            assert not found.errors or not len(theirs.indices)


@pytest.mark.parametrize("seed", range(60))
def test_sums_are_fused_in_the_order_of_tvm(seed: int) -> None:
    rng = random.Random(seed)
    extents = {name: rng.choice([1, 2, 3, 4, 8]) for name in "abcde"[: rng.randint(2, 5)]}
    scales = {name: rng.choice([1, 1, 2, 3, 4, 8, 8, 16, 64]) for name in extents}
    limit = rng.choice([None, 3, 20, 40])
    is_trivial = rng.random() < 0.5

    def texts(lib: Any, make_range: Any, simplify: Any, maps: Any) -> list[str]:
        variables = {name: lib.tir.Var(name, "int32") for name in extents}
        total = sum([variables[name] * scale for name, scale in scales.items()])
        ranges = {variables[name]: make_range(0, extent) for name, extent in extents.items()}
        given = True if limit is None else variables["b"] * 4 + variables["a"] < limit
        (fused,) = maps.iter_map_simplify(
            [simplify(total)], ranges, given, simplify_trivial_iterators=is_trivial
        )
        parts = maps.normalize_to_iter_sum(total, ranges).args
        return [str(fused), *[str(maps.normalize_iter_map_to_expr(one)) for one in parts]]

    theirs = texts(tvm, tvm.ir.Range, tvm.arith.Analyzer().simplify, tvm.arith)
    assert texts(te_sched, te_sched.Range, Analyzer().simplify, arith) == theirs
