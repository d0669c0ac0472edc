"""Parts of tensors of torch by slices, lists, tensors and masks."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import AccessError, GraphError
from tests.relax.frontend.torch.torch_models import BOTH, check, imported, results_of

torch = pytest.importorskip("torch")

X = torch.arange(60.0).reshape(3, 4, 5)
ROWS, PAIRS = torch.tensor([2, -1, 0]), torch.tensor([[0, -2], [1, -1]])
FIRST = torch.tensor([0, 2])
PLACES = torch.tensor([[[0, 1, 3, 1, 0], [2, 2, 0, 3, 1]]] * 3)
MASK = (X % 7) > 3


CASES: dict[str, tuple[Any, ...]] = {
    "list": (lambda x: x[[0, 2]], X),
    "list from the end": (lambda x: x[[-1]], X),
    "list behind a slice": (lambda x: x[:, [0, 2]], X),
    "two lists": (lambda x: x[[0, 2], [1, 3]], X),
    "None and a list": (lambda x: x[None, [0]], X),
    "slice and list": (lambda x: x[1:, [0, -2]], X),
    "ellipsis and list": (lambda x: x[..., [0, -2]], X),
    "number and list": (lambda x: x[0, :, [0, -2]], X),
    "lists apart": (lambda x: x[[0, -1], :, [1, 2]], X),
    "list of lists": (lambda x: x[:, [[0, 1], [1, -1]]], X),
    "tensor": (lambda x, i: x[i], X, ROWS),
    "matrix": (lambda x, i: x[:, i], X, PAIRS),
    "slices around": (lambda x, i: x[1:, i, ::2], X, ROWS),
    "number before": (lambda x, i: x[-1, i], X, ROWS),
    "select": (lambda x: x.select(dim=-1, index=-2), X),
    "take": (lambda x, i: torch.take(x, i), X, torch.tensor([[0, -1], [5, 7]])),
    "index_select": (lambda x, i: torch.index_select(x, 1, i), X, FIRST),
    "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, dim=1), X, PLACES),
    "mask": (lambda x, m: x[m], X, MASK),
    "mask of rows": (lambda x, m: x[m], X, MASK[:, 0, 0]),
    "mask of columns": (lambda x, m: x[1:, m[0, :, 0]], X, MASK),
    "mask behind a number": (lambda x, m: x[1, m[0]], X, MASK),
    "masked_select": (lambda x, m: torch.masked_select(x, m), X, MASK[0]),
    "nonzero": (lambda x: torch.nonzero(x > 7), X),
    "nonzero, a tuple": (lambda x: torch.where(x > 7), X),
    "argwhere": (lambda x: torch.argwhere(x > 7), X),
    "sum of a mask": (lambda x, m: x[m].sum() + x[m].shape[0], X, MASK),
    "index of a number": (lambda x, i: torch.index_select(x, 0, i), X[0, 0, 0], FIRST[:1]),
    "gather of a number": (lambda x, i: torch.gather(x, 0, i), X[0, 0, 0], FIRST[0]),
    "broadcast take_along_dim": (lambda x, i: torch.take_along_dim(x, i, 1), X, PLACES[:1, :, :1]),
    "gather": (lambda x, i: x.gather(1, i) + x.gather(1, i[:, :1]), X[0], PAIRS % 3),
    "where": (lambda x: torch.where(x < 9, x, 0.5) + torch.where(x > 1, 1, 0), X),
    "narrow": (lambda x: torch.narrow(x, 1, -2, 2), X),
}


@pytest.mark.parametrize("name", CASES)
def test_indices(name: str) -> None:
    function, *args = CASES[name]
    check(function, *args, importers=BOTH)


def test_slices() -> None:
    def parts(x: Any) -> tuple[Any, ...]:
        slices = (x[0, 1:, ::2], x[:, None, :, 1], x[:, :, -1] + x.select(2, 0))
        nothing = (x[:, 2:1].reshape(3, 0, 5), x[None, 2:1, 0])
        return (*slices, *nothing, x.narrow(2, 0, 3), x[-1])

    check(parts, X, importers=BOTH)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: (x[:, i - 3], x[i[0] - 3, i], x[:, torch.tensor([-1, 0])]),
        lambda x, i: (x[:, i, i[0]], x[i, :, i[1:]], x[i[0] % 2] + i.sum()),
    ],
)
def test_indices_of_several_dimensions(function: Any) -> None:
    places = torch.tensor([[3, 1, 2], [0, 2, 2]])
    check(function, torch.rand(4, 4, 5), places, importers=["exported", "dynamic"])


DISTINCT: dict[str, Any] = {
    "values": lambda x: torch.unique(x),
    "all": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    "counts": lambda x: torch.unique(x, return_counts=True),
    "slices": lambda x: torch.unique(x, dim=1, return_inverse=True),
    "consecutive": lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True),
}


@pytest.mark.parametrize("name", DISTINCT)
def test_distinct_elements(name: str) -> None:
    check(DISTINCT[name], torch.tensor([[3, 3, 0, 3], [0, 0, 5, 0]]))


def test_a_condition_of_all_elements() -> None:
    check(lambda x, m: x[m], X, torch.tensor(True), importers=["fx"])


def test_distinct_elements_of_fx() -> None:
    function = lambda x: torch.ops.aten._unique2(x, True, True, True)  # noqa: E731
    check(function, torch.tensor([3.0, 3.0, 0.0]), importers=["fx"])


@pytest.mark.parametrize("function", [lambda x, i: x[i], lambda x, i: torch.take(x, i)])
@pytest.mark.parametrize("value", [-61, 60])
def test_indices_beyond_are_errors(function: Any, value: int) -> None:
    module = imported(function, (X, ROWS), "exported")
    with pytest.raises(AccessError, match=r" at -?\d+ in dimension \d"):
        results_of(module, (X, torch.tensor([0, value, 1])))


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (lambda x: x[[0.5]], (X,), "elements are selected by"),
        (lambda x, m: x[m], (X, MASK[:2]), "a condition of shape"),
        (lambda x: x.select(0, "a"), (X,), "the index of an element is 'a'"),
        (
            lambda x: torch.ops.aten.unique_consecutive(x, dim=0)[0],
            (X,),
            "unique_consecutive along a dimension",
        ),
        (lambda x: x[1:, x], (X,), "expected a tensor of integers"),
    ],
)
def test_indices_that_are_not_supported(function: Any, args: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        imported(function, args, "fx")
