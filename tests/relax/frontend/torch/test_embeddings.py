"""Rows of tables of torch, and bags of them."""

from __future__ import annotations

import pytest

from tests.relax.frontend.torch.torch_models import BOTH, check

torch = pytest.importorskip("torch")

F = torch.nn.functional
TABLE = torch.randn(10, 3)
INDICES, OFFSETS = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4, 4, 8])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode: str) -> None:
    def function(i: torch.Tensor, o: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            F.embedding_bag(i, w, o, mode=mode),
            F.embedding_bag(i, w, o, mode=mode, include_last_offset=True),
            F.embedding_bag(i, w, o, mode=mode, padding_idx=4),
            F.embedding_bag(i.reshape(2, 4), w, mode=mode),
        )

    check(function, INDICES, OFFSETS, TABLE)


def test_bags_with_factors() -> None:
    check(
        lambda i, o, w, f: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=f),
        *(INDICES, OFFSETS, TABLE, torch.rand(8)),
    )


def test_the_layer() -> None:
    layer = torch.nn.EmbeddingBag(10, 3, mode="mean").eval()
    check(lambda i, o: layer(i, o).detach(), INDICES, OFFSETS)


def test_rows() -> None:
    check(lambda i, w: F.embedding(i.reshape(2, 2, 2), w), INDICES, TABLE, importers=BOTH)
