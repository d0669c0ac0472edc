"""Scans of torch: sums, products and extrema so far."""

from __future__ import annotations

import pytest

from tests.relax.frontend.torch.torch_models import check

torch = pytest.importorskip("torch")

INFINITY, NAN = float("inf"), float("nan")
ROWS = torch.tensor([[1.0, 3.0, NAN, 5.0], [2.0, 2.0, -INFINITY, INFINITY]])
NUMBERS = torch.tensor([[3, 3, 1, 4], [-1, 2, -1, 2]])


@pytest.mark.parametrize("dim", [0, -1])
def test_extrema_so_far(dim: int) -> None:
    check(lambda x: (*torch.cummax(x, dim), *torch.cummin(x, dim)), ROWS)
    check(lambda x: (*torch.cummax(x, dim), *torch.cummin(x, dim)), NUMBERS)


def test_extrema_of_conditions() -> None:
    check(lambda x: (*torch.cummax(x > 1, 1), *torch.cummin(x > 1, 1)), NUMBERS)


def test_sums_of_exponentials() -> None:
    values = torch.tensor([[-INFINITY, -INFINITY, 1.0, 90.0], [0.5, NAN, 1.0, INFINITY]])
    check(lambda x: (torch.logcumsumexp(x, 1), torch.logcumsumexp(x.half(), 1).float()), values)


def test_sums_and_products() -> None:
    check(
        lambda x: (x.cumsum(1), x.to(torch.int8).cumprod(0), x.cumsum(1, dtype=torch.float64)),
        NUMBERS,
    )
    check(lambda x: (x.cumsum(1), x.half().cumprod(1).float()), NUMBERS / 2)


def test_partial_sums_of_halves_are_wide() -> None:
    x = torch.tensor([[2000.0, 400.0], [0.001, 0.0], [-2000.0, -400.0]]).half()
    check(lambda x: x.cumsum(0), x, rtol=2e-3)


def test_scans_of_one_number() -> None:
    function = lambda x: (x.cumsum(0), x.cummax(0)[1], x.logcumsumexp(0))  # noqa: E731
    check(function, torch.tensor(1.5), importers=["fx"])


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_differences_of_neighbors(n: int, dim: int) -> None:
    check(lambda x: torch.diff(x, n, dim), NUMBERS)
    check(lambda x: torch.diff(x > 1, n, dim), NUMBERS)
    check(lambda x: torch.diff(x, n, dim, prepend=x, append=x.long()), NUMBERS)


def test_differences_along_an_open_size() -> None:
    check(lambda x: x.diff(dim=0), NUMBERS, importers=["dynamic"])
