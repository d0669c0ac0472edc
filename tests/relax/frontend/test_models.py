"""Models of PyTorch are imported, built and run; their results are those of torch."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.relax.frontend.torch import from_exported_program, from_fx

torch = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear0, self.relu, self.linear1 = nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)

    def forward(self, x):
        return self.linear1(self.relu(self.linear0(x)))


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        first = [nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)]
        self.features = nn.Sequential(*first, nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2))
        dense = [nn.Linear(400, 120), nn.Sigmoid(), nn.Dropout(), nn.Linear(120, 84), nn.ReLU()]
        self.classifier = nn.Sequential(*dense, nn.Linear(84, 10))

    def forward(self, x):
        return F.log_softmax(self.classifier(torch.flatten(self.features(x), 1)), dim=1)


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(outer), nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer)
        cast = [nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)]
        self.down = nn.Sequential(*cast) if stride != 1 or inner != outer else None

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


class ResNet18(nn.Module):
    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        layers: list[nn.Module] = []
        inner = width
        for factor, stride in ((1, 1), (2, 2), (4, 2), (8, 2)):
            outer = width * factor
            layers += [Residual(inner, outer, stride), Residual(outer, outer, 1)]
            inner = outer
        self.layers = nn.Sequential(*layers)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(inner, classes)

    def forward(self, x):
        x = self.layers(self.maxpool(self.relu(self.bn1(self.conv1(x)))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class Inverted(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int, factor: int) -> None:
        super().__init__()
        wide = inner * factor
        self.is_residual = stride == 1 and inner == outer
        layers: list[nn.Module] = []
        if factor != 1:
            layers += [nn.Conv2d(inner, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(True)]
        layers += [nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)]
        layers += [nn.BatchNorm2d(wide), nn.ReLU6(True)]
        layers += [nn.Conv2d(wide, outer, 1, bias=False), nn.BatchNorm2d(outer)]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.conv(x) if self.is_residual else self.conv(x)


class MobileNetV2(nn.Module):
    """The blocks of MobileNetV2; `repeats` of each, so that the test is fast."""

    def __init__(self, repeats: int) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6(True)]
        inner = 16
        for factor, outer, stride in ((1, 8, 1), (6, 12, 2), (6, 16, 2)):
            for n in range(repeats):
                layers.append(Inverted(inner, outer, stride if n == 0 else 1, factor))
                inner = outer
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(inner, 10))

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), (1, 1)).flatten(1))


class GPT2Block(nn.Module):
    """Embeddings and a block of GPT-2, for sequences of any length up to `length`."""

    def __init__(self, size: int, heads: int, words: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.wte, self.wpe = nn.Embedding(words, size), nn.Embedding(length, size)
        self.ln1, self.ln2, self.lnf = nn.LayerNorm(size), nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.proj = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.fc, self.out = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        mask = torch.tril(torch.ones(length, length)).view(1, 1, length, length)
        self.register_buffer("mask", mask)

    def forward(self, ids):
        batch, length = ids.shape
        x = self.wte(ids) + self.wpe(torch.arange(0, length, device=ids.device))
        parts = self.qkv(self.ln1(x)).split(x.shape[-1], dim=2)
        q, k, v = (one.view(batch, length, self.heads, -1).transpose(1, 2) for one in parts)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        hidden = self.mask[:, :, :length, :length] == 0
        scores = F.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        y = (scores @ v).transpose(1, 2).contiguous().view(batch, length, -1)
        x = x + self.proj(y)
        x = x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))
        return self.lnf(x) @ self.wte.weight.t()


class Bert(nn.Module):
    def __init__(self, size: int, heads: int, words: int, length: int, layers: int) -> None:
        super().__init__()
        self.heads, self.size = heads, size
        self.word, self.pos = nn.Embedding(words, size), nn.Embedding(length, size)
        self.kind, self.norm = nn.Embedding(2, size), nn.LayerNorm(size, eps=1e-12)
        self.layers = nn.ModuleList([self._layer(size) for _ in range(layers)])
        self.pool = nn.Linear(size, size)

    @staticmethod
    def _layer(size: int) -> nn.ModuleDict:
        dense = {name: nn.Linear(size, size) for name in "qkvo"}
        wide = {"wide": nn.Linear(size, 4 * size), "narrow": nn.Linear(4 * size, size)}
        return nn.ModuleDict({**dense, **wide, "n1": nn.LayerNorm(size), "n2": nn.LayerNorm(size)})

    def forward(self, ids, kinds, mask):
        batch, length = ids.shape
        places = self.pos(torch.arange(length).unsqueeze(0))
        x = self.norm(self.word(ids) + places + self.kind(kinds))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        shape = (batch, length, self.heads, self.size // self.heads)
        for layer in self.layers:
            q, k, v = (layer[name](x).reshape(shape).permute(0, 2, 1, 3) for name in "qkv")
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            y = layer["o"](y.permute(0, 2, 1, 3).reshape(batch, length, self.size))
            x = layer["n1"](x + y)
            x = layer["n2"](x + layer["narrow"](F.gelu(layer["wide"](x))))
        return x, torch.tanh(self.pool(x[:, 0]))


def prepared(model: nn.Module) -> nn.Module:
    """The model for inference, with statistics of batches that are not the initial ones."""
    generator = torch.Generator().manual_seed(1)
    for name, one in model.named_buffers():
        if "running" in name:
            one.copy_(torch.rand(one.shape, generator=generator) + 0.5)
    return model.eval()


def check(mod, model: nn.Module, *cases) -> None:
    machine = relax.VirtualMachine(relax.build(mod, "llvm"), te_sched.cpu())
    for args in cases:
        with torch.no_grad():
            wanted = model(*args)
        found = machine["main"](*[nd.array(one.numpy()) for one in args])
        found = found if isinstance(found, tuple | list) else [found]
        wanted = wanted if isinstance(wanted, tuple) else [wanted]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("make", "shape", "importer"),
    [
        (Perceptron, (1, 784), "fx"),
        (Perceptron, (1, 784), "exported"),
        (LeNet, (1, 1, 28, 28), "fx"),
        (lambda: ResNet18(4, 10), (1, 3, 32, 32), "exported"),
        (lambda: MobileNetV2(1), (1, 3, 32, 32), "fx"),
    ],
)
def test_vision_models(make, shape, importer: str) -> None:
    torch.manual_seed(0)
    model, x = prepared(make()), torch.rand(shape)
    if importer == "fx":
        mod = from_fx(torch.fx.symbolic_trace(model), [(shape, "float32")])
    else:
        mod = from_exported_program(torch.export.export(model, (x,)))
    check(mod, model, (x,))


def test_block_of_gpt2_of_dynamic_length() -> None:
    torch.manual_seed(0)
    model = GPT2Block(16, 2, 32, 16).eval()
    ids = [torch.randint(0, 32, (1, length)) for length in (8, 3, 13)]
    length = torch.export.Dim("length", min=2, max=15)
    program = torch.export.export(model, (ids[0],), dynamic_shapes=({1: length},))
    check(from_exported_program(program), model, *[(one,) for one in ids])


def test_bert() -> None:
    torch.manual_seed(0)
    model = Bert(16, 2, 32, 16, 1).eval()
    ids = torch.randint(0, 32, (1, 6))
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    args = (ids, torch.zeros_like(ids), mask)
    check(from_exported_program(torch.export.export(model, args)), model, args)


def test_getting_started_imports_a_model():
    page = (Path(__file__).parents[3] / "docs/getting_started.md").read_text()
    _, found, rest = page.partition("import torch\n")
    program = found + rest.partition("```")[0]
    names = {}
    exec(compile(program, "model.py", "exec"), names)
    assert names["result"].shape == (1, 10)
    compiled = torch.compile(names["model"], backend=relax.frontend.torch.relax_dynamo())
    with torch.no_grad():
        torch.testing.assert_close(compiled(names["image"]), names["result"])
