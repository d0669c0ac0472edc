"""Arithmetic, comparisons and activations of torch, and the dtypes of their results."""

from __future__ import annotations

import math
from typing import Any

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.torch import from_fx
from te_sched.relax.frontend.torch.elementwise import dtype_kind, number_dtype, promoted, scalar
from te_sched.relax.frontend.torch.importer import Importer
from te_sched.relax.frontend.torch.values import dtype_of
from tests.relax.frontend.torch.torch_models import BOTH, check, imported

torch = pytest.importorskip("torch")
F = torch.nn.functional

X, Y = torch.rand(2, 3, 4) - 0.3, torch.rand(2, 3, 4) + 0.5
INTS = torch.tensor([[3, 1, 2], [0, 2, 2]])

OF_TWO: dict[str, Any] = {
    "arithmetic": lambda a, b: (
        *((a + b * 2 - 1) / b, torch.add(a, b, alpha=0.5), torch.maximum(a, b)),
        *(torch.rsub(a, b), torch.addcmul(a, b, b, value=2), torch.lerp(a, b, 0.25)),
    ),
    "comparisons": lambda a, b: (
        *((a > b) & (a != 0) | ~(a <= 0.1), a == b, a < b, a >= 0.25),
        *((a > b) & (a > 0), (a > b) | (b > 0), torch.logical_not(a.floor())),
        torch.logical_xor(a.floor(), a > 0.2),
    ),
    "a value that is a result, too": lambda a, b: next((c & (b > 0), c) for c in [a > b]),
    "of floats": lambda a, b: (
        *(torch.hypot(a, a + 1), torch.fmod(a, 0.3), torch.atan2(a, b)),
        *(torch.fmax(a, torch.log(a)), torch.fmin(torch.log(a), a), torch.pow(b, a)),
    ),
}
OF_ONE: dict[str, Any] = {
    "activations": lambda x: (
        *(F.leaky_relu(x, 0.1), F.elu(x, 0.5), F.softplus(x), F.hardswish(x), F.hardsigmoid(x)),
        *(F.relu6(x * 9), F.silu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.mish(x)),
        *(F.selu(x), F.hardtanh(x, -0.1, 0.3), F.softshrink(x, 0.2), F.logsigmoid(x)),
        F.prelu(x, torch.tensor([0.1, 0.2, 0.3])),
    ),
    "functions": lambda x: (
        *(torch.exp(x), torch.log(x + 1), torch.rsqrt(x + 1), torch.erf(x), torch.log1p(x)),
        *(torch.expm1(x), torch.log2(x + 1), torch.log10(x + 1), torch.reciprocal(x + 1)),
    ),
    "limits": lambda x: (
        *(torch.clamp(x, 0.1, 0.5), x.clamp(min=0.2), x.clamp(max=x.mean())),
        *(torch.clamp_min(x, 0.1), torch.clamp_max(x, 0.1)),
    ),
    "rounding": lambda x: (
        *(torch.round(x * 9), torch.trunc(x * 9), x.floor(), x.ceil()),
        *(torch.remainder(x, 0.3), torch.sign(x) * torch.abs(x), -x, x.square()),
        *[torch.round(x * 300, decimals=n) for n in (2, -1, 0)],
    ),
    "softmax": lambda x: (x.softmax(1), x.log_softmax(0), F.softmax(x, -1, dtype=torch.float64)),
}


@pytest.mark.parametrize("name", OF_TWO)
def test_operators_of_two_tensors(name: str) -> None:
    check(OF_TWO[name], X, Y, importers=BOTH)


@pytest.mark.parametrize("name", OF_ONE)
def test_operators_of_a_tensor(name: str) -> None:
    check(OF_ONE[name], X, importers=BOTH)


def test_operators_that_torch_decomposes() -> None:
    check(
        lambda x: (
            *(torch.nan_to_num(x / x.floor()), torch.nan_to_num(x[:, :, :0]), torch.exp2(x)),
            *(torch.copysign(x, -x), torch.signbit(x.round()), torch.erfc(x)),
            *(F.glu(x, 2), F.mse_loss(x, x * 2), F.cosine_similarity(x, x + 1, dim=1)),
            F.binary_cross_entropy_with_logits(x, x.sigmoid()),
        ),
        X,
    )


