"""Special functions of torch."""

from __future__ import annotations

import pytest

from tests.relax.frontend.torch.torch_models import check

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
