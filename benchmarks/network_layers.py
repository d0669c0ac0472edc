"""Layers of real networks, and kernels drawn of them at random.

A kernel is a layer with a batch, a size of the image or a length, and a dtype: `drawn(seed, count)`
are the same on all machines. Must not know what is measured.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

# Network, channels before and after, window, stride, groups, dilation, side at 224 pixels.
CONVOLUTIONS = (
    *(("resnet50", 3, 64, 7, 2, 1, 1, 224), ("resnet50", 64, 64, 1, 1, 1, 1, 56)),
    *(("resnet50", 256, 64, 1, 1, 1, 1, 56), ("resnet50", 128, 128, 3, 2, 1, 1, 56)),
    *(("resnet50", 512, 1024, 1, 2, 1, 1, 28), ("resnet50", 512, 512, 3, 1, 1, 1, 7)),
    *(("resnet18", 64, 64, 3, 1, 1, 1, 56), ("resnet18", 256, 256, 3, 1, 1, 1, 14)),
    *(("vgg16", 3, 64, 3, 1, 1, 1, 224), ("vgg16", 256, 512, 3, 1, 1, 1, 28)),
    *(("resnext50", 128, 128, 3, 1, 32, 1, 56), ("resnext50", 512, 512, 3, 2, 32, 1, 28)),
    *(("regnet-y", 224, 224, 3, 1, 2, 1, 14), ("regnet-x", 160, 160, 3, 2, 10, 1, 28)),
    *(("mobilenet-v2", 96, 96, 3, 2, 96, 1, 112), ("mobilenet-v2", 24, 144, 1, 1, 1, 1, 56)),
    *(("mobilenet-v2", 960, 960, 3, 1, 960, 1, 7), ("mobilenet-v2", 320, 1280, 1, 1, 1, 1, 7)),
    *(("mobilenet-v3", 72, 72, 5, 2, 72, 1, 56), ("mobilenet-v3", 200, 200, 3, 1, 200, 1, 14)),
    *(("efficientnet", 240, 240, 5, 2, 240, 1, 28), ("efficientnet", 112, 672, 1, 1, 1, 1, 14)),
    *(("efficientnet", 3, 32, 3, 2, 1, 1, 224), ("efficientnet", 1152, 192, 1, 1, 1, 1, 7)),
    *(("convnext", 96, 96, 7, 1, 96, 1, 56), ("convnext", 96, 192, 2, 2, 1, 1, 56)),
    *(("deeplab", 256, 256, 3, 1, 1, 2, 28), ("deeplab", 512, 256, 3, 1, 1, 12, 28)),
    *(("deeplab", 960, 960, 3, 1, 960, 2, 14), ("shufflenet", 116, 116, 3, 1, 116, 1, 14)),
    *(("densenet", 128, 32, 3, 1, 1, 1, 56), ("squeezenet", 16, 64, 3, 1, 1, 1, 55)),
    *(("inception", 192, 64, 1, 1, 1, 1, 35), ("inception", 48, 64, 5, 1, 1, 1, 35)),
    *(("vit", 3, 768, 16, 16, 1, 1, 224), ("u-net", 64, 64, 3, 1, 1, 1, 96)),
    *(("yolo", 32, 64, 3, 2, 1, 1, 320), ("alexnet", 64, 192, 5, 1, 1, 1, 27)),
)
# Network, rows for a batch of one, inner size, columns; the matrix on the right is a weight.
PRODUCTS = (
    *(("bert", 128, 768, 3072), ("bert", 384, 768, 768), ("bert-tiny", 128, 128, 512)),
    *(("gpt2", 1, 768, 2304), ("gpt2", 64, 3072, 768), ("distilbert", 50, 768, 768)),
    *(("vit", 197, 768, 2304), ("vit", 197, 192, 768), ("swin", 49, 96, 288)),
    *(("llama", 1, 2048, 5632), ("llama", 33, 2048, 2048), ("mixer", 196, 512, 2048)),
    *(("resnet50", 1, 2048, 1000), ("vgg16", 1, 4096, 4096), ("mobilenet-v3", 1, 576, 1024)),
    *(("lstm", 1, 512, 2048), ("gru", 1, 300, 900), ("dlrm", 1, 479, 1024), ("mnist", 1, 784, 128)),
    *(("wav2vec2", 149, 768, 3072), ("wide-deep", 1, 1037, 257)),
)
# Network, heads, rows, inner size, columns: both matrices are computed.
ATTENTION = (
    *(("bert", 12, 128, 64, 128), ("bert", 12, 384, 384, 64), ("vit", 3, 197, 64, 197)),
    *(("gpt2", 12, 1, 64, 501), ("swin", 3, 49, 49, 32), ("llama", 32, 1, 128, 77)),
)
# Network, kind, its argument, shape for a batch of one.
NORMS = (
    *(("bert", "layer", 768, (128, 768)), ("vit", "layer", 192, (197, 192))),
    *(("swin", "layer", 96, (3136, 96)), ("convnext", "layer", 384, (14, 14, 384))),
    *(("llama", "rms", 2048, (64, 2048)), ("t5", "rms", 512, (77, 512))),
    *(("u-net", "group", 32, (320, 32, 32)), ("u-net", "group", 8, (64, 96, 96))),
    *(("wav2vec2", "group", 512, (512, 999)), ("resnet50", "batch", 256, (256, 56, 56))),
    *(("style", "instance", 64, (64, 127, 127)), ("bert", "softmax", -1, (12, 128, 128))),
    *(("vit", "softmax", -1, (3, 197, 197)), ("gpt2", "softmax", -1, (12, 1, 501))),
    *(("resnet50", "softmax", -1, (1000,)), ("gpt2", "log_softmax", -1, (8, 50257))),
    *(("segment", "softmax", 1, (21, 65, 65)), ("bert", "log_softmax", -1, (30522,))),
)
REDUCTIONS = (
    *(("resnet50", "mean", (2, 3), (2048, 7, 7)), ("efficientnet", "mean", (2, 3), (240, 28, 28))),
    *(("vit", "mean", (1,), (197, 768)), ("pointnet", "amax", (2,), (1024, 1024))),
    *(("gpt2", "argmax", (1,), (50257,)), ("segment", "argmax", (1,), (21, 129, 129))),
    *(("ctc", "logsumexp", (2,), (99, 29)), ("crf", "logsumexp", (1,), (48, 48))),
    *(("embedding", "norm", (1,), (384,)), ("loss", "sum", (1, 2, 3), (3, 225, 225))),
    *(("pool", "sum", (1,), (333, 512)), ("bag", "amax", (1,), (77, 300))),
)
_FACTORS = (1, 1, 0.5, 0.72, 1.33, 1.45)  # of a side at 224 pixels: odd sizes, too
_BATCHES = (1, 1, 1, 2, 3, 8, 16, 32)
_MOST_WORK = 6e9  # multiply-adds, and a hundredth of it for elements
_DTYPES = {"convolution": (5, 2, 2), "product": (5, 2, 2)}
_FLOATS = (5, 2, 0)  # how often float32, bfloat16 and int8 are drawn
NAMES = ("float32", "bfloat16", "int8")


class Kernel(NamedTuple):
    """A layer, and the shapes of its inputs with their batch."""

    family: str
    name: str
    dtype: str
    layer: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]


def drawn(seed: int, count: int) -> list[Kernel]:
    """Different kernels: of ten, four convolutions, three products, two norms and a reduction."""
    choose, found = random.Random(seed), dict[Kernel, None]()
    families: Sequence[Callable[[random.Random], Kernel]] = (
        *[_convolution] * 4,
        *[_product] * 2,
        *[_attention, _norm, _norm, _reduction],
    )
    while len(found) < count:
        family = families[len(found) % len(families)]
        found[family(choose)] = None
    return list(found)


def _dtype(choose: random.Random, family: str) -> str:
    return choose.choices(NAMES, _DTYPES.get(family, _FLOATS))[0]


def _batch(choose: random.Random, work: float, most: float) -> int:
    """A batch with which the work stays below a limit."""
    return choose.choice([batch for batch in _BATCHES if batch == 1 or batch * work <= most])


def _convolution(choose: random.Random) -> Kernel:
    network, before, after, window, stride, groups, dilation, side = choose.choice(CONVOLUTIONS)
    side = max(window, round(side * choose.choice(_FACTORS)))
    work = before * after / groups * (window * side / stride) ** 2
    batch = _batch(choose, work, _MOST_WORK)
    name = f"{network}: {window}x{window}, {before} to {after}, batch {batch}, side {side}"
    name += "".join(
        f", {word} {number}"
        for word, number in (("stride", stride), ("groups", groups), ("dilation", dilation))
        if number > 1
    )
    padding = 0 if window == stride else dilation * (window // 2)
    layer = (before, after, window, stride, padding, dilation, groups, choose.choice("nrs"))
    dtype = _dtype(choose, "convolution")
    return Kernel("convolution", name, dtype, layer, ((batch, before, side, side),))


def _product(choose: random.Random) -> Kernel:
    network, rows, inner, columns = choose.choice(PRODUCTS)
    rows *= _batch(choose, rows * inner * columns, _MOST_WORK)
    name = f"{network}: {rows} x {inner} x {columns}"
    layer = (inner, columns, choose.choice("nnrg"))
    return Kernel("product", name, _dtype(choose, "product"), layer, ((rows, inner),))


def _attention(choose: random.Random) -> Kernel:
    network, heads, rows, inner, columns = choose.choice(ATTENTION)
    batch = heads * _batch(choose, heads * rows * inner * columns, _MOST_WORK)
    name = f"{network}: {batch} of {rows} x {inner} x {columns}"
    shapes = ((batch, rows, inner), (batch, inner, columns))
    return Kernel("attention", name, _dtype(choose, "attention"), (), shapes)


def _norm(choose: random.Random) -> Kernel:
    network, kind, number, shape = choose.choice(NORMS)
    return _of_elements(choose, "norm", network, (kind, number), shape)


def _reduction(choose: random.Random) -> Kernel:
    network, kind, axes, shape = choose.choice(REDUCTIONS)
    return _of_elements(choose, "reduction", network, (kind, axes), shape)


def _of_elements(
    choose: random.Random, family: str, network: str, layer: tuple[Any, Any], shape: Sequence[int]
) -> Kernel:
    size = 1
    for extent in shape:
        size *= extent
    whole = (_batch(choose, size, _MOST_WORK / 100), *shape)
    name = f"{network}: {layer[0]} {layer[1]} of {'x'.join(map(str, whole))}"
    return Kernel(family, name, _dtype(choose, family), layer, (whole,))


def module(kernel: Kernel) -> Any:
    """The layer as a torch.nn.Module of float32."""
    torch = importlib.import_module("torch")
    nn = torch.nn
    if kernel.family == "convolution":
        *sizes, groups, after = kernel.layer
        return _followed(nn, nn.Conv2d(*sizes, groups=groups), after)
    if kernel.family == "product":
        inner, columns, after = kernel.layer
        return _followed(nn, nn.Linear(inner, columns), after)
    if kernel.family == "attention":
        return applied(torch.bmm, 2)
    kind, which = kernel.layer
    channels = kernel.shapes[0][1]
    norms: dict[str, Callable[[], Any]] = {
        "layer": lambda: nn.LayerNorm(which),
        "rms": lambda: nn.RMSNorm(which, eps=1e-6),
        "group": lambda: nn.GroupNorm(which, channels),
        "batch": lambda: nn.BatchNorm2d(which),
        "instance": lambda: nn.GroupNorm(which, which),
        "softmax": lambda: nn.Softmax(which),
        "log_softmax": lambda: nn.LogSoftmax(which),
        "norm": lambda: applied(lambda x: torch.linalg.vector_norm(x, dim=which)),
        "argmax": lambda: applied(lambda x: torch.argmax(x, dim=which[0])),
    }
    return norms[kind]() if kind in norms else applied(lambda x: getattr(torch, kind)(x, dim=which))


def _followed(nn: Any, layer: Any, after: str) -> Any:
    """A layer and an activation: none, ReLU, SiLU or GELU."""
    activations = {"r": nn.ReLU, "s": nn.SiLU, "g": nn.GELU}
    return nn.Sequential(layer, activations[after]()) if after in activations else layer


def applied(function: Callable[..., Any], count: int = 1) -> Any:
    """A function of one or two tensors as a module."""
    torch = importlib.import_module("torch")

    class Applied(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return function(x)

    class AppliedToTwo(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, y: Any) -> Any:
            return function(x, y)

    return Applied() if count == 1 else AppliedToTwo()
