"""Searches and counts of torch: places in sorted values, bins, computed sizes."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphError, TeSchedError
from tests.relax.frontend.torch.torch_models import check, imported, results_of

torch = pytest.importorskip("torch")

SORTED = torch.tensor([-1.0, 0.0, 0.0, 2.5])
VALUES = torch.tensor([[0.0, 3.0, -2.0], [float("nan"), 2.5, 0.5]])
NUMBERS = torch.tensor([3, 0, 3, 1])


@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_values(right: bool) -> None:
    def function(s: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = s.expand(2, 4)
        return (
            torch.searchsorted(s, x, right=right),
            torch.searchsorted(rows, x, side="right", out_int32=True),
            torch.bucketize(x, s, right=right),
            torch.searchsorted(s, 0.5),
            torch.isin(s, x),
        )

    check(function, SORTED, VALUES)


def test_places_in_values_with_an_order() -> None:
    values = torch.tensor([2.5, -1.0, 0.0])
    check(
        lambda s, x: torch.searchsorted(s, x, sorter=s.argsort()), values, VALUES, importers=["fx"]
    )


def test_bins() -> None:
    values = torch.tensor([0.0, 2.0, 3.0, -1.0, 1.0, 0.49])
    check(lambda x: (x.histc(4, 0, 2), x.histc(3), (x * 0).histc(3), x[:0].histc(2)), values)


def test_counts_of_numbers() -> None:
    check(lambda x: (torch.bincount(x), torch.bincount(x, minlength=6)), NUMBERS)
    check(lambda x, w: torch.bincount(x, w, 2), NUMBERS, torch.rand(4), importers=["fx"])
    check(lambda x: torch.bincount(x[:0], minlength=2), NUMBERS)


def test_repeats_that_are_computed() -> None:
    x = torch.rand(4, 2)
    check(lambda x, r: torch.repeat_interleave(x, r, dim=0), x, NUMBERS)
    check(lambda x, r: torch.repeat_interleave(x, r, dim=0, output_size=7), x, NUMBERS)
    check(
        lambda x, r: (x.repeat_interleave(2), r.repeat_interleave(r)), x, NUMBERS, importers=["fx"]
    )


def test_another_number_of_repeats_than_was_said() -> None:
    args = (torch.rand(4, 2), NUMBERS)
    function = lambda x, r: torch.repeat_interleave(x, r, dim=0, output_size=9)  # noqa: E731
    with pytest.raises(TeSchedError, match="at 4 in dimension 0"):
        results_of(imported(function, args, "fx"), args)


def test_a_range_without_numbers() -> None:
    with pytest.raises(GraphError, match="min is 2 and max is 1"):
        imported(lambda x: x.histc(4, 2, 1), (SORTED,), "fx")
