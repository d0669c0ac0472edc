"""Calls of torch without tensors are constants."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphError
from tests.relax.frontend.torch.torch_models import check, imported

torch = pytest.importorskip("torch")

X = torch.rand(8)


def test_windows() -> None:
    check(lambda x: (x * torch.hamming_window(8), x * torch.bartlett_window(8), x + 1), X)
    check(lambda x: (x * torch.hann_window(8), x * torch.blackman_window(8)), X)


def test_indices_of_triangles() -> None:
    check(lambda x: (x[torch.tril_indices(3, 4)], torch.triu_indices(2, 3) + x.shape[0]), X)


def test_random_numbers_are_refused() -> None:
    with pytest.raises(GraphError, match="not supported: aten"):
        imported(lambda x: x + torch.rand(8), (X,))
