"""Parts of tensors of torch by lists, tensors and masks, and changes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import AccessError, GraphError
from te_sched.relax.frontend.torch import from_exported_program, from_fx

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = torch.arange(60.0).reshape(3, 4, 5)
ROWS, PAIRS = torch.tensor([2, -1, 0]), torch.tensor([[0, -2], [1, -1]])
FIRST = torch.tensor([0, 2])
PLACES = torch.tensor([[[0, 1, 3, 1, 0], [2, 2, 0, 3, 1]]] * 3)
MASK = (X % 7) > 3
SOURCE = torch.arange(-60.0, 0.0)


class Model(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function


class Model1(Model):
    def forward(self, x: Any) -> Any:
        return self.function(x)


class Model2(Model):
    def forward(self, x: Any, i: Any) -> Any:
        return self.function(x, i)


class Model3(Model):
    def forward(self, x: Any, i: Any, v: Any) -> Any:
        return self.function(x, i, v)


def imported(function: Any, args: tuple[Any, ...], importer: str) -> Any:
    model = (Model1, Model2, Model3)[len(args) - 1](function)
    if importer == "exported":
        return from_exported_program(torch.export.export(model, args))
    infos = [(tuple(one.shape), str(one.dtype).removeprefix("torch.")) for one in args]
    return from_fx(torch.fx.symbolic_trace(model), infos)


def run(module: Any, args: tuple[Any, ...]) -> Any:
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"), te_sched.cpu())
    found = machine["main"](*[nd.array(one.numpy()) for one in args])
    return (found if hasattr(found, "numpy") else found[0]).numpy()


def _set(x: Any, index: Any, value: Any) -> Any:
    x = x.clone()
    x[index] = value
    return x


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
    "scattered sums": (
        lambda x, i, v: torch.scatter(x, 1, i, v, reduce="add"),
        *(X, PLACES, torch.rand(3, 2, 5)),
    ),
    "scattered maxima": (
        lambda x, i, v: torch.scatter_reduce(x, 1, i, v, "amax"),
        *(X, PLACES, 50 * torch.rand(3, 2, 5)),
    ),
    "masked_scatter": (lambda x, m, s: x.masked_scatter(m, s), X, MASK, SOURCE),
    "masked from the first": (lambda x, m, s: x.masked_scatter(m, s), X, X < 9, SOURCE),
    "masked columns": (lambda x, m, s: x.masked_scatter(m, s), X, X[0, 0] > 2, SOURCE),
}
EXPORTED: dict[str, tuple[Any, ...]] = {
    "column": (lambda x, v: _set(x, (slice(None), 1), v), X, torch.rand(3, 5)),
    "columns": (lambda x, i, v: _set(x, (slice(None), i), v), X, ROWS, torch.rand(3, 3, 5)),
    "apart": (lambda x, i, v: _set(x, (i, slice(None), i), v), X, FIRST, torch.rand(2, 4)),
    "mask": (lambda x, m: _set(x, m, 1.0), X, MASK),
    "strides": (
        lambda x, v: _set(x, (slice(1, None), slice(None, None, 2)), v),
        *(X, torch.rand(2, 2, 5)),
    ),
}


@pytest.mark.parametrize("importer", ["fx", "exported"])
@pytest.mark.parametrize("name", CASES)
def test_indices(name: str, importer: str) -> None:
    function, *args = CASES[name]
    found = run(imported(function, tuple(args), importer), tuple(args))
    expected = function(*args).numpy()
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, 1e-5)


@pytest.mark.parametrize("name", EXPORTED)
def test_assignments(name: str) -> None:
    function, *args = EXPORTED[name]
    found = run(imported(function, tuple(args), "exported"), tuple(args))
    np.testing.assert_allclose(found, function(*args).numpy(), 1e-5)


@pytest.mark.parametrize("function", [lambda x, i: x[i], lambda x, i: torch.take(x, i)])
@pytest.mark.parametrize("value", [-61, 60])
def test_indices_beyond_are_errors(function: Any, value: int) -> None:
    module = imported(function, (X, ROWS), "exported")
    with pytest.raises(AccessError, match=r" at -?\d+ in dimension \d"):
        run(module, (X, torch.tensor([0, value, 1])))


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (lambda x: x[[0.5]], (X,), "elements are selected by"),
        (
            lambda x, m, v: torch.index_put(x, (m,), v),
            (X, MASK, torch.rand(int(MASK.sum()))),
            "replaced by several values",
        ),
        (
            lambda x, i, v: torch.scatter_reduce(x, 1, i, v, "mean"),
            (X, PLACES, torch.rand(3, 2, 5)),
            "scatter_reduce has reduce='mean'",
        ),
    ],
)
def test_indices_that_are_not_supported(function: Any, args: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        imported(function, args, "fx")


def test_a_mask_that_holds_nowhere_takes_nothing() -> None:
    args = (X, X < 0, torch.empty(0))
    function = CASES["masked_scatter"][0]
    np.testing.assert_array_equal(run(imported(function, args, "fx"), args), X.numpy())