def test_quotients_round_down_and_zeros_have_signs() -> None:
    x = torch.tensor([0.0, -0.0, 0.0, -0.0, 1.0, -1.0])
    y = torch.tensor([3.0, 3.0, -3.0, -3.0, 3.0, -3.0])
    small = torch.tensor([5e-309, -5e-309, 1e300, 7.0, -7.0], dtype=torch.float64)
    check(lambda x, y: 1 / (x // y), x, y, importers=BOTH)
    check(lambda x, y: 1 / (x // y), x.double(), y.double(), importers=BOTH)
    check(lambda x: (x // x, x // 5e-309, x // -2.0, x % x), small, importers=BOTH)


def test_trunc_keeps_the_sign_of_zero() -> None:
    x = torch.tensor([-0.0, 0.0, -0.5, 0.5, -1.5, torch.inf, -torch.inf, torch.nan])

    def whole(x: Any) -> tuple[Any, ...]:
        parts = (torch.trunc(x), torch.div(x, 2.0, rounding_mode="trunc"))
        return (*parts, *[1.0 / part for part in parts])

    check(whole, x, importers=BOTH)


def test_operators_of_integers() -> None:
    check(
        lambda i: (
            *(i / 2 + i * 0.5, i**2, i**9, 2**i, torch.div(i - 3, 2, rounding_mode="trunc")),
            *(i.to(torch.int8).clamp(min=-1), i.clamp(0.5), i.clamp(max=2), i // 2, i % 2),
            *(i.log2(), i.log10(), (i > 1).sign(), (i > 1).square(), ~i, i ^ 1),
        ),
        INTS,
        importers=BOTH,
    )
    check(lambda i: i + torch.tensor(True), INTS)


def test_shifts_and_powers_of_integers() -> None:
    numbers, counts = torch.tensor([1, -7, 5, -1]), torch.tensor([1, 70, -1, 3])
    small, places = torch.tensor([[1, 7, 255], [8, 1, 9]], dtype=torch.uint8)
    check(
        lambda a, b, c, d: (
            *(a << b, a >> b, a << 2, a >> 1, a.pow(b % 9 - 4), a**2),
            *(c << d, c >> d),
        ),
        *(numbers, counts, small, places),
        importers=BOTH,
    )


def test_tensors_without_dimensions() -> None:
    check(lambda x: (x.softmax(0), x.log_softmax(0), x + 1), torch.tensor(1.5), importers=BOTH)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "float32"])
def test_dtypes_of_sums_are_those_of_torch(dtype: str) -> None:
    """With numbers, and with tensors of one dimension and of none."""
    a = relax.Var("a", relax.TensorStructInfo([2], dtype))
    of_torch = torch.zeros(2, dtype=getattr(torch, dtype))
    names = ("bool", "int8", "uint8", "int64", "float16", "bfloat16", "float64")
    others = [
        torch.zeros([2] * rank, dtype=getattr(torch, name)) for rank in (0, 1) for name in names
    ]
    importer = Importer()
    with importer.builder.function("main", [a]):
        for other in (2, 2.5, True, *others):
            b = other if isinstance(other, int | float) else importer.param(other)
            dtypes = {importer.dtype(value) for value in promoted(importer, a, b)}
            assert dtypes == {dtype_of(torch.result_type(of_torch, other))}, other
        importer.builder.emit_func_output(a)


def test_numbers_without_tensors() -> None:
    importer = Importer()
    assert [value.struct_info.dtype for value in promoted(importer, 1, 2.5)] == ["float32"] * 2
    assert scalar(importer, 3, "int8").data.numpy() == 3
    assert [number_dtype(value) for value in (True, 1, math.pi)] == ["bool", "int64", "float32"]
    assert [dtype_kind(dtype) for dtype in ("bool", "uint8", "float16")] == [0, 1, 2]


def test_fractions_of_open_sizes() -> None:
    def function(x: torch.Tensor) -> Any:
        scaled = x * (x.shape[0] * 0.3) + x / math.sqrt(x.shape[1])
        return scaled, x.long() * (x.shape[1] * 0.5), torch.tensor(x.shape)

    check(function, X, importers=("dynamic",))


def test_dropout_of_inference() -> None:
    def function(x: torch.Tensor) -> Any:
        kept = F.dropout(x, 0.5, False) + F.dropout(x, 0.0) + F.alpha_dropout(x, 0.3)
        of_channels = F.dropout2d(x, 0.3, False) + F.feature_alpha_dropout(x, 0.3)
        return kept, of_channels, torch.native_dropout(x, 0.5, False)

    check(function, X[None], importers=BOTH)


@pytest.mark.parametrize("importer", BOTH)
@pytest.mark.parametrize(
    "function",
    [
        F.dropout,
        lambda x: F.dropout2d(x, 0.2, True),
        lambda x: F.alpha_dropout(x, 0.5, True),
        lambda x: torch.native_dropout(x, 0.5, True)[0],
        lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.1),
    ],
    ids=["dropout", "dropout2d", "alpha_dropout", "native_dropout", "attention"],
)
def test_dropout_in_training_mode_is_refused(function: Any, importer: str) -> None:
    with pytest.raises(GraphError, match=r"in training mode is random(?s:.*)call model.eval\(\)"):
        imported(function, (X[None],), importer)


@pytest.mark.parametrize(
    "layer", [torch.nn.Dropout(0.2), torch.nn.Dropout2d(), torch.nn.AlphaDropout()], ids=str
)
def test_layers_of_dropout_are_those_of_their_mode(layer: Any) -> None:
    check(layer.eval(), X[None], importers=BOTH)
    layer = torch.nn.Sequential(layer.train())
    with pytest.raises(GraphError, match="in training mode is random"):
        from_fx(torch.fx.symbolic_trace(layer), [(tuple(X[None].shape), "float32")])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8], ids=str)
def test_powers_of_integers_are_exact(dtype: torch.dtype) -> None:
    bases = torch.tensor([0, 1, -1, 2, -2, 3, -3, 7, 10, 94906267, 2**40 + 1]).to(dtype)[:, None]
    exponents = torch.tensor([0, 1, 2, 5, 13, 38, 39, 62, 63, 64, 1000, -1, -2, -3]).to(dtype)
    check(lambda x, y: x**y, bases, exponents, importers=BOTH)
    check(lambda x: (x**0, x**1, x**13, x**62, torch.pow(3, x)), bases)
