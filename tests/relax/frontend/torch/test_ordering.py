"""Sorting of torch: elements in order, medians, modes."""

from __future__ import annotations

import pytest

from tests.relax.frontend.torch.torch_models import check

torch = pytest.importorskip("torch")

NAN = float("nan")
NUMBERS = torch.tensor([[3, 3, 1, 1, 2], [1, 1, 3, 3, 2], [3, 1, 1, 1, 1]])
ROWS = torch.tensor([[1.0, NAN, 3.0, -float("inf"), 2.0], [NAN, NAN, 2.0, 5.0, 4.0]])


@pytest.mark.parametrize("values", [NUMBERS, ROWS], ids=["integers", "floats"])
def test_order(values: torch.Tensor) -> None:
    check(lambda x: (*x.sort(stable=True, descending=True), *x.sort(dim=0, stable=True)), values)
    check(lambda x: (x.argsort(dim=0, stable=True), torch.kthvalue(x, 2, 1, True)[0]), values[:1])


@pytest.mark.parametrize("values", [NUMBERS, ROWS], ids=["integers", "floats"])
def test_medians(values: torch.Tensor) -> None:
    check(lambda x: (x.median(), x.nanmedian(), x.median(1)[0], x.nanmedian(1, True)[0]), values)


def test_places_of_medians() -> None:
    values = torch.tensor([[4.0, 1.0, 3.0, NAN, 2.0], [1.0, 7.0, 5.0, 3.0, 9.0]])
    check(lambda x: (*x.nanmedian(1), *x.median(1)), values)


def test_modes() -> None:
    check(lambda x: (*x.mode(1), *x.mode(0, True)), NUMBERS)
    check(lambda x: (*x.mode(1), *(x > 0.5).mode(1)), NUMBERS / 2)


def test_the_first_elements() -> None:
    values = torch.tensor([[5.0, -1.0, NAN], [2.0, 4.0, 0.5]])
    check(lambda x: (*x.topk(2, 0), *x.topk(2, largest=False), *x.topk(0)), values)


def test_one_number() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (*x.sort(), *x.topk(1), *x.mode(), *x.kthvalue(1), x.argsort(), *x.median(0))

    check(function, torch.tensor(2.5))
