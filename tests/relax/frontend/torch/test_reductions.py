"""Sums, extrema and their places, and norms of torch."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.importer import Importer
from te_sched.relax.frontend.torch.reductions import axes_of
from tests.relax.frontend.torch.torch_models import BOTH, check, traced

torch = pytest.importorskip("torch")

X = torch.rand(2, 3, 4) - 0.3

CASES: dict[str, Any] = {
    "sums": lambda x: (x.sum(), x.sum((0, -1)), x.prod(1), (x > 0).sum(0), x.mean(1, keepdim=True)),
    "extrema": lambda x: (
        *(x.amax(2, keepdim=True), x.amin((0, 1)), x.max(dim=1)[0], x.min(2, True)[1], x.max()),
        *(x.argmax(dim=2), x.argmin(), torch.min(x, x * 2), torch.max(x, 0.25 - x)),
    ),
    "variances": lambda x: (
        *(x.var(1, keepdim=True), x.std(dim=1), x.var(False), x.std((0, 2), correction=2)),
        *(x.sum().std(0, correction=0), x.sum().max(0)[0]),
    ),
    "norms": lambda x: (
        *[torch.linalg.vector_norm(x, p, 1) for p in (0, 1, 2, 3, float("inf"), -float("inf"))],
        torch.norm(x),
    ),
    "conditions": lambda x: (x.all(dim=1) | x.any(dim=1), (x > 9).any(), (x < 9).all()),
    "no elements": lambda x: (x[:0].any(), x[:, :0].all(1), x[:0].any(2), x[:0].sum(0)),
    "of one number": lambda x: (x.sum().sum(), x.sum().amax(), x.sum().argmin(), x.mean().mean()),
}


@pytest.mark.parametrize("name", CASES)
def test_reductions(name: str) -> None:
    check(CASES[name], X, importers=BOTH)


def test_reductions_of_open_sizes() -> None:
    check(lambda x: (x.std(dim=(0, 2), correction=2), x.var(1), x.sum(0)), X, importers=["dynamic"])


def test_logarithm_of_a_sum_of_exponentials() -> None:
    check(lambda x: torch.logsumexp(x, (0, 1)), X)


def test_places_of_extrema_that_are_limits() -> None:
    def places(*tensors: Any) -> list[Any]:
        return [
            place for x in tensors for place in (x.argmin(1), x.argmax(1), x.min(1)[1], x.max(1)[1])
        ]

    dtypes = (torch.int8, torch.uint8, torch.int32, torch.int64)
    limits = [(torch.iinfo(dtype), dtype) for dtype in dtypes]
    tensors = [torch.tensor([[i.max] * 3, [i.min] * 3], dtype=dtype) for i, dtype in limits]
    check(places, *tensors, importers=BOTH)
    conditions = torch.tensor([[True, True], [True, False], [False, False]])
    check(lambda x: (x.min(1)[1], x.max(1)[1], x.min(0)[0]), conditions, importers=BOTH)


def test_partial_results_of_norms_are_wide() -> None:
    """100 cubed is infinite as a float16."""

    def norms(x: Any) -> tuple[Any, ...]:
        as_float32 = torch.linalg.vector_norm(x, 3, 1, dtype=torch.float32)
        return x.norm(3, 1), x.norm(2, 1), x.std(1), as_float32

    x = torch.tensor([[100.0, 20.0, -30.0], [0.001, 0.0, 0.0]])
    check(lambda x: (*norms(x), *norms(x.half())), x, rtol=2e-3)


def test_norms_reject_other_orders() -> None:
    with pytest.raises(GraphError, match="a norm of order 'nuc'"):
        traced(lambda x: torch.norm(x, "nuc"), ((2, 2), "float32"))


@pytest.mark.parametrize(
    ("rank", "dim", "axes"), [(3, None, None), (3, (), None), (0, 0, None), (3, -1, [-1])]
)
def test_dimensions_that_are_reduced(rank: int, dim: Any, axes: Any) -> None:
    x = relax.Var("x", relax.TensorStructInfo([2] * rank, "float32"))
    assert axes_of(Importer(), x, dim) == axes


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_weights_of_given_norms(dim: int) -> None:
    v = torch.rand(2, 3, 4) - 0.5
    g = torch.rand([size if axis == dim else 1 for axis, size in enumerate(v.shape)])
    check(lambda v, g: torch._weight_norm(v, g, dim), v, g)
    check(lambda v, g: torch._weight_norm(v, g, dim), v * 0, g)
