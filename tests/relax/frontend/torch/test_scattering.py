"""Elements of tensors of torch that are replaced: at places, and by conditions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import AccessError, GraphError, TeSchedError
from tests.relax.frontend.torch.torch_models import BOTH, check, imported, results_of

torch = pytest.importorskip("torch")

X = torch.arange(60.0).reshape(3, 4, 5)
NUMBERS = torch.arange(60).reshape(3, 4, 5) % 11
FIRST = torch.tensor([0, 2])
ROWS = torch.tensor([2, -1, 0])
PLACES = torch.tensor([[[0, 1, 3, 1, 0], [2, 2, 0, 3, 1]]] * 3)
MASK = (X % 7) > 3
SOURCE = torch.arange(-60.0, 0.0)


def assigned(x: Any, index: Any, value: Any) -> Any:
    x = x.clone()
    x[index] = value
    return x


CASES: dict[str, tuple[Any, ...]] = {
    "index_put": (lambda x, i, v: torch.index_put(x, (i,), v), X, FIRST, torch.rand(2, 4, 5)),
    "one value": (lambda x, i, v: torch.index_put(x, (i,), v), X, ROWS, torch.tensor(2.0)),
    "accumulated": (
        lambda x, i, v: torch.index_put(x, (i,), v, accumulate=True),
        *(X, torch.tensor([1, 1, -1]), torch.rand(3, 1, 5)),
    ),
    "where": (lambda x, m, v: torch.index_put(x, (m,), v), X, MASK, torch.tensor(1.0)),
    "index_add": (
        lambda x, i, v: torch.index_add(x, 1, i, v, alpha=2),
        *(X, torch.tensor([0, 1, 1]), torch.rand(3, 3, 5)),
    ),
    "index_copy": (lambda x, i, v: torch.index_copy(x, 1, i, v), X, FIRST, torch.rand(3, 2, 5)),
    "index_fill": (lambda x, i: torch.index_fill(x, 2, i, 9.0), X, FIRST),
    "scatter": (lambda x, i: torch.scatter(x, 1, i, 3.0), X, PLACES[:, :1]),
    "scatter_add": (lambda x, i: torch.scatter_add(x, 1, i[:2], x[:2] * 2), X, PLACES),
    "scattered sums": (
        lambda x, i, v: torch.scatter(x, 1, i, v, reduce="add"),
        *(X, PLACES, torch.rand(3, 2, 5)),
    ),
    "scattered maxima": (
        lambda x, i, v: torch.scatter_reduce(x, 1, i, v, "amax"),
        *(X, PLACES, 50 * torch.rand(3, 2, 5)),
    ),
    "scattered means": (
        lambda x, i, v: torch.scatter_reduce(x, 1, i, v, "mean", include_self=False),
        *(X, PLACES, torch.rand(3, 2, 5)),
    ),
    "masked_scatter": (lambda x, m, s: x.masked_scatter(m, s), X, MASK, SOURCE),
    "masked from the first": (lambda x, m, s: x.masked_scatter(m, s), X, X < 9, SOURCE),
    "masked columns": (lambda x, m, s: x.masked_scatter(m, s), X, X[0, 0] > 2, SOURCE),
    "masked nowhere": (lambda x, m, s: x.masked_scatter(m, s), X, X < 0, torch.empty(0)),
    "a mask": (lambda x, m: torch.index_put(x, (m,), x[m] * 2), X, MASK),
    "put": (lambda x, i, v: x.put(i, v), X, torch.tensor([5, -1]), torch.tensor([1.0, 2.0])),
    "of numbers": (lambda x, i: torch.index_fill(x, 0, i, 2), torch.tensor(1), torch.tensor(0)),
}
EXPORTED: dict[str, tuple[Any, ...]] = {
    "column": (lambda x, v: assigned(x, (slice(None), 1), v), X, torch.rand(3, 5)),
    "columns": (lambda x, i, v: assigned(x, (slice(None), i), v), X, ROWS, torch.rand(3, 3, 5)),
    "apart": (lambda x, i, v: assigned(x, (i, slice(None), i), v), X, FIRST, torch.rand(2, 4)),
    "mask": (lambda x, m: assigned(x, m, 1.0), X, MASK),
    "mask of rows": (
        lambda x, m, v: assigned(x, m, v),
        *(X, torch.tensor([True, False, True]), torch.rand(5)),
    ),
    "values of a mask": (lambda x, m, v: assigned(x, m, v[m]), X, MASK, -X),
    "mask of columns": (
        lambda x, m, v: assigned(x, (slice(None), m), v[:, m]),
        *(X, torch.tensor([True, False, True, True]), -X),
    ),
    "strides": (
        lambda x, v: assigned(x, (slice(1, None), slice(None, None, 2)), v),
        *(X, torch.rand(2, 2, 5)),
    ),
    "elements of a transposed view": (lambda x, v: assigned(x.mT, 1, v).mT, X, torch.rand(5, 4)),
    "the diagonal": (lambda x: x.clone().fill_diagonal_(9.0), X[0]),
    "diagonal": (lambda x, v: torch.diagonal_scatter(x, v, -1, 1, 2), X, torch.rand(3, 3)),
    "select": (lambda x, v: torch.select_scatter(x, v, 1, -1), X, torch.rand(3, 5)),
    "slice": (lambda x, v: torch.slice_scatter(x, v, 1, 0, 4, 2), X, torch.rand(3, 2, 5)),
}


@pytest.mark.parametrize("name", CASES)
def test_replaced_elements(name: str) -> None:
    function, *args = CASES[name]
    check(function, *args, importers=BOTH)


@pytest.mark.parametrize("name", EXPORTED)
def test_assignments(name: str) -> None:
    function, *args = EXPORTED[name]
    check(function, *args)


def test_slices_of_open_sizes() -> None:
    def function(x: Any, v: Any) -> tuple[Any, ...]:
        scatter = torch.slice_scatter
        return (
            *(scatter(x, v, 1, 1, 3), scatter(x, v[:, :2], 1, 0, 4, 2), scatter(x, v, 1, -2)),
            *(scatter(x, x * 2, 2), scatter(x, v[:, :1], 1, 1, 2)),
            *(x.scatter(1, x.long() % 4, 7.0), scatter(x.long(), v, 1, 2)),
        )

    check(function, X, -torch.rand(3, 2, 5), importers=("exported", "dynamic"))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("values", [X, NUMBERS], ids=["floats", "integers"])
def test_reductions_at_places(values: Any, include_self: bool) -> None:
    def reduced(x: Any, i: Any, v: Any) -> Any:
        modes = ("sum", "prod", "mean", "amax", "amin")
        return [torch.scatter_reduce(x, 1, i, v, m, include_self=include_self) for m in modes]

    check(reduced, values, PLACES, -(values[:, 1:3] % 5) + 2)


def test_slices_reduced_at_places() -> None:
    def reduced(x: Any, i: Any, v: Any) -> Any:
        modes = ("prod", "mean", "amax", "amin")
        return [torch.index_reduce(x, 0, i, v, m, include_self=False) for m in modes]

    check(reduced, X[:, :, 0], torch.tensor([0, 2, 2]), torch.rand(3, 4))


def test_assignments_of_fx() -> None:
    """Graphs that torch.compile makes have `operator.setitem`."""
    import operator

    def set_all(x: Any, v: Any) -> Any:
        y = x + 0
        operator.setitem(y, (slice(None), [0, -1], slice(1, None)), v)
        return y

    graph = torch.fx.Graph()
    x, v = graph.placeholder("x"), graph.placeholder("v")
    y = graph.call_function(operator.add, (x, 0))
    index = (slice(None), [0, -1], slice(1, None))
    graph.call_function(operator.setitem, (y, index, v))
    graph.output(y)
    from te_sched.relax.frontend.torch import from_fx

    args = (X, torch.rand(3, 2, 4))
    module = from_fx(
        torch.fx.GraphModule(torch.nn.Module(), graph),
        [(tuple(one.shape), "float32") for one in args],
    )
    assert (results_of(module, args)[0] == set_all(*args).numpy()).all()


def test_another_number_of_values_than_a_mask_selects() -> None:
    module = imported(lambda x, m, v: torch.index_put(x, (m,), v), (X, MASK, SOURCE), "fx")
    with pytest.raises(TeSchedError, match="expected"):
        results_of(module, (X, MASK, SOURCE))


def test_places_beyond_the_end() -> None:
    module = imported(lambda x, i: torch.index_fill(x, 0, i, 1.0), (X, FIRST))
    with pytest.raises(AccessError, match="at 3 in dimension 0"):
        results_of(module, (X, FIRST + 1))


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (lambda x, m: torch.index_put(x, (m,), x[0, 0, 0]), (X, MASK[:2]), "a condition of shape"),
        (lambda x, m: x[m], (X, MASK[0]), "a condition of shape"),
        (
            lambda x, i, v: torch.scatter_reduce(x, 1, i, v, "median"),
            (X, PLACES, torch.rand(3, 2, 5)),
            "reduce is 'median'",
        ),
    ],
)
def test_replacements_that_are_refused(function: Any, args: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        imported(function, args, "fx")
