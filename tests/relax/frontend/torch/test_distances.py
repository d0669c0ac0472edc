"""Distances of torch between rows."""

from __future__ import annotations

import pytest

from tests.relax.frontend.torch.torch_models import check

torch = pytest.importorskip("torch")

X, Y = torch.randn(2, 4, 3), torch.randn(2, 5, 3)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p: float) -> None:
    check(lambda x, y: torch.cdist(x, y, p), X, Y, rtol=1e-4)


def test_broadcast_batches() -> None:
    check(lambda x, y: torch.cdist(x[0], y), X, Y, rtol=1e-4)


def test_distances_of_fx() -> None:
    check(lambda x, y: torch.cdist(x, y), X, Y, importers=["fx"], rtol=1e-4)
