"""Special functions of torch."""

from __future__ import annotations

import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.torch.importer import ROWS
from tests.relax.frontend.torch.torch_models import check, imported, results_of

torch = pytest.importorskip("torch")

INFINITY = float("inf")
VALUES = torch.tensor(
    [
        *(-3.7, -2.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 0.999, 1.0, 1.5, 2.0, 5.0, 20.0, 80.0),
        *(-INFINITY, INFINITY, float("nan"), 1e-3),
    ]
)


def functions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    special = torch.special
    return (
        *(torch.erfinv(x), torch.lgamma(x), torch.digamma(x), torch.i0(x)),
        *(special.i0e(x), special.i1(x), special.i1e(x), special.erfcx(x), special.log_ndtr(x)),
        *(special.entr(x), torch.xlogy(x, x), torch.logit(x), torch.sinc(x), special.ndtr(x)),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_functions(dtype: torch.dtype) -> None:
    check(functions, VALUES.to(dtype), rtol=2e-6 if dtype == torch.float32 else 1e-7)


def test_functions_of_integers() -> None:
    check(lambda x: (torch.lgamma(x), torch.i0(x)), torch.tensor([1, 2, 7]), importers=["fx"])


def test_functions_of_halves() -> None:
    check(lambda x: torch.lgamma(x.half()).float(), VALUES[7:14], rtol=1e-3)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 6])
def test_derivatives_of_digamma(order: int) -> None:
    """At infinity they are 0, where torch has NaN."""
    numbers = torch.tensor([0.01, 0.3, 0.49, 1, 2.5, 30, 1e4, 0, -0.3, -1.5, -2.7, float("nan")])
    check(lambda x: torch.polygamma(order, x), numbers.double(), rtol=1e-9)
    check(lambda x: torch.polygamma(order, x), numbers, rtol=2e-6)
    infinite = torch.tensor([INFINITY])
    (limit,) = results_of(imported(lambda x: torch.polygamma(order, x), (infinite,)), (infinite,))
    assert limit.tolist() == [0.0 if order else INFINITY]


def test_derivatives_of_digamma_as_methods() -> None:
    check(lambda x: (x.polygamma(2), x.abs().digamma()), VALUES[2:3], importers=["fx"])


@pytest.mark.parametrize("order", [-1, True, 0.5])
def test_other_orders_are_rejected(order: object) -> None:
    rule = ROWS["polygamma"].rule
    with pytest.raises(GraphError, match="the order of a polygamma function is"):
        rule(None, order, None)


def test_zeta() -> None:
    nan, inf = float("nan"), float("inf")
    s = torch.tensor([1.0, 1.001, 1.5, 2, 3, 7.5, 60, 400, 0.5, -2, nan, inf])[:, None]
    q = torch.tensor([0.1, 0.5, 1, 2.5, 40, 1e6, 0, -1, -0.5, -3.25, -20.5, nan])
    check(lambda x, y: torch.special.zeta(x, y), s, q, rtol=1e-5)
    check(lambda x, y: torch.special.zeta(x, y), s.double()[:-1], q.double(), rtol=1e-10)
    check(lambda x: (torch.special.zeta(2.0, x), torch.special.zeta(x, 3)), q)
    check(lambda x: torch.special.zeta(x, x), torch.arange(1, 5))
    check(lambda x: torch.special.zeta(x, x), torch.rand(0, 3))
