"""Layers of models beside those of torch, with the same parameters."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend import nn
from te_sched.relax.frontend.nn import modules

torch = pytest.importorskip("torch")


def results_of(model: nn.Module, *inputs: Any) -> list[Any]:
    """What a model of several inputs computes; its parameters are random if they have no values."""
    rng = np.random.default_rng(0)
    for param in model.parameters():
        if param.data is None:
            param.data = rng.random(param.shape).astype(param.dtype)
    spec = {
        name: nn.spec.Tensor(list(x.shape), str(x.dtype))
        for name, x in zip(signature(model.forward).parameters, inputs, strict=False)
    }
    module, params = model.export_tvm({"forward": spec})
    machine = relax.VirtualMachine(relax.build(module, "llvm -opt-level=0"))
    arrays = [nd.array(x) for x in inputs] + [param.data for _, param in params]
    results = machine["forward"](*arrays)
    return [x.numpy() for x in (results if isinstance(results, list | tuple) else [results])]


def random(*shape: int) -> Any:
    return np.random.default_rng(1).random(shape).astype("float32") - 0.5


def as_torch(layer: Any, params: dict[str, nn.Parameter]) -> Any:
    """A layer of torch with the parameters of another."""
    layer.load_state_dict({name: torch.from_numpy(p.data.numpy()) for name, p in params.items()})
    return layer.eval()


def check(layer: nn.Module, peer: Any, x: Any) -> None:
    """A layer computes what that of torch computes."""
    (result,) = results_of(layer, x)
    with torch.no_grad():
        expected = as_torch(peer, dict(layer.named_parameters()))(torch.from_numpy(x)).numpy()
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


GROUPS = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}
LAYERS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "linear": (nn.Linear(4, 3), torch.nn.Linear(4, 3), (2, 4)),
    "no bias": (nn.Linear(4, 3, bias=False), torch.nn.Linear(4, 3, bias=False), (2, 4)),
    "conv1d": (
        nn.Conv1D(4, 6, 3, **GROUPS),
        torch.nn.Conv1d(4, 6, 3, **GROUPS),
        (1, 4, 9),
    ),
    "conv2d": (
        nn.Conv2D(2, 4, (3, 2), (2, 1), (1, 0)),
        torch.nn.Conv2d(2, 4, (3, 2), (2, 1), (1, 0)),
        (1, 2, 7, 5),
    ),
    "conv3d": (nn.Conv3D(1, 2, 2), torch.nn.Conv3d(1, 2, 2), (1, 1, 3, 4, 3)),
    "transposed": (
        nn.ConvTranspose1D(4, 2, 3, 2, 1, 1, groups=2),
        torch.nn.ConvTranspose1d(4, 2, 3, 2, 1, 1, 2),
        (1, 4, 5),
    ),
    "layer norm": (nn.LayerNorm((3, 4)), torch.nn.LayerNorm((3, 4)), (2, 3, 4)),
    "rms norm": (nn.RMSNorm(4, -1, bias=False), torch.nn.RMSNorm(4, 1e-5), (2, 3, 4)),
    "group norm": (nn.GroupNorm(2, 4), torch.nn.GroupNorm(2, 4), (2, 4, 3)),
    "no weights": (
        nn.GroupNorm(2, 4, affine=False),
        torch.nn.GroupNorm(2, 4, affine=False),
        (2, 4, 3),
    ),
    "gelu": (nn.GELU(), torch.nn.GELU(), (2, 3)),
    "silu": (nn.SiLU(), torch.nn.SiLU(), (2, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    layer, peer, shape = LAYERS[name]
    check(layer, peer, random(*shape))


def test_a_convolution_with_channels_last() -> None:
    layer, x = nn.Conv1D(4, 6, 3, data_layout="NWC"), random(2, 9, 4)
    (result,) = results_of(layer, x)
    peer = as_torch(torch.nn.Conv1d(4, 6, 3), dict(layer.named_parameters()))
    expected = peer(torch.from_numpy(x).mT).mT.detach().numpy()
    np.testing.assert_allclose(result, expected, 1e-5, 1e-5)


def test_rows_of_a_table() -> None:
    layer = nn.Embedding(5, 3)
    for places in (np.array([4, 0, 4]), np.array([[1, 2], [0, 4]])):
        (result,) = results_of(layer, places.astype("int32"))
        np.testing.assert_array_equal(result, layer.weight.data.numpy()[places])


def test_embeddings_of_times() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.steps = modules.Timesteps(4, flip_sin_to_cos=True, downscale_freq_shift=0)
            self.embedding = modules.TimestepEmbedding(4, 6, "relu", 3, "gelu", cond_proj_dim=2)

        def forward(self, x: nn.Tensor, y: nn.Tensor) -> Any:
            steps = self.steps(x)
            return steps, self.embedding(steps, y)

    model, times, condition = Model(), np.array([1.0, 7.0], "float32"), random(2, 2)
    steps, embedded = results_of(model, times, condition)
    angles = times[:, None] * np.exp(-math.log(10000) * np.arange(2) / 2)
    np.testing.assert_allclose(steps, np.concatenate([np.cos(angles), np.sin(angles)], 1), 1e-5)
    own = {name: torch.from_numpy(p.data.numpy()) for name, p in model.embedding.named_parameters()}
    x = torch.from_numpy(steps) + torch.from_numpy(condition) @ own["cond_proj.weight"].T
    x = torch.relu(x @ own["linear_1.weight"].T + own["linear_1.bias"])
    x = torch.nn.functional.gelu(x @ own["linear_2.weight"].T + own["linear_2.bias"])
    np.testing.assert_allclose(embedded, x.numpy(), 1e-4, 1e-5)


def test_attention_of_another_sequence() -> None:
    layer = modules.Attention(4, cross_attention_dim=6, heads=2, dim_head=3, norm_num_groups=2)
    x, y = random(1, 5, 4), random(1, 3, 6)
    (result,) = results_of(layer, x, y)
    own = {name: torch.from_numpy(p.data.numpy()) for name, p in layer.named_parameters()}
    states = torch.nn.functional.group_norm(
        torch.from_numpy(x).mT, 2, own["group_norm.weight"], own["group_norm.bias"]
    ).mT
    query = states @ own["to_q.weight"].T
    key, value = [torch.from_numpy(y) @ own[f"to_{name}.weight"].T for name in "kv"]
    parts = [part.unflatten(2, (2, 3)).transpose(1, 2) for part in (query, key, value)]
    mixed = torch.nn.functional.scaled_dot_product_attention(*parts).transpose(1, 2).flatten(2)
    expected = mixed @ own["to_out.0.weight"].T + own["to_out.0.bias"]
    np.testing.assert_allclose(result, expected.numpy(), 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: nn.Conv1D("c", 4, 3, groups=2), "cannot divide 'c' channels into 2 groups"),
        (lambda: nn.Conv2D(2, 4, 3, groups=0), "cannot divide 2 channels into 0 groups"),
        (lambda: modules.TimestepEmbedding(4, 4, "gelo"), r"'gelo'(.|\n)*did you mean 'gelu'"),
    ],
)
def test_layers_reject(act: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        act()


def test_sizes_may_be_variables_and_names() -> None:
    n = tir.Var("n", "int64")
    layer = nn.Conv1D(n, "channels", 3)
    assert layer.weight.shape[1] is n
    assert layer.weight.shape[0].name == "channels"
