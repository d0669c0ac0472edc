"""Complex numbers of torch, which are pairs of tensors; Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched.errors import GraphError
from tests.relax.frontend.torch.torch_models import check, imported

torch = pytest.importorskip("torch")

X, Y = torch.randn(3, 4, 2), torch.randn(3, 4, 2)
SIGNAL = torch.randn(2, 12)


def pairs(x: Any, y: Any) -> tuple[Any, Any]:
    return torch.view_as_complex(x), torch.view_as_complex(y)


def test_arithmetic() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        a, b = pairs(x, y)
        results = [a + b, a - b, a * b, a / b, -a, a.conj() * 2, a * x[..., 0], a / 2, a @ b.mT]
        results += [torch.exp(a), torch.cat([a, b], 1), a.reshape(4, 3).transpose(0, 1), a.sum(0)]
        return [torch.view_as_real(z) for z in results]

    check(function, X, Y, rtol=1e-4, atol=1e-5)


def test_parts() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        a, b = torch.complex(x, y), torch.polar(x.abs(), y)
        reals = torch.tensor([1.0, -1.0, 0.0, float("nan")]) + 0 * x[0, 0, 0]
        return [a.real, a.imag, a.abs(), a.angle(), b.real, b.imag, x.real, reals.angle()]

    check(function, X, Y)


def test_rotary_embeddings() -> None:
    """Queries are multiplied by complex numbers of size 1, as Llama's first code does."""

    def function(q: Any, angles: Any) -> Any:
        rotation = torch.polar(torch.ones_like(angles), angles)
        pair = torch.view_as_complex(q.float().reshape(*q.shape[:-1], -1, 2))
        return torch.view_as_real(pair * rotation).flatten(3).type_as(q)

    check(function, torch.randn(1, 5, 2, 8), torch.randn(5, 1, 4), rtol=1e-4)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "rfft": lambda x: torch.view_as_real(torch.fft.rfft(x)),
    "rfft of a dimension": lambda x: torch.fft.rfft(x, dim=0, norm="ortho").abs(),
    "fft": lambda x: torch.view_as_real(torch.fft.fft(x, norm="forward")),
    "fft2": lambda x: torch.view_as_real(torch.fft.fft2(x)),
    "irfft": lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2),
    "irfft of an odd size": lambda x: torch.fft.irfft(torch.fft.rfft(x[:, :9]), n=9),
    "irfft2": lambda x: torch.fft.irfft2(torch.fft.rfft2(x)),
    "ifft": lambda x: torch.fft.ifft(torch.fft.fft(x)).real,
    "hfft": lambda x: torch.fft.hfft(torch.fft.ihfft(x)),
    "zeros at the end": lambda x: torch.fft.rfft(x, n=16).abs(),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    check(TRANSFORMS[name], SIGNAL, rtol=1e-4, atol=1e-5)


def test_spectrograms() -> None:
    window = torch.hann_window(16)

    def function(x: Any) -> Any:
        stft = torch.stft(x, 16, 4, window=window, return_complex=True)
        return stft.abs() ** 2, torch.istft(stft, 16, 4, window=window)

    check(function, torch.randn(2, 64), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("function", "args", "text"),
    [
        (lambda x: torch.view_as_complex(x), (X,), "output 0 of the model is complex"),
        (lambda x: torch.view_as_complex(x).tan().real, (X,), "takes no complex numbers"),
        (lambda x: x.abs(), (torch.view_as_complex(X),), "input x has dtype complex64"),
    ],
)
def test_complex_numbers_that_are_refused(function: Any, args: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        imported(function, args)
