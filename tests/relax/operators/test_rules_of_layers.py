"""Layers, activations, normalizations, losses and gradients: built in one module, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.relax import op
from te_sched.relax.op import grad, nn
from tests.relax.machine import Case, run_cases

torch = pytest.importorskip("torch")
F = torch.nn.functional
RNG = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype("float32")


ARRAYS: dict[str, Any] = {
    "x": _floats(3, 6),
    "line": _floats(2, 4, 9),
    "image": _floats(2, 4, 6, 7),
    "last": _floats(2, 6, 7, 4),  # with the channels at the end
    "box": _floats(1, 2, 4, 5, 6),
    "w1": _floats(6, 2, 3),
    "w2": _floats(6, 4, 3, 2),
    "w2g": _floats(4, 1, 3, 3),
    "w2last": _floats(3, 2, 4, 6),
    "w3": _floats(3, 2, 2, 3, 2),
    "t1": _floats(4, 3, 3),
    "t2": _floats(4, 3, 3, 2),
    "c4": _floats(4) + 2,
    "d4": _floats(4),
    "c6": _floats(6),
    "d6": _floats(6),
    "log": np.log(RNG.uniform(0.1, 1, (3, 6))).astype("float32"),
    "labels": np.array([0, 5, 2], "int64"),
    "classes": np.array([[1, 3, 0], [2, 1, 1]], "int64"),
    "dense": np.log(RNG.uniform(0.1, 1, (2, 4, 3))).astype("float32"),
    "weights": RNG.uniform(0.5, 1, (6,)).astype("float32"),
    "q": _floats(2, 5, 3, 4),
    "k": _floats(2, 6, 3, 4),
    "v": _floats(2, 6, 3, 8),
    "bias": _floats(2, 3, 5, 6),
    "g": np.array(2.5, "float32"),
    "g2": _floats(2, 4, 3, 3),
    "taken": _floats(2, 6),
    "places": np.array([2, 2], "int64"),
}


def _moments(x: Any, m: Any, v: Any) -> Any:
    """The new mean and variance of batch_norm, with the variance of the whole."""
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
    return [0.9 * m + 0.1 * mean, 0.9 * v + 0.1 * variance]


def _attended(v: Any, bias: Any = None, scale: float = 0.5, first: int | None = None) -> Any:
    """Attention; `first` is the diagonal behind which keys are left out."""
    q, k, w = (v[name].transpose(1, 2) for name in "qkv")
    scores = q @ k.transpose(-1, -2) * scale
    scores = scores if bias is None else scores + bias
    if first is not None:
        kept = torch.ones(5, 6).tril(first).bool()
        scores = scores.masked_fill(~kept, float("-inf"))
    return (scores.softmax(-1) @ w).transpose(1, 2)


def _gradient(loss: Any, at: Any, grad_output: Any) -> Any:
    """The gradient of a function at a tensor, for a gradient of its result."""
    point = at.clone().requires_grad_()
    loss(point).backward(grad_output)
    return point.grad


CASES: list[Case] = [
    (
        "conv1d",
        lambda v: nn.conv1d(v["line"], v["w1"], strides=2, padding=[1, 2], groups=2),
        lambda v: F.conv1d(F.pad(v["line"], (1, 2)), v["w1"], stride=2, groups=2),
    ),
    (
        "conv2d",
        lambda v: nn.conv2d(v["image"], v["w2"], strides=(2, 1), padding=(1, 0), dilation=(1, 2)),
        lambda v: F.conv2d(v["image"], v["w2"], stride=(2, 1), padding=(1, 0), dilation=(1, 2)),
    ),
    (
        "conv2d groups",
        lambda v: nn.conv2d(v["image"], v["w2g"], padding=1, groups=4),
        lambda v: F.conv2d(v["image"], v["w2g"], padding=1, groups=4),
    ),
    (
        "conv2d NHWC",
        lambda v: nn.conv2d(v["last"], v["w2last"], data_layout="NHWC", kernel_layout="HWIO"),
        lambda v: F.conv2d(v["last"].permute(0, 3, 1, 2), v["w2last"].permute(3, 2, 0, 1)).permute(
            0, 2, 3, 1
        ),
    ),
    (
        "conv3d",
        lambda v: nn.conv3d(v["box"], v["w3"], padding=1),
        lambda v: F.conv3d(v["box"], v["w3"], padding=1),
    ),
    (
        "conv1d_transpose",
        lambda v: nn.conv1d_transpose(v["line"], v["t1"], strides=2, padding=1, output_padding=1),
        lambda v: F.conv_transpose1d(v["line"], v["t1"], stride=2, padding=1, output_padding=1),
    ),
    (
        "conv2d_transpose",
        lambda v: nn.conv2d_transpose(v["image"], v["t2"], strides=(2, 3), padding=1),
        lambda v: F.conv_transpose2d(v["image"], v["t2"], stride=(2, 3), padding=1),
    ),
    (
        "pad",
        lambda v: nn.pad(v["x"], (1, 0, 2, 1), 3.0),
        lambda v: F.pad(v["x"], (2, 1, 1, 0), value=3.0),
    ),
    (
        "pad reflect",
        lambda v: nn.pad(v["x"], (0, 0, 2, 1), pad_mode="reflect"),
        lambda v: F.pad(v["x"], (2, 1), mode="reflect"),
    ),
    (
        "max_pool1d",
        lambda v: nn.max_pool1d(v["line"], 3, 2, 1),
        lambda v: F.max_pool1d(v["line"], 3, 2, 1),
    ),
    (
        "max_pool2d",
        lambda v: nn.max_pool2d(v["image"], 3, 2, 1, ceil_mode=True),
        lambda v: F.max_pool2d(v["image"], 3, 2, 1, ceil_mode=True),
    ),
    (
        "max_pool2d NHWC",
        lambda v: nn.max_pool2d(v["last"], 2, 2, layout="NHWC"),
        lambda v: F.max_pool2d(v["last"].permute(0, 3, 1, 2), 2, 2).permute(0, 2, 3, 1),
    ),
    ("max_pool3d", lambda v: nn.max_pool3d(v["box"], 2, 1), lambda v: F.max_pool3d(v["box"], 2, 1)),
    (
        "avg_pool1d",
        lambda v: nn.avg_pool1d(v["line"], 3, 2, 1, count_include_pad=True),
        lambda v: F.avg_pool1d(v["line"], 3, 2, 1),
    ),
    (
        "avg_pool2d",
        lambda v: nn.avg_pool2d(v["image"], 3, 2, 1),
        lambda v: F.avg_pool2d(v["image"], 3, 2, 1, count_include_pad=False),
    ),
    ("avg_pool3d", lambda v: nn.avg_pool3d(v["box"], 2, 2), lambda v: F.avg_pool3d(v["box"], 2, 2)),
    (
        "adaptive_avg_pool1d",
        lambda v: nn.adaptive_avg_pool1d(v["line"], 4),
        lambda v: F.adaptive_avg_pool1d(v["line"], 4),
    ),
    (
        "adaptive_avg_pool2d",
        lambda v: nn.adaptive_avg_pool2d(v["image"], (4, 3)),
        lambda v: F.adaptive_avg_pool2d(v["image"], (4, 3)),
    ),
    (
        "adaptive_avg_pool2d whole",
        lambda v: nn.adaptive_avg_pool2d(v["image"]),
        lambda v: v["image"],
    ),
    (
        "adaptive_avg_pool3d",
        lambda v: nn.adaptive_avg_pool3d(v["box"], 2),
        lambda v: F.adaptive_avg_pool3d(v["box"], 2),
    ),
    ("relu", lambda v: nn.relu(v["x"]), lambda v: F.relu(v["x"])),
    ("leakyrelu", lambda v: nn.leakyrelu(v["x"], 0.2), lambda v: F.leaky_relu(v["x"], 0.2)),
    ("gelu", lambda v: nn.gelu(v["x"]), lambda v: F.gelu(v["x"])),
    ("gelu_tanh", lambda v: nn.gelu_tanh(v["x"]), lambda v: F.gelu(v["x"], approximate="tanh")),
    ("silu", lambda v: nn.silu(v["x"]), lambda v: F.silu(v["x"])),
    ("softmax", lambda v: nn.softmax(v["image"], 1), lambda v: v["image"].softmax(1)),
    ("log_softmax", lambda v: nn.log_softmax(v["x"]), lambda v: v["x"].log_softmax(-1)),
    (
        "batch_norm",
        lambda v: nn.batch_norm(v["image"], v["c4"], v["d4"], v["d4"], v["c4"], 1),
        lambda v: [
            F.batch_norm(v["image"], None, None, v["c4"], v["d4"], training=True),
            *_moments(v["image"], v["d4"], v["c4"]),
        ],
    ),
    (
        "layer_norm",
        lambda v: nn.layer_norm(v["x"], v["c6"], v["d6"], -1),
        lambda v: F.layer_norm(v["x"], (6,), v["c6"], v["d6"]),
    ),
    (
        "group_norm",
        lambda v: nn.group_norm(v["image"], v["c4"], v["d4"], 2, 1, [2, 3]),
        lambda v: F.group_norm(v["image"], 2, v["c4"], v["d4"]),
    ),
    (
        "rms_norm",
        lambda v: nn.rms_norm(v["x"], v["c6"], -1, 1e-5),
        lambda v: F.rms_norm(v["x"], (6,), v["c6"], 1e-5),
    ),
    (
        "layer_norm float16",
        lambda v: nn.layer_norm(*[op.astype(v[name], "float16") for name in ("x", "c6", "d6")], -1),
        lambda v: F.layer_norm(v["x"], (6,), v["c6"], v["d6"]),
    ),
    (
        "cross_entropy_with_logits",
        lambda v: nn.cross_entropy_with_logits(v["log"], v["x"]),
        lambda v: -(v["log"] * v["x"]).sum() / 3,
    ),
    (
        "nll_loss",
        lambda v: nn.nll_loss(v["log"], v["labels"], v["weights"]),
        lambda v: F.nll_loss(v["log"], v["labels"], v["weights"]),
    ),
    (
        "nll_loss ignored",
        lambda v: nn.nll_loss(v["dense"], v["classes"], reduction="none", ignore_index=3),
        lambda v: F.nll_loss(v["dense"], v["classes"], reduction="none", ignore_index=3),
    ),
    ("attention", lambda v: nn.attention(v["q"], v["k"], v["v"]), lambda v: _attended(v)),
    (
        "attention bias",
        lambda v: nn.attention(v["q"], v["k"], v["v"], v["bias"], 0.3),
        lambda v: _attended(v, v["bias"], 0.3),
    ),
    (
        "attention causal",
        lambda v: nn.attention(v["q"], v["k"], v["v"], causal_mask="BottomRight"),
        lambda v: _attended(v, first=1),
    ),
    ("no_grad", lambda v: grad.no_grad(v["x"]), lambda v: v["x"]),
    ("start_checkpoint", lambda v: grad.start_checkpoint(v["x"]), lambda v: v["x"]),
    ("end_checkpoint", lambda v: grad.end_checkpoint(v["x"]), lambda v: v["x"]),
    (
        "nll_loss_backward",
        lambda v: grad.nll_loss_backward(v["g"], v["log"], v["labels"], v["weights"]),
        lambda v: _gradient(lambda p: F.nll_loss(p, v["labels"], v["weights"]), v["log"], v["g"]),
    ),
    (
        "nll_loss_backward plain",
        lambda v: grad.nll_loss_backward(v["g"], v["dense"], v["classes"], ignore_index=3),
        lambda v: _gradient(
            lambda p: F.nll_loss(p, v["classes"], ignore_index=3), v["dense"], v["g"]
        ),
    ),
    (
        "max_pool2d_backward",
        lambda v: grad.max_pool2d_backward(v["g2"], v["image"], (3, 3), (2, 3), (1, 1, 1, 1)),
        lambda v: _gradient(lambda p: F.max_pool2d(p, 3, (2, 3), 1), v["image"], v["g2"]),
    ),
    (
        "avg_pool2d_backward",
        lambda v: grad.avg_pool2d_backward(v["g2"], v["image"], (3, 3), (2, 3), (1, 1, 1, 1)),
        lambda v: _gradient(
            lambda p: F.avg_pool2d(p, 3, (2, 3), 1, count_include_pad=False), v["image"], v["g2"]
        ),
    ),
    (
        "take_backward",
        lambda v: grad.take_backward(v["taken"], v["x"], v["places"], 0),
        lambda v: torch.zeros(3, 6).index_add(0, v["places"], v["taken"]),
    ),
]


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return run_cases(CASES, ARRAYS, {})


@pytest.fixture(scope="module")
def tensors() -> dict[str, Any]:
    return {name: torch.from_numpy(one) for name, one in ARRAYS.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_operator_equals_torch(
    results: dict[str, Any], tensors: dict[str, Any], case: Case
) -> None:
    name, _, reference = case
    expected = reference(tensors)
    tolerance = 5e-3 if "float16" in name else 2e-5
    for one, other in zip(_list(results[name]), _list(expected), strict=True):
        assert np.shape(one) == tuple(other.shape)
        np.testing.assert_allclose(one, other.numpy(), rtol=tolerance, atol=tolerance / 2)


def _list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def test_every_operator_is_run() -> None:
    """The table has all operators of layers and gradients; dropout has no rule, as in TVM."""
    names = {
        name
        for module in (nn, grad)
        for name in dir(module)
        if getattr(getattr(module, name), "__module__", "").startswith("te_sched.relax.operators.")
    }
    assert names - {case[0].split()[0] for case in CASES} == {"attention_var_len", "dropout"}
