"""Losses of torch as functions, as modules and in exported programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.torch import from_exported_program, from_fx
from tests.relax.frontend.torch.torch_models import BOTH, check, infos_of, results_of, traced

torch = pytest.importorskip("torch")
F, nn = torch.nn.functional, torch.nn

torch.manual_seed(0)
X, Y = torch.randn(4, 5) * 2, torch.randn(4, 5)
P, Q = torch.rand(4, 5), torch.rand(4, 5)
SIGNS = torch.tensor([[1.0, -1, 1, -1, 1]] * 4)
CLASSES = torch.tensor([0, 4, 2, 2])
WEIGHT = torch.rand(5)
# Of each loss its function, module, options and arguments.
LOSSES: dict[str, tuple[Any, Any, list[dict[str, Any]], tuple[Any, ...]]] = {
    "l1": (F.l1_loss, nn.L1Loss, [{}], (X, Y)),
    "mse": (F.mse_loss, nn.MSELoss, [{}], (X, Y)),
    "smooth l1": (F.smooth_l1_loss, nn.SmoothL1Loss, [{}, {"beta": 0.0}, {"beta": 2.0}], (X, Y)),
    "huber": (F.huber_loss, nn.HuberLoss, [{}, {"delta": 0.3}], (X, Y)),
    "soft margin": (F.soft_margin_loss, nn.SoftMarginLoss, [{}], (X, SIGNS)),
    "hinge": (F.hinge_embedding_loss, nn.HingeEmbeddingLoss, [{"margin": 2.0}], (X, SIGNS)),
    "kl": (F.kl_div, nn.KLDivLoss, [{}], (P.log(), (Q - 0.5).clamp(0))),
    "kl log": (F.kl_div, nn.KLDivLoss, [{"log_target": True}], (P.log(), Q.log())),
    "poisson": (
        F.poisson_nll_loss,
        nn.PoissonNLLLoss,
        [{}, {"log_input": False, "full": True, "eps": 1e-3}],
        (P, Q * 6),
    ),
    "bce": (F.binary_cross_entropy, nn.BCELoss, [{}, {"weight": WEIGHT}], (P.round(decimals=1), Q)),
    "bce logits": (
        F.binary_cross_entropy_with_logits,
        nn.BCEWithLogitsLoss,
        [{}, {"weight": WEIGHT}, {"pos_weight": WEIGHT}],
        (X * 20, Q),
    ),
    "nll": (
        F.nll_loss,
        nn.NLLLoss,
        [{}, {"weight": WEIGHT}, {"ignore_index": 2}],
        (P.log(), CLASSES),
    ),
    "cross entropy": (F.cross_entropy, nn.CrossEntropyLoss, [{"weight": WEIGHT}], (X, CLASSES)),
    "ranking": (F.margin_ranking_loss, nn.MarginRankingLoss, [{"margin": 0.5}], (X, Y, SIGNS)),
    "cosine": (
        F.cosine_embedding_loss,
        nn.CosineEmbeddingLoss,
        [{}, {"margin": 0.2}],
        (X, Y, SIGNS[0, :4]),
    ),
    "triplet": (
        F.triplet_margin_loss,
        nn.TripletMarginLoss,
        [{}, {"p": 1.0, "swap": True, "margin": 3.0}],
        (X, Y, P),
    ),
    "multi margin": (
        F.multi_margin_loss,
        nn.MultiMarginLoss,
        [{}, {"p": 2, "margin": 0.5, "weight": WEIGHT}],
        (X, CLASSES),
    ),
    "labels": (
        F.multilabel_soft_margin_loss,
        nn.MultiLabelSoftMarginLoss,
        [{}, {"weight": WEIGHT}],
        (X, Q.round()),
    ),
    "gaussian": (F.gaussian_nll_loss, nn.GaussianNLLLoss, [{}, {"full": True}], (X, Y, Q)),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str, reduction: str) -> None:
    function, _, choices, args = LOSSES[name]
    plain = [option for option in choices if not any(map(torch.is_tensor, option.values()))]

    def losses(*values: Any) -> Any:
        return tuple([function(*values, reduction=reduction, **option) for option in plain])

    for importer in _importers(name):
        check(losses, *args, importers=(importer,))


def _importers(name: str) -> tuple[str, ...]:
    """torch does not export a loss whose function looks at values."""
    return ("fx",) if name == "gaussian" else BOTH


@pytest.mark.parametrize("name", LOSSES)
def test_modules_of_losses(name: str) -> None:
    _, kind, choices, args = LOSSES[name]
    for option in choices:
        module = kind(**option).eval()
        expected = module(*args).numpy()
        graphs = [from_fx(torch.fx.symbolic_trace(Calling(module, len(args))), infos_of(*args))]
        if len(_importers(name)) > 1:
            graphs.append(from_exported_program(torch.export.export(module, args)))
        for graph in graphs:
            (result,) = results_of(graph, args)
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


class Calling(torch.nn.Module):
    """A module that calls another one, with two or three tensors."""

    def __new__(cls, module: Any, count: int) -> Any:
        return super().__new__(_CallingTwo if count == 2 else _CallingThree)

    def __init__(self, module: Any, count: int) -> None:
        super().__init__()
        self.module = module


class _CallingTwo(Calling):
    def forward(self, x: Any, y: Any) -> Any:
        return self.module(x, y)


class _CallingThree(Calling):
    def forward(self, x: Any, y: Any, z: Any) -> Any:
        return self.module(x, y, z)


def test_missing_values_and_no_elements() -> None:
    nan, inf = float("nan"), float("inf")
    x, y = torch.tensor([nan, inf, -inf, 1, 0]), torch.tensor([1.0, -1, 1, nan, inf])
    for name in ("l1", "mse", "smooth l1", "huber", "hinge", "kl", "bce logits"):
        function = LOSSES[name][0]
        check(lambda a, b, f=function: f(a, b, reduction="none"), x, y, importers=BOTH)
    empty = torch.rand(0, 3)
    check(lambda a, b: (F.mse_loss(a, b), F.l1_loss(a, b, reduction="sum")), empty, empty)


def test_older_arguments_and_broadcast_targets() -> None:
    check(
        lambda x, y: (
            F.mse_loss(x, y, size_average=False),
            F.l1_loss(x, y, reduce=False),
            F.kl_div(x, y, reduction="batchmean"),
        ),
        X,
        Q,
        importers=("fx",),
    )
    for importer in BOTH:
        check(lambda x, y: F.mse_loss(x, y, reduction="none"), X, Y[:1], importers=(importer,))
    check(lambda x, y: F.l1_loss(x, y), X.double(), Y, importers=("fx",), rtol=1e-9)


def test_losses_reject_other_reductions() -> None:
    with pytest.raises(GraphError, match="the reduction of a loss is 'median'"):
        traced(lambda x, y: F.mse_loss(x, y, reduction="median"), *infos_of(X, Y))
