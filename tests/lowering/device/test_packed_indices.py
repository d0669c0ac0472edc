"""Indices that are digits of one number: different numbers never meet."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.evaluate import evaluate
from te_sched.ir.expr import IntImm, Range, Var
from te_sched.lowering.device.packed_indices import packed

X, Y, Z = Var("x"), Var("y"), Var("z")
EXTENTS = {X: 16, Y: 4, Z: 4}
FUSED = Y * 64 + X * 4 + Z


@pytest.mark.parametrize(
    ("index", "gap"),
    [
        (FUSED // 7 * 17 + FUSED % 7, 1),
        ((Y * 32 + X * 2 + Z // 2) // 9 * 40 + FUSED % 18, 1),
        ((Y * 8 + X // 4) // 5 * 40 + (Y * 12 + X) % 20, 1),
        (FUSED // 12 * 50 + FUSED % 12 // 3 * 9 + FUSED % 3, 1),
        (FUSED // 12 * 50 + FUSED // 3 % 4 * 9 + FUSED % 3 * 2, 2),
        (Y * 80 + X // 2 * 9 + X % 2 * 4, 4),
        (Y * 100 + X // 2 * 9 + X % 2 * 4 + Z % 2 * 300, 4),
    ],
)
def test_indices_are_apart_where_numbers_are(index: object, gap: int) -> None:
    analyzer = Analyzer()
    for var, extent in EXTENTS.items():
        analyzer.bind(var, Range(IntImm(0), IntImm(extent)))
    found = packed(index, analyzer)
    assert found is not None
    assert found.gap == gap
    places = np.indices(tuple(EXTENTS.values())).reshape(len(EXTENTS), -1)
    values = dict(zip(EXTENTS, places, strict=True))
    rest = evaluate(found.rest, values, {})
    pairs = np.stack([evaluate(found.number, values, {}), evaluate(index, values, {}) - rest])
    unique = np.unique(pairs, axis=1)
    assert len(np.unique(unique[0])) == unique.shape[1]
    assert np.diff(np.sort(unique[1])).min() >= gap


@pytest.mark.parametrize(
    "index",
    [
        FUSED // 7 * 6 + FUSED % 7,  # rows that overlap
        X // 7 * 17 + Y % 7,
        FUSED // 8 * 17 + FUSED % 7,
        FUSED // 7 * 17,
    ],
)
def test_other_indices_are_no_digits(index: object) -> None:
    assert packed(index, Analyzer()) is None


@pytest.mark.parametrize(
    ("index", "run"), [(FUSED // 7 * 17 + FUSED % 7, 7), (FUSED // 3 * 9 + FUSED % 3 * 2, 1)]
)
def test_neighboring_numbers_are_neighbors(index: object, run: int) -> None:
    analyzer = Analyzer()
    for var, extent in EXTENTS.items():
        analyzer.bind(var, Range(IntImm(0), IntImm(extent)))
    found = packed(index, analyzer)
    assert found is not None
    assert found.run == run
