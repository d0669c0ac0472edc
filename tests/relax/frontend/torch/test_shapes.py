"""Shapes of torch: tensors in another order, joined and split; elements by their places."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import tir
from te_sched.errors import GraphError
from tests.relax.frontend.torch.torch_models import BOTH, check, traced

torch = pytest.importorskip("torch")

X, Y = torch.rand(2, 3, 4), torch.rand(2, 3, 4)
N = tir.Var("n", "int64")

CASES: dict[str, Any] = {
    "other sizes": lambda x: (
        *(x.reshape(2, -1), x.flatten(1), x.ravel(), x.unflatten(2, (2, -1)), x.reshape_as(x)),
        *(x[:1].squeeze(0), x[:1].squeeze(), x[:, :1].squeeze(-1), x.unsqueeze(-2)),
    ),
    "other orders": lambda x: (
        *(x.permute(1, 2, 0), x.transpose(-1, 0), x.movedim(2, 0), x.movedim((0, 2), (1, 0))),
        *(x.mT, x[0].t(), x[0].T, torch.flip(x, [1, -1]), torch.roll(x, (1, -1), (2, 0))),
        *(x.roll(2), x.sum().transpose(0, -1)),
    ),
    "repeated": lambda x: (
        *(x.unsqueeze(1).expand(2, 5, -1, 4), x[:, :1].expand_as(x), x.repeat(2, 1, 1, 2)),
        *(x.tile(2), torch.broadcast_to(x[:, :1], (2, 3, 4))),
    ),
    "parts": lambda x: (
        *(x.chunk(4, dim=2)[1], x.chunk(3, 2)[1], x.split([1, 3], dim=2)[1], x.split(3, 2)[1]),
        *(x[:0].split(2)[0], torch.tensor_split(x, 3, 2)[0], torch.tensor_split(x, (1, 3), 2)[2]),
        *(torch.unbind(x, 1)[2], x.unfold(2, 2, 1), x.sum().unfold(0, 1, 1)),
    ),
    "by places": lambda x: (
        *(
            x.diagonal(),
            x.diagonal(1, -1, 0),
            x.diagonal(-2, 1, 2),
            x.diagonal(9),
            x.as_strided((3, 2), (4, 1), 5),
        ),
        *(torch.rot90(x), x.unfold(1, 3, 2)),
    ),
    "sizes": lambda x: (
        *(x + x.size(1), x * x.shape[2], x - x.numel(), x + x.dim() + x.ndim),
        x.reshape(x.size()[0], x.shape[1] * x.shape[2]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_shapes(name: str) -> None:
    importers = ("exported",) if name == "by places" else BOTH
    check(CASES[name], X, importers=importers)


def test_joined_tensors() -> None:
    check(
        lambda a, b: (
            *(torch.cat([a, b[:, :, :1]], dim=-1), torch.stack([a, b], 1), torch.stack([a, b])),
            *(
                torch.cat([torch.zeros(0), a]),
                torch.stack([a[:, :0], b[:, :0]]),
                torch.stack([a.sum(), b.sum()]),
                torch.hstack([a[:1], b[:1]]),
            ),
            torch.cat([a, b > 0.5, b.double()]),
        ),
        *(X, Y),
    )
    check(lambda a, b: torch.cat([a, b.transpose(0, 1).reshape(2, 3, 4)], 1), X, Y, importers=BOTH)


def test_shapes_of_open_sizes() -> None:
    check(
        lambda x: (
            *(x[-1], x.squeeze(), x.squeeze(1), x.roll(2, 2), x.split(2, 2)[1], x.unbind(1)[2]),
            *(
                x.chunk(3, 2)[0],
                torch.tensor_split(x, 3, 2)[1],
                x[:, :, :0].tile(2),
                torch.nan_to_num(x[:, :, :0]),
            ),
            *(x.diagonal(), x.diagonal(1, 2, 0), x.diagonal(-1, 1, 2), x.unflatten(2, (2, -1))),
            x[:, None, 1:].expand(2, 2, -1, -1) + x[:, 1:].unsqueeze(1),
        ),
        X,
        importers=["dynamic"],
    )


def test_ranks_and_splits() -> None:
    def function(x: Any) -> tuple[Any, ...]:
        tensors = (x, x[0], x[0, 0], x[0, 0, 0])
        ranks = [
            at_least(tensor)
            for at_least in (torch.atleast_1d, torch.atleast_2d, torch.atleast_3d)
            for tensor in tensors
        ]
        parts = (*x.hsplit(3), *x.vsplit([1]), *x.dsplit(2), *x[0, 0].hsplit(2))
        return *ranks, *parts, torch.cartesian_prod(x[0, 0], x[0, :, 0])

    check(function, X)


@pytest.mark.parametrize(
    ("function", "shape", "message"),
    [
        (lambda x: x.reshape([2], 1), (2,), "are numbers and lists"),
        (lambda x: x.split(2), (N,), "cannot split a dimension of size n"),
        (lambda x: torch.unbind(x), (N, 2), "cannot unbind a dimension of size n"),
        (lambda x: x.is_sparse, (2,), "attribute is_sparse"),
        (lambda x: x.as_strided((1,), (1,)), (N, 2), "the elements of a tensor of shape"),
        (lambda x: x.unfold(0, 2, 1), (N, 2), "cannot unfold a dimension of size n"),
    ],
)
def test_shapes_reject(function: Any, shape: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        traced(function, (shape, "float32"))


@pytest.mark.parametrize("options", [{}, {"padding": 1}, {"dilation": (1, 2), "stride": (2, 1)}])
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (3, 5, 7), (1, 1, 2, 3)])
def test_columns_of_windows(shape: tuple[int, ...], options: dict[str, Any]) -> None:
    size = (2, 3) if "dilation" not in options or shape[-1] > 3 else (2, 2)
    check(lambda x: torch.nn.functional.unfold(x, size, **options), torch.rand(shape) - 0.5)
